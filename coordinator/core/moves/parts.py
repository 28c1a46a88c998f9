"""Which slots go next, of those that are not where they are to be. Pure.

All slots of a part are closed to producers while their jobs are copied, so a part has about
MOST_JOBS jobs, a batch and a group without jobs counting as one; a slot that has more goes alone.
Slots without jobs cost nothing, and go along. Slots whose jobs run for long wait until nothing else
is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from queuepool.verbs.moves.verbs import Walked

MOST_JOBS = 5_000


@dataclass(frozen=True, slots=True)
class Way:
    """Slots that go from one partition to another."""

    source: int
    dest: int
    slots: tuple[int, ...]


def next_way(left: Mapping[tuple[int, int], Sequence[int]], busy: Collection[int]) -> Way | None:
    """Return the way with the most slots to go, not counting busy ones while there are others."""
    ways = [Way(*way, tuple(s for s in slots if s not in busy)) for way, slots in left.items()]
    ways = [way for way in ways if way.slots] or [Way(*w, tuple(s)) for w, s in left.items()]
    return max(ways, key=lambda way: (len(way.slots), -way.source, -way.dest), default=None)


def fitting(slots: Sequence[int], found: Sequence[Walked], most: int = MOST_JOBS) -> frozenset[int]:
    """Return the slots that go together, at least one. found: what each pool has of them."""
    jobs = Counter[int]()
    for walked in found:
        jobs.update(walked.by_slot())
        jobs.update(slot for group, slot in walked.slots.items() if not walked.has_jobs(group))
        jobs.update(walked.batches.values())
    taken, room = set[int](), most
    for slot in sorted(slots, key=lambda slot: (jobs[slot], slot)):
        if taken and jobs[slot] > room:
            break
        room -= jobs[slot]
        taken.add(slot)
    return frozenset(taken)
