"""What is known when an enqueue call ends early. Pure.

    an error of the caller's own items     all items before it are stored; a note says how many
    an error of a server                   `results` of the error has every job
    Ctrl-C, a job's timeout, a cancelled task, any other exception from outside
                                           nothing more is sent; `results` and a note say what is in

An exception from outside can come between any two steps. So a chunk is recorded as unknown before
it is sent and updated after its reply is read, and chunks are kept until they are recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Generic, TypeVar

from queuepool.client.chunks import Chunk
from queuepool.client.results import REJECTED, UNKNOWN, EnqueueResults
from queuepool.errors import JobTimeoutError

T = TypeVar("T")


class Source(Generic[T]):
    """The caller's items, consumed one by one. failure: the exception that they raised, if any."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items = iter(items)
        self.failure: Exception | None = None

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        try:
            return next(self._items)
        except (StopIteration, JobTimeoutError):  # a timeout can come anywhere, including here
            raise
        except Exception as error:
            self.failure = error
            raise


def note_sending(results: EnqueueResults, chunk: Chunk, now_s: float) -> None:
    """Record a chunk as unknown before it is sent: true until its reply is recorded."""
    results.put(chunk.positions, chunk.ids, chunk.partition, bytes((UNKNOWN,)) * len(chunk.ids))
    chunk.sent_s = now_s


def note_unsent(results: EnqueueResults, chunks: Iterable[Chunk]) -> None:
    """Record chunks that were never sent: none of their jobs is stored."""
    for chunk in chunks:
        if not chunk.sent_s and chunk.positions:
            whole = len(chunk.positions)  # an interrupted job has no position yet
            codes = bytes((REJECTED,)) * whole
            results.put(chunk.positions, chunk.ids[:whole], chunk.partition, codes)


def note_failed_item(error: BaseException, results: EnqueueResults) -> None:
    """Add the results of the jobs before it to the error of an item, and a note of them."""
    with suppress(AttributeError, TypeError):  # a foreign exception without attributes
        error.results = results  # type: ignore[attr-defined]
    error.add_note(f"{results.accepted:,} jobs before it were enqueued")


def attach_results(error: BaseException, results: EnqueueResults) -> None:
    """Attach the results to the exception that ended a call from outside.

    It gets `results`, with the id of every consumed job, and a note that sums them up.
    """
    with suppress(AttributeError, TypeError):  # a foreign exception that accepts neither
        error.results = results  # type: ignore[attr-defined]
        error.add_note(
            f"interrupted during an enqueue: {results.accepted + results.duplicates:,} jobs are "
            f"stored, {results.unknown:,} may be, {results.rejected:,} are not; see `results` "
            "of this exception. Enqueueing again with the same ids adds nothing twice"
        )
