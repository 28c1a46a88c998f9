"""Which limits the jobs of a seed name, what these allow, and when people change that. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass

from queuepool.models import Limit

SHARE = 0.35  # of the seeds
HOMES = 3  # partitions of the keyspace, of which each may be the home of a limit
_CHANGES_WITHIN_S = 12.0


@dataclass(frozen=True, slots=True)
class LimitChange:
    """What people do to a limit: set another definition, or pause or resume it."""

    at_s: float
    name: str
    limit: Limit | None = None
    pause: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a seed. code: what code declares of them.

    share: of enqueue calls whose jobs name some. neighbours: further partitions with such jobs.
    refuses: share of executions that hear from a downstream to wait. outages: of the homes' server.
    """

    code: tuple[Limit, ...]
    share: float = 1.0
    neighbours: int = 0
    refuses: float = 0.0
    changes: tuple[LimitChange, ...] = ()  # those of one limit in the order of their times
    outages: tuple[tuple[float, float], ...] = ()

    def definition(self, name: str) -> str:
        """Return what code declares of a limit."""
        return next((limit.definition for limit in self.code if limit.name == name), "")

    def final(self) -> list[LimitChange]:
        """Return what each limit has when all changes were made."""
        sets = {change.name: change for change in self.changes if change.limit}
        pauses = {change.name: change for change in self.changes if change.pause is not None}
        return [*sets.values(), *pauses.values()]


def draw_limits(r: random.Random, *, lossless: bool) -> Limits | None:
    """Return the limits of a seed; most have none."""
    if r.random() >= SHARE:
        return None
    code = tuple(_limit(r, f"limit-{n}") for n in range(r.randint(1, 3)))
    changes: list[LimitChange] = []
    for limit in code:
        changes += sorted(_changes(r, limit), key=lambda change: change.at_s)
    outages = ((r.uniform(0.1, 20.0), r.uniform(0.5, 4.0)),) if r.random() < 0.3 else ()
    return Limits(
        code=code,
        share=r.choice((0.5, 1.0, 1.0)),
        neighbours=r.choice((0, 0, 1, 2)),
        refuses=r.choice((0.0, 0.0, 0.1)),
        changes=tuple(changes),
        outages=() if lossless else outages,
    )


def _limit(r: random.Random, name: str) -> Limit:
    most = r.choice((1, 1, 2, 3, 5))
    rate, burst = r.choice((3, 10, 40)), r.choice((1, 1, 5))
    kind = r.random()
    if kind < 0.5:
        return Limit(name, concurrency=most)
    if kind < 0.8:
        return Limit(name, rate=rate, burst=burst)
    return Limit(name, rate=rate, burst=burst, concurrency=most)


def _changes(r: random.Random, limit: Limit) -> list[LimitChange]:
    found: list[LimitChange] = []
    for _ in range(r.choice((0, 0, 0, 1, 2))):
        # As code has it, but for the number: what ran before there was any would not be known.
        changed = _limit(r, limit.name)
        while (changed.concurrency is None) != (limit.concurrency is None):
            changed = _limit(r, limit.name)
        found.append(LimitChange(r.uniform(0.0, _CHANGES_WITHIN_S), limit.name, changed))
    if r.random() < 0.2:
        begin_s = r.uniform(0.0, _CHANGES_WITHIN_S)
        found.append(LimitChange(begin_s, limit.name, pause=True))
        found.append(LimitChange(begin_s + r.uniform(0.1, 4.0), limit.name, pause=False))
    return found
