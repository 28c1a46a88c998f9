"""Which lanes have their turn later, and how much a claim may take, by what they have cost. Pure.

    cost = seconds of its jobs that ended
           + running jobs x mean seconds of one, or what they took so far if that is more

Of the lanes of a tier, in the order in which a claim serves them:

    first    not ahead of any other by more than a margin
    later    ahead of a lane that has credit
    last     ahead of the cheapest of those without credit; or it runs an even part of the slots,
             and its jobs are long, or none has ended: a group of very long jobs would have all
             slots before anybody knows, and keep them

A lane whose cost is below `level_s`, the lowest cost of its tier when it came, has *credit*.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

FACTOR = 2.0  # the means of two lanes that differ by less share by jobs
MOST_AHEAD = 32  # passed to a claim
_MARGIN_S, _MARGIN = 0.02, 0.1  # and of the mean
_SHORT_S = 0.001  # jobs that take less leave workers idle
NEVER_S = -1e9
_CLAIM_S = 0.1  # of all workers, that one claim may take for long jobs


class Lane(Struct):
    """What the jobs of a group in a tier have cost. mean_s: 0 while none of them has ended."""

    cost_s: float
    level_s: float = NEVER_S
    running: int = 0
    began_s: float = 0.0  # sum of the times at which the running ones were claimed
    mean_s: float = 0.0
    empty: bool = False
    seen_s: float = NEVER_S

    @property
    def is_short(self) -> bool:
        """Return whether its jobs take so little time that workers wait for them."""
        return 0 < self.mean_s < _SHORT_S

    def charged_s(self, now_s: float, slots: int) -> float:
        """Return the cost, with what the running jobs will have cost."""
        running = min(self.running, slots)  # the others wait in memory
        if not running:
            return self.cost_s
        so_far_s = (now_s - self.began_s / self.running) * running
        return self.cost_s + max(running * self.mean_s, so_far_s)


class Levels:
    """The lanes that are served later, and those that are served last, each with its excess."""

    def __init__(self) -> None:
        self._later: list[tuple[float, bytes]] = []
        self._last: list[tuple[float, bytes]] = []

    def add(self, lanes: Mapping[bytes, Lane], now_s: float, slots: int) -> None:
        """Sort the lanes of a tier that have jobs."""
        means = [lane.mean_s for lane in lanes.values()]
        if len(means) < 2 or max(means) < FACTOR * min(means):
            return
        charged_s = {name: lane.charged_s(now_s, slots) for name, lane in lanes.items()}
        full = _full(lanes, charged_s, slots)
        others = [(lane, charged_s[name]) for name, lane in lanes.items() if name not in full]
        lowest_s = min([cost_s for _, cost_s in others], default=0.0)
        standing_s = min(without_credit(others), default=lowest_s)
        for name, lane in lanes.items():
            over_s, margin_s = charged_s[name] - standing_s, _MARGIN_S + _MARGIN * lane.mean_s
            if name in full or over_s > margin_s:
                self._last.append((over_s, name))
            elif charged_s[name] - lowest_s > margin_s:
                self._later.append((over_s, name))

    def names(self) -> list[bytes]:
        """Return at most MOST_AHEAD names as a claim takes them: later, an empty one, last.

        Each part begins with those that had the most. A single part needs no empty name.
        """
        last = [name for _, name in sorted(self._last, reverse=True)[:MOST_AHEAD]]
        room = MOST_AHEAD - len(last)
        later = [name for _, name in sorted(self._later, reverse=True)[:room]]
        return [*later, b"", *last] if later and last else later or last


def offer(lanes: Collection[Lane], idle_s: float, now_s: float, slots: int) -> None:
    """Charge what idle workers could have done to the lanes of short jobs of a tier."""
    short = [lane for lane in lanes if lane.is_short]
    if not short or len(lanes) < 2:
        return
    dearest_s = max([lane.charged_s(now_s, slots) for lane in lanes])
    for lane in short:
        below_s = dearest_s - lane.charged_s(now_s, slots)
        lane.cost_s += min(idle_s / len(short), below_s)


def level_of(names: Sequence[bytes]) -> dict[bytes, int]:
    """Return the place of each of these names: 1 later, or 2 last."""
    last = names[names.index(b"") + 1 :] if b"" in names else ()
    return dict.fromkeys(names, 1) | dict.fromkeys(last, 2)


def without_credit(costs_s: Iterable[tuple[Lane, float]]) -> list[float]:
    """Return those of the costs whose lanes have no credit."""
    return [cost_s for lane, cost_s in costs_s if cost_s >= lane.level_s]


def most_jobs(
    turns: Sequence[Lane], least_s: float, lanes: int, slots: int, starting: int
) -> float:
    """Return how many jobs a claim may take of a tier, of which `starting` find an idle worker.

    turns: the lanes that may have theirs, and share the claim evenly; least_s: the least mean.
    """
    most, longest_s = inf, max(lane.mean_s for lane in turns)
    least = max(1, starting if len(turns) > 1 else (starting + 1) // 2)
    if longest_s > 0 and longest_s >= FACTOR * least_s:
        jobs = int(_CLAIM_S * slots * len(turns) / sum([lane.mean_s for lane in turns]))
        most = max(least, jobs)
    unknown = [lane.running for lane in turns if lane.mean_s == 0]
    if unknown and lanes <= MOST_AHEAD:  # of more lanes, none has much of a claim
        most = min(most, max(least, len(turns) * max(1, slots // lanes - max(unknown))))
    return most


def _full(
    lanes: Mapping[bytes, Lane], charged_s: Mapping[bytes, float], slots: int
) -> frozenset[bytes]:
    known_s = [lane.mean_s for lane in lanes.values() if lane.mean_s > 0]
    long_s = FACTOR * min(known_s, default=inf)
    unknown, long = max(1, slots // len(lanes)), -(-slots // len(lanes))
    return frozenset(
        name
        for name, lane in lanes.items()
        if (lane.mean_s == 0 and lane.running >= unknown)
        or (lane.mean_s >= long_s and lane.running >= long and charged_s[name] >= lane.level_s)
    )
