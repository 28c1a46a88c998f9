"""Gives jobs the slots of a pool, as many as their tasks take.

    submit -> by the job's task -> admission (consumer.core.admission) -> the pool -> ended

A pool whose tasks all take one slot is used without this. `spare` is negative by the slots that
heavy jobs take beyond one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from consumer.core.admission import Admission
from consumer.core.effects import Workers
from consumer.core.jobs import ClaimedJob, Outcome
from queuepool.protocol.codec import HEADER_BYTES
from queuepool.protocol.unreadable import UNREADABLE


class ClosableWorkers(Workers, Protocol):
    """Workers that can be closed."""

    @property
    def replaced(self) -> Counter[str]:
        """Return how many child processes ended, by cause."""

    def close(self, timeout_s: float) -> bool:
        """Remove all workers, waiting up to timeout_s; returns whether all are gone."""


class Dispatcher:
    """slots_of: how many slots of the pool a job takes."""

    def __init__(self, pool: ClosableWorkers, slots_of: Callable[[ClaimedJob], int]) -> None:
        self._pool, self._slots_of = pool, slots_of
        self._admission = Admission()
        self._admission.target = pool.target

    @property
    def alive(self) -> int:
        """Return how many workers there are."""
        return self._pool.alive

    @property
    def target(self) -> int:
        """Return how many workers there should be."""
        return self._pool.target

    @property
    def queued(self) -> int:
        """Return how many jobs wait for a worker."""
        return self._admission.waiting + self._pool.queued

    @property
    def spare(self) -> int:
        """Return how many jobs may be held beyond the target."""
        return self._pool.spare - self._admission.beyond

    @property
    def replaced(self) -> Counter[str]:
        """Return how many child processes ended, by cause."""
        return self._pool.replaced

    @property
    def start_until_s(self) -> float:
        """Return the monotonic time after which no job may start."""
        return self._pool.start_until_s

    @start_until_s.setter
    def start_until_s(self, until_s: float) -> None:
        self._pool.start_until_s = until_s

    @property
    def late(self) -> bool:
        """Return whether a job came too late, so that no other starts until this is reset."""
        return self._pool.late

    @late.setter
    def late(self, late: bool) -> None:
        self._pool.late = late

    def resize(self, target: int) -> None:
        """Set the number of workers."""
        self._pool.resize(target)
        self._admission.target = self._pool.target
        self._admit()

    def submit(self, jobs: Sequence[ClaimedJob]) -> None:
        """Hand jobs to the pool, in order."""
        for job in jobs:
            self._admission.submit(job, self._slots_of(job))
        self._admit()

    def withdraw(self) -> list[ClaimedJob]:
        """Take back the jobs that have not started, in order."""
        inside = self._pool.withdraw()
        self._admission.left(inside)
        return inside + self._admission.withdraw()

    def take_ended(self) -> list[Outcome]:
        """Return the executions that ended since the last call, and start waiting jobs."""
        ended = self._pool.take_ended()
        if ended:
            self._admission.left(outcome.job for outcome in ended)
            self._admit()
        return ended

    def close(self, timeout_s: float) -> bool:
        """Remove all workers."""
        return self._pool.close(timeout_s)

    def _admit(self) -> None:
        jobs = self._admission.admit()
        if jobs:
            self._pool.submit(jobs)


class _Named(msgspec.Struct, array_like=True, gc=False):
    task: str


_decoder = msgspec.json.Decoder(_Named)


def task_of(body: bytes) -> str | None:
    """Return the task name of a body, or None if it is damaged: the runner reports that."""
    try:
        return _decoder.decode(body[HEADER_BYTES + int(body[16:18], 16) :]).task
    except (ValueError, *UNREADABLE):
        return None
