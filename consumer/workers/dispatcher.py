"""Dispatches jobs to the pool of their task, with as many slots as the task takes.

    submit -> by the job's task -> admission (consumer.core.admission) -> its pool -> ended

A consumer with one pool whose tasks all take one slot uses that pool directly. Commands of a
coordinator resize the `default` pool; the others keep the size they started with. `spare` is how
many more jobs the owner may hold than the default pool has slots: the slots of the other pools,
less those that heavy jobs take beyond one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from consumer.core.admission import Admission
from consumer.core.effects import Workers
from consumer.core.jobs import ClaimedJob, Outcome
from queuepool.protocol.codec import HEADER_BYTES
from queuepool.protocol.unreadable import UNREADABLE
from queuepool.tasks.places import DEFAULT_POOL


class ClosableWorkers(Workers, Protocol):
    """Workers that can be closed."""

    @property
    def replaced(self) -> Counter[str]:
        """Return how many child processes ended, by cause."""

    def close(self, timeout_s: float) -> bool:
        """Remove all workers, waiting up to timeout_s; returns whether all are gone."""


Place = tuple[str, int]  # the pool of a job, and how many of its slots it takes


class Dispatcher:
    """pools: by name, one of them `default`. place_of: the pool and the slots of a job."""

    def __init__(
        self, pools: Mapping[str, ClosableWorkers], place_of: Callable[[ClaimedJob], Place]
    ) -> None:
        self._pools, self._place_of = dict(pools), place_of
        self._admissions = {name: Admission() for name in pools}
        self._default = self._pools[DEFAULT_POOL]
        for name, pool in self._pools.items():
            self._admissions[name].target = pool.target

    @property
    def alive(self) -> int:
        """Return how many workers all pools have."""
        return sum(pool.alive for pool in self._pools.values())

    @property
    def target(self) -> int:
        """Return how many workers the default pool should have."""
        return self._default.target

    @property
    def queued(self) -> int:
        """Return how many jobs wait for a worker."""
        waiting = sum(admission.waiting for admission in self._admissions.values())
        return waiting + sum(pool.queued for pool in self._pools.values())

    @property
    def spare(self) -> int:
        """Return how many jobs may be held beyond the target."""
        others = sum(pool.target for pool in self._pools.values()) - self._default.target
        spare = sum(pool.spare for pool in self._pools.values())
        return others + spare - sum(admission.beyond for admission in self._admissions.values())

    @property
    def replaced(self) -> Counter[str]:
        """Return how many child processes ended, by cause."""
        return sum((pool.replaced for pool in self._pools.values()), Counter())

    @property
    def start_until_s(self) -> float:
        """Return the monotonic time after which no job may start."""
        return self._default.start_until_s

    @start_until_s.setter
    def start_until_s(self, until_s: float) -> None:
        for pool in self._pools.values():
            pool.start_until_s = until_s

    def resize(self, target: int) -> None:
        """Set the number of workers of the default pool."""
        self._default.resize(target)
        self._admissions[DEFAULT_POOL].target = self._default.target
        self._admit(DEFAULT_POOL)

    def submit(self, jobs: Sequence[ClaimedJob]) -> None:
        """Hand jobs to their pools, in order."""
        for job in jobs:
            name, slots = self._place_of(job)
            self._admissions[name].submit(job, slots)
        for name in self._pools:
            self._admit(name)

    def withdraw(self) -> list[ClaimedJob]:
        """Take back the jobs that have not started, in order within each pool."""
        jobs: list[ClaimedJob] = []
        for name, pool in self._pools.items():
            inside = pool.withdraw()
            self._admissions[name].left(inside)
            jobs += inside + self._admissions[name].withdraw()
        return jobs

    def take_ended(self) -> list[Outcome]:
        """Return the executions that ended since the last call, and start waiting jobs."""
        ended: list[Outcome] = []
        for name, pool in self._pools.items():
            outcomes = pool.take_ended()
            if outcomes:
                self._admissions[name].left(outcome.job for outcome in outcomes)
                self._admit(name)
                ended += outcomes
        return ended

    def close(self, timeout_s: float) -> bool:
        """Remove all workers of all pools."""
        closed = [pool.close(timeout_s) for pool in self._pools.values()]
        return all(closed)

    def _admit(self, name: str) -> None:
        jobs = self._admissions[name].admit()
        if jobs:
            self._pools[name].submit(jobs)


class _Named(msgspec.Struct, array_like=True, gc=False):
    task: str


_decoder = msgspec.json.Decoder(_Named)


def task_of(body: bytes) -> str | None:
    """Return the task name of a body, or None if it is damaged: the runner reports that."""
    try:
        return _decoder.decode(body[HEADER_BYTES + int(body[16:18], 16) :]).task
    except (ValueError, *UNREADABLE):
        return None
