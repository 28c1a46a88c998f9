"""A policy's inputs, limits and outputs: plain frozen data.

A policy is a pure function: the coordinator observes a partition, hands over a `Reading` with
the state of the previous cycle, and gets a `Decision` that carries the next state. Nothing in
this package reads a clock, a server or a random number, so a recorded run replays exactly.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from msgspec import Struct

from queuepool.models.limit_use import LimitUse
from queuepool.models.work import EndedWork

if TYPE_CHECKING:
    from coordinator.policy.demand import Demand

__all__ = [
    "Decision",
    "Direction",
    "LimitUse",
    "Limits",
    "PolicyState",
    "Reading",
    "require",
]


_OLD_S = 1.5  # counts of a consumer that is silent for longer show nothing of a cycle


def require(condition: bool, message: str) -> None:
    """Raise ValueError with the message unless the condition holds."""
    if not condition:
        raise ValueError(message)


class Direction(StrEnum):
    """The direction in which a decision moves the worker count."""

    UP = "up"
    DOWN = "down"
    HOLD = "hold"

    @classmethod
    def between(cls, before: int, after: int) -> Self:
        """Return the direction from one count to another."""
        return cls("up" if after > before else "down" if after < before else "hold")


class Reading(Struct, frozen=True, kw_only=True):
    """One observation of one partition.

    `at_s` is any steadily growing clock, in seconds; only differences of it are used.
    `backlog` counts the ready jobs that could run now, `workers` the threads alive as the
    consumer reported them, `busy` those with a job, and `finished_total` all executions
    ended so far. The counter may fall back when a server loses writes. `in_flight` counts the jobs
    that are claimed and not ended, as the server knows them; None if unknown. `limits` are those
    that jobs of the partition wait for, or waited for. `work` is what the consumer says of its
    jobs that ended; None if it says nothing. `age_s` tells how old the consumer's counts are, which
    are `workers`, `busy`, `limits` and `work`; the others are of now.
    """

    at_s: float
    backlog: int
    workers: int
    busy: int
    finished_total: int
    in_flight: int | None = None
    limits: tuple[LimitUse, ...] = ()
    work: EndedWork | None = None
    age_s: float = 0.0

    def __post_init__(self) -> None:
        in_flight = 0 if self.in_flight is None else self.in_flight
        counts = (self.backlog, self.workers, self.busy, self.finished_total, in_flight)
        if math.isfinite(self.at_s) and min(counts) >= 0:
            return  # without a message, of which thousands a cycle would be made
        require(math.isfinite(self.at_s), f"at_s={self.at_s} must be a finite number of seconds")
        for field in ("backlog", "workers", "busy", "finished_total", "in_flight"):
            value = getattr(self, field)
            require(value is None or value >= 0, f"{field}={value} must not be negative")

    @property
    def pwqd(self) -> float:
        """Per-worker queue depth: jobs waiting per worker."""
        return self.backlog / max(self.workers, 1)

    def is_old(self, seconds: float) -> bool:
        """Return whether the consumer's counts are too old for what a cycle of so long shows."""
        return self.age_s > max(2 * seconds, _OLD_S)

    def observed_s(self, last_at_s: float | None, cycle_s: float) -> float:
        """Return the seconds that this reading adds to the observed time, at most one cycle.

        A gap in the observations therefore counts as one cycle, however long it was: what happened
        in it is unknown, so neither a hold nor a decay may continue through it.
        """
        if last_at_s is None:
            return 0.0
        return min(max(self.at_s - last_at_s, 0.0), cycle_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The operator's bounds. They may change between two cycles and apply at once."""

    min_workers: int = 8  # the base, to which an idle partition returns
    max_workers: int = 64

    def __post_init__(self) -> None:
        require(self.min_workers >= 1, f"min_workers={self.min_workers} must be at least 1")
        require(
            self.max_workers >= self.min_workers,
            f"max_workers={self.max_workers} must not be below min_workers={self.min_workers}",
        )

    def clamp(self, workers: int) -> tuple[int, tuple[str, ...]]:
        """Return the count within the bounds and the names of the bounds that changed it."""
        if workers < self.min_workers:
            return self.min_workers, ("min_workers",)
        if workers > self.max_workers:
            return self.max_workers, ("max_workers",)
        return workers, ()


class PolicyState(Struct, frozen=True, kw_only=True):
    """What a policy remembers between cycles: only numbers, so that it is recorded as JSON.

    Each policy extends it. A policy that receives the state of another one, for example after the
    operator changed the policy, starts over from its target.
    """

    target: int

    @property
    def useless_above(self) -> int:
        """Return the count above which a gain check found no gain, 0 for none."""
        return 0

    @property
    def measured(self) -> "Demand | None":
        """Return what the policy measured of the jobs, None if it measures nothing."""
        return None


class Decision(Struct, frozen=True, kw_only=True):
    """The wanted number of workers, and why.

    `target` is absolute. A caller compares it with what the consumer reported, not only with
    `previous`: a consumer that restarted with fewer workers must receive it again. `clamps` names
    everything that limited the policy's choice; `wanted` is what it would have been without them.
    `figures` are what the policy computed with, in the order of its `figure_names`; empty if it
    computed nothing.
    """

    target: int
    previous: int
    reason: str
    clamps: tuple[str, ...]
    state: PolicyState
    wanted: int | None = None
    figures: tuple[float, ...] = ()

    @property
    def direction(self) -> Direction:
        """Return whether the wanted number rose, fell or stayed."""
        return Direction.between(self.previous, self.target)
