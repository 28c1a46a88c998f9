"""What enqueue_many returns: one result per job, held compactly. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import overload

from queuepool.models import Enqueued, EnqueueStatus, JobId

_CODES = (
    EnqueueStatus.REJECTED,
    EnqueueStatus.DUPLICATE,
    EnqueueStatus.ACCEPTED,
    EnqueueStatus.UNKNOWN,
)
REJECTED, DUPLICATE, ACCEPTED, UNKNOWN = range(4)


class EnqueueResults(Sequence[Enqueued]):
    """One `Enqueued` per job, in the order of the input; about 60 bytes a job."""

    def __init__(self) -> None:
        self._ids: list[bytes] = []
        self._codes = bytearray()
        self._partitions = array("H")

    def put(
        self, positions: Sequence[int], ids: Sequence[bytes], partition: int, codes: Sequence[int]
    ) -> None:
        """Note the results of one chunk; its positions may come in any order between chunks."""
        first, last = positions[0], positions[-1] + 1
        if last > len(self._ids):
            # The ids last: their number is what counts, should an interruption strike in between.
            self._codes += bytes(last - len(self._codes))
            self._partitions.extend([0] * (last - len(self._partitions)))
            self._ids += [b""] * (last - len(self._ids))
        if last - first == len(positions):  # the usual case: one partition, no gaps
            self._ids[first:last] = ids
            self._codes[first:last] = bytes(codes)
            self._partitions[first:last] = array("H", [partition]) * len(positions)
            return
        for position, job_id, code in zip(positions, ids, codes, strict=True):
            self._ids[position], self._codes[position] = job_id, code
            self._partitions[position] = partition

    @property
    def accepted(self) -> int:
        """Return how many jobs were newly enqueued."""
        return self._codes.count(ACCEPTED)

    @property
    def duplicates(self) -> int:
        """Return how many ids were there before."""
        return self._codes.count(DUPLICATE)

    @property
    def rejected(self) -> int:
        """Return how many jobs were certainly not enqueued."""
        return self._codes.count(REJECTED)

    @property
    def unknown(self) -> int:
        """Return how many jobs were sent and not answered: they may be in or not."""
        return self._codes.count(UNKNOWN)

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, index: int) -> Enqueued: ...
    @overload
    def __getitem__(self, index: slice) -> list[Enqueued]: ...

    def __getitem__(self, index: int | slice) -> Enqueued | list[Enqueued]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return Enqueued(
            JobId(self._ids[index].decode()), _CODES[self._codes[index]], self._partitions[index]
        )

    def __iter__(self) -> Iterator[Enqueued]:
        return (self[i] for i in range(len(self._ids)))

    def __repr__(self) -> str:
        return (
            f"EnqueueResults(accepted={self.accepted}, duplicates={self.duplicates}, "
            f"rejected={self.rejected}, unknown={self.unknown})"
        )
