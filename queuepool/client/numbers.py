"""The numbers, and so the ids, of jobs that a call adds to a batch. Pure."""

from __future__ import annotations

from queuepool.client.chunks import Chunk
from queuepool.errors import InvalidInputError
from queuepool.protocol.batches import MAX_JOBS, Ends, child_ending, number_of

NOWHERE = "AAbbbbbbbbbbbb"  # the batch of jobs that are laid out only to be checked

NONE_ENDED, ALL_ENDED = Ends(), Ends(of_all=True)


class Numbers:
    """The ids of the jobs that a call adds to a batch, in order.

    count: how many they are; None: any number. ended: which of them have, since an earlier call
    added them.
    """

    def __init__(
        self, batch: str, first: int, count: int | None = None, ended: Ends = NONE_ENDED
    ) -> None:
        self.batch, self.first, self.ended = batch, first, ended
        self._next, self.count = first, count
        self._end = first + MAX_JOBS if count is None else first + count

    def next_ending(self) -> bytes:
        """Return what follows the hint in the id of the next job. Raises InvalidInputError."""
        number = self._next
        if number >= self._end:
            raise self._too_many()
        self._next += 1
        return child_ending(self.batch, number)

    def _too_many(self) -> InvalidInputError:
        if self.count is None:
            return InvalidInputError(f"a batch may have {MAX_JOBS:,} jobs: use several batches")
        return InvalidInputError(
            f"batch {self.batch} was enqueued before with another number of jobs, {self.count:,}: "
            "repeat the call with the same jobs, in the same order. None was added"
        )

    def mark(self, chunk: Chunk) -> Chunk:
        """Return a chunk of these, with those marked that have ended: they need not be sent."""
        if self.ended:
            ids = (job_id for job_id in chunk.ids if number_of(job_id) in self.ended)
            chunk.ended = frozenset(ids)
        return chunk
