"""Several pools as one, and jobs that take several places of theirs.

    submit -> the pool of the job's task -> its gate (consumer.core.gate) -> the pool -> ended

A consumer of one pool whose tasks all take one place needs nothing of this and has the pool itself.
The commands of a coordinator concern the `default` pool; the others keep the size they began with.
`spare` tells the loop how many more jobs it may ask for than that pool has places: those of the
others, less what heavy jobs take beyond one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from consumer.core.effects import Workers
from consumer.core.gate import Gate
from consumer.core.jobs import ClaimedJob, Outcome
from queuepool.protocol.codec import HEADER_BYTES
from queuepool.tasks.places import DEFAULT_POOL


class ClosableWorkers(Workers, Protocol):
    """A pool."""

    @property
    def replaced(self) -> Counter[str]:
        """Return how many child processes ended, by why."""

    def close(self, timeout_s: float) -> bool:
        """Have no places any more; returns whether all are gone."""


Place = tuple[str, int]  # the pool of a job, and how many places it takes there


class Crew:
    """Pools by name, one of them `default`. place_of: where a job belongs."""

    def __init__(
        self, pools: Mapping[str, ClosableWorkers], place_of: Callable[[ClaimedJob], Place]
    ) -> None:
        self._pools, self._place_of = dict(pools), place_of
        self._gates = {name: Gate() for name in pools}
        self._default = self._pools[DEFAULT_POOL]
        for name, pool in self._pools.items():
            self._gates[name].target = pool.target

    @property
    def alive(self) -> int:
        """Return how many places there are in all pools."""
        return sum(pool.alive for pool in self._pools.values())

    @property
    def target(self) -> int:
        """Return how many places the default pool should have."""
        return self._default.target

    @property
    def queued(self) -> int:
        """Return how many jobs wait for others than themselves."""
        waiting = sum(gate.waiting for gate in self._gates.values())
        return waiting + sum(pool.queued for pool in self._pools.values())

    @property
    def spare(self) -> int:
        """Return how many jobs may be here beyond the target."""
        others = sum(pool.target for pool in self._pools.values()) - self._default.target
        spare = sum(pool.spare for pool in self._pools.values())
        return others + spare - sum(gate.beyond for gate in self._gates.values())

    @property
    def replaced(self) -> Counter[str]:
        """Return how many child processes ended, by why."""
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
        """Have so many places in the default pool."""
        self._default.resize(target)
        self._gates[DEFAULT_POOL].target = self._default.target
        self._enter(DEFAULT_POOL)

    def submit(self, jobs: Sequence[ClaimedJob]) -> None:
        """Hand jobs to their pools, in order."""
        for job in jobs:
            name, slots = self._place_of(job)
            self._gates[name].submit(job, slots)
        for name in self._pools:
            self._enter(name)

    def withdraw(self) -> list[ClaimedJob]:
        """Take back the jobs that did not begin, in order within each pool."""
        jobs: list[ClaimedJob] = []
        for name, pool in self._pools.items():
            inside = pool.withdraw()
            self._gates[name].left(inside)
            jobs += inside + self._gates[name].withdraw()
        return jobs

    def take_ended(self) -> list[Outcome]:
        """Return the executions that ended since the last call; others begin in their places."""
        ended: list[Outcome] = []
        for name, pool in self._pools.items():
            outcomes = pool.take_ended()
            if outcomes:
                self._gates[name].left(outcome.job for outcome in outcomes)
                self._enter(name)
                ended += outcomes
        return ended

    def close(self, timeout_s: float) -> bool:
        """Have no places any more."""
        closed = [pool.close(timeout_s) for pool in self._pools.values()]
        return all(closed)

    def _enter(self, name: str) -> None:
        jobs = self._gates[name].enter()
        if jobs:
            self._pools[name].submit(jobs)


class _Named(msgspec.Struct, array_like=True, gc=False):
    task: str


_decoder = msgspec.json.Decoder(_Named)


def task_of(body: bytes) -> str | None:
    """Return the name of a body's task, or None: a runner will say what is wrong with it."""
    try:
        return _decoder.decode(body[HEADER_BYTES + int(body[16:18], 16) :]).task
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return None
