"""Which partitions are hot, and which of their groups and slots make them so. Pure.

A partition is hot if its jobs want more than TIMES the workers that those of the others want on
average, and wait, while they do not elsewhere: a busy partition whose jobs start at once harms
nobody. Of a hot partition

    one group takes MOST of it     no move helps: a group has one slot. Its key is to be split
    otherwise                      slots go to the partition that has the least to do, as long as
                                   that is better for both
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from queuepool.models.advice import Loads, Part, PlaceLoad

TIMES = 2.0  # hashing spreads some dozens of keys within a factor of 2
WAIT_S, ELSEWHERE = 30.0, 0.1
MOST = 0.5  # of the worker time: without that group the partition would have half to do
MOST_SLOTS = 8  # in one move: a few slots take seconds, and what they do can be looked at
_GAIN = 0.1  # of what the partition has to do: less is not worth a move


@dataclass(frozen=True, slots=True)
class Hot:
    """A hot partition. times: what its jobs want, by what those of others want on average.

    elsewhere_s: how long the oldest job waits in the median of the others.
    """

    place: PlaceLoad
    times: float
    elsewhere_s: float

    @property
    def group(self) -> Part | None:
        """Return the group that makes it hot, if it is one."""
        first = next(iter(self.place.parts), None)
        return first if first is not None and first.share > MOST else None


@dataclass(frozen=True, slots=True)
class Shift:
    """Slots that are to go to another partition. before, after: what both have to do."""

    slots: tuple[int, ...]
    dest: PlaceLoad
    share: float
    before: tuple[float, float]
    after: tuple[float, float]


def hot_places(loads: Loads, *, wait_s: float = WAIT_S) -> Iterator[Hot]:
    """Return the hot partitions, by number. wait_s: how long jobs wait there at least."""
    owned = [place for place in loads.places if place.workers]  # without a consumer all wait
    if len(owned) < 2:
        return
    total = sum(place.wanted for place in owned)
    waits_s = sorted(place.wait_s for place in owned)
    for place in owned:
        others = (total - place.wanted) / (len(owned) - 1)
        if not (place.backlog and place.wait_s >= wait_s and place.wanted > TIMES * others):
            continue
        elsewhere_s = _median_without(place.wait_s, waits_s)
        if elsewhere_s <= ELSEWHERE * place.wait_s:
            yield Hot(place, place.wanted / max(others, 0.01), elsewhere_s)


def _median_without(one: float, ordered: Sequence[float]) -> float:
    """Return the median of the others; each is found in turn, among thousands."""
    at, middle = bisect_left(ordered, one), (len(ordered) - 2) / 2
    low, high = (i if i < at else i + 1 for i in (math.floor(middle), math.ceil(middle)))
    return (ordered[low] + ordered[high]) / 2


def shift(hot: PlaceLoad, places: Sequence[PlaceLoad]) -> Shift | None:
    """Return the slots that are to leave a partition, and where to; None if no move helps."""
    others = [one for one in places if one.partition != hot.partition and one.workers]
    if not others:
        return None
    dest = min(others, key=lambda one: (one.wanted, one.wait_s, one.partition))
    here, there, taken = hot.wanted, dest.wanted, list[int]()
    for slot, wanted in sorted(hot.slots.items(), key=lambda one: -one[1]):
        if len(taken) < MOST_SLOTS and 0 < wanted <= (here - there) / 2:
            here, there = here - wanted, there + wanted
            taken.append(slot)
    if hot.wanted - here < _GAIN * hot.wanted:
        return None
    share = (hot.wanted - here) / hot.wanted
    return Shift(tuple(sorted(taken)), dest, share, (hot.wanted, dest.wanted), (here, there))
