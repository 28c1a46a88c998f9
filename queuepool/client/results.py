"""What enqueue_many returns: one result per job, held compactly. Pure."""

from __future__ import annotations

import typing
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast, overload

from queuepool.errors import InvalidInputError
from queuepool.models import EnqueueStatus, JobId
from queuepool.tasks.job import Enqueued, bound

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    E = TypeVar("E", bound=Enqueued[Any], default=Enqueued[Any])
else:  # a default needs Python 3.13, or a library
    E = typing.TypeVar("E")

Reach = Callable[[Enqueued[Any]], Any] | None
_CODES = (
    EnqueueStatus.REJECTED,
    EnqueueStatus.DUPLICATE,
    EnqueueStatus.ACCEPTED,
    EnqueueStatus.UNKNOWN,
    EnqueueStatus.CONFLICT,
    EnqueueStatus.REPLACED,
)
REJECTED, DUPLICATE, ACCEPTED, UNKNOWN, CONFLICT, REPLACED = range(6)


def _nowhere(_position: int) -> None:
    return None


class EnqueueResults(Sequence[E]):
    """One `Enqueued` per job, in the order of the input; about 60 bytes a job.

    A pickle or copy has all data, but no access to the jobs: `pool.job(job_id)` has.
    """

    def __init__(self) -> None:
        self._ids: list[bytes] = []
        self._codes = bytearray()
        self._partitions = array("H")
        self._kind: type[Enqueued[Any]] = Enqueued
        self._reach: Callable[[int], Reach] = _nowhere
        self.of_batch: Any = None

    def __getstate__(self) -> dict[str, Any]:
        # Connections stay in this process; of a batch, its name is kept.
        name = getattr(self.of_batch, "name", self.of_batch)
        return self.__dict__ | {"_reach": _nowhere, "of_batch": name}

    def bind(self, kind: type[Enqueued[Any]], reach: Callable[[int], Reach]) -> EnqueueResults[Any]:
        """Give every result access to its job, by `reach` of its position. Returns itself.

        kind: the type of the results.
        """
        self._kind, self._reach = kind, reach
        return self

    def put(
        self, positions: Sequence[int], ids: Sequence[bytes], partition: int, codes: Sequence[int]
    ) -> None:
        """Record the results of one chunk; chunks may come in any order."""
        first, last = positions[0], positions[-1] + 1
        if last > len(self._ids):
            # The ids last: their number counts if an interruption comes in between.
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
    def batch(self) -> Any:
        """Return the batch that the jobs are in: a Batch, of AsyncQueuePool an AsyncBatch.

        None if the call had neither `then` nor `into`. Raises InvalidInputError if these results
        were pickled or copied, which drops their access to the servers.
        """
        if isinstance(self.of_batch, str):
            raise InvalidInputError(
                f"these results have no pool for batch {self.of_batch}, since they were pickled or "
                "copied: use pool.batch(name)"
            )
        return self.of_batch

    @property
    def accepted(self) -> int:
        """Return how many jobs were newly enqueued."""
        return self._codes.count(ACCEPTED)

    @property
    def duplicates(self) -> int:
        """Return how many ids existed before."""
        return self._codes.count(DUPLICATE)

    @property
    def conflicts(self) -> int:
        """Return how many were kept out by other jobs with their unique keys, which they name."""
        return self._codes.count(CONFLICT)

    @property
    def replaced(self) -> int:
        """Return how many gave their payloads to waiting jobs with their unique keys."""
        return self._codes.count(REPLACED)

    @property
    def rejected(self) -> int:
        """Return how many jobs were certainly not enqueued."""
        return self._codes.count(REJECTED)

    @property
    def unknown(self) -> int:
        """Return how many jobs were sent without a reply: they may or may not be stored."""
        return self._codes.count(UNKNOWN)

    @property
    def jobs(self) -> int:
        """Return how many jobs the call was about; so many results there are."""
        return len(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, index: int) -> E: ...
    @overload
    def __getitem__(self, index: slice) -> list[E]: ...

    def __getitem__(self, index: int | slice) -> E | list[E]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self))[index]  # counted from the start
        job_id, status = JobId(self._ids[index].decode()), _CODES[self._codes[index]]
        answer = self._kind(job_id, status, self._partitions[index])
        return cast("E", bound(answer, self._reach(index)))

    def __iter__(self) -> Iterator[E]:
        return (self[i] for i in range(len(self._ids)))

    def __repr__(self) -> str:
        others = {"conflicts": self.conflicts, "replaced": self.replaced}
        seldom = "".join(f", {name}={n}" for name, n in others.items() if n)
        return (
            f"EnqueueResults(accepted={self.accepted}, duplicates={self.duplicates}, "
            f"rejected={self.rejected}, unknown={self.unknown}{seldom})"
        )


class FailureResults(EnqueueResults[E]):
    """The results of `enqueue_many(..., results="failures")`: of jobs not newly enqueued, in order.

    `jobs` and `accepted` count all. The memory it takes depends on the others only.
    tasks: the task of each position, which is dropped with its result.
    """

    def __init__(self, tasks: dict[int, int] | None = None) -> None:
        super().__init__()
        self._tasks = {} if tasks is None else tasks
        self._kept: dict[int, tuple[bytes, int, int]] = {}  # by position: id, partition, code
        self._accepted = 0

    def put(
        self, positions: Sequence[int], ids: Sequence[bytes], partition: int, codes: Sequence[int]
    ) -> None:
        """Record the results of one chunk, once as accepted.

        An interruption may come between any two steps: a job may then be counted as accepted, which
        it is, and as what it was before, but never as neither.
        """
        kept, tasks = self._kept, self._tasks
        for position, job_id, code in zip(positions, ids, codes, strict=True):
            if code == ACCEPTED:
                self._accepted += 1
                kept.pop(position, None)
                tasks.pop(position, None)
            else:
                kept[position] = job_id, partition, code

    @property
    def jobs(self) -> int:
        """Return how many jobs the call was about."""
        return self._accepted + len(self._kept)

    @property
    def accepted(self) -> int:
        """Return how many jobs were newly enqueued."""
        return self._accepted

    @property
    def duplicates(self) -> int:
        """Return how many ids existed before."""
        return self._count(DUPLICATE)

    @property
    def conflicts(self) -> int:
        """Return how many were kept out by other jobs with their unique keys, which they name."""
        return self._count(CONFLICT)

    @property
    def replaced(self) -> int:
        """Return how many gave their payloads to waiting jobs with their unique keys."""
        return self._count(REPLACED)

    @property
    def rejected(self) -> int:
        """Return how many jobs were certainly not enqueued."""
        return self._count(REJECTED)

    @property
    def unknown(self) -> int:
        """Return how many jobs were sent without a reply: they may or may not be stored."""
        return self._count(UNKNOWN)

    def _count(self, code: int) -> int:
        return sum(each[2] == code for each in self._kept.values())

    def __len__(self) -> int:
        return len(self._kept)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return list(self)[index]
        return self._result(sorted(self._kept)[index])

    def __iter__(self) -> Iterator[E]:
        return map(self._result, sorted(self._kept))

    def _result(self, position: int) -> E:
        job_id, partition, code = self._kept[position]
        answer = self._kind(JobId(job_id.decode()), _CODES[code], partition)
        return cast("E", bound(answer, self._reach(position)))
