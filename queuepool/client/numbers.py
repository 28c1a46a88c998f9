"""The numbers, and so the ids, of jobs that a call adds to a batch. Pure."""

from __future__ import annotations

from queuepool.errors import InvalidInputError
from queuepool.protocol.batches import MAX_JOBS, child_ending

NOWHERE = "AAbbbbbbbbbbbb"  # the batch of jobs that are laid out only to be checked


class Numbers:
    """The ids of the jobs that a call adds to a batch, in order."""

    def __init__(self, batch: str, first: int, count: int = MAX_JOBS) -> None:
        self.batch, self.first = batch, first
        self._next, self._end = first, first + count

    def next_ending(self) -> bytes:
        """Return what follows the hint in the id of the next job. Raises InvalidInputError."""
        number = self._next
        if number >= self._end:
            raise InvalidInputError(f"a batch may have {MAX_JOBS:,} jobs: use several batches")
        self._next += 1
        return child_ending(self.batch, number)
