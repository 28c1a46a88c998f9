"""What is known when an enqueue call ends before its time. Pure.

    an error of the caller's own items     all that was taken before it is in; a note says how many
    an error of a server                   `results` of the error have every job
    Ctrl-C, a job's timeout, a cancelled task, any exception that strikes from outside
                                           nothing more is sent; `results` and a note say what is in

An exception from outside can strike between any two steps. So a chunk is noted as unknown before it
is sent and its answer after it was read, and the caller's chunks are held until they are noted.
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
    """What the caller gives, taken one by one. failure: what came out of it, the caller's own."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items = iter(items)
        self.failure: Exception | None = None

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        try:
            return next(self._items)
        except (StopIteration, JobTimeoutError):  # a timeout strikes anywhere, also here
            raise
        except Exception as error:
            self.failure = error
            raise


def note_sending(results: EnqueueResults, chunk: Chunk, now_s: float) -> None:
    """Note a chunk that is about to be sent as unknown: true until its answer is noted."""
    results.put(chunk.positions, chunk.ids, chunk.partition, bytes((UNKNOWN,)) * len(chunk.ids))
    chunk.sent_s = now_s


def note_unsent(results: EnqueueResults, chunks: Iterable[Chunk]) -> None:
    """Note those chunks, taken from the caller, that were never sent: nothing of them is in."""
    for chunk in chunks:
        if not chunk.sent_s and chunk.positions:
            whole = len(chunk.positions)  # a job that an interruption struck has no position yet
            codes = bytes((REJECTED,)) * whole
            results.put(chunk.positions, chunk.ids[:whole], chunk.partition, codes)


def attach_results(error: BaseException, results: EnqueueResults) -> None:
    """Have what ended a call from outside say what is in.

    The exception gets `results`, with the id of every job that was taken, and a note that sums up.
    """
    with suppress(AttributeError, TypeError):  # an exception of someone's that takes neither
        error.results = results  # type: ignore[attr-defined]
        error.add_note(
            f"interrupted during an enqueue: {results.accepted + results.duplicates:,} jobs are "
            f"stored, {results.unknown:,} may be, {results.rejected:,} are not; see `results` "
            "of this exception. Enqueueing again with the same ids adds nothing twice"
        )
