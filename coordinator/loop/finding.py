"""Finds what a move has still to carry. What is in memory only saves work.

learn    when the move begins: groups that have a record, as those without jobs are in no list
on       a way: groups with jobs, groups that are frozen, groups that were configured since, and
         those that had a record
astray   at the end: jobs of producers that knew no better, and groups that came and ended
         while slots moved
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from coordinator.core.moves.parts import Way
from coordinator.loop.walking import Walker
from queuepool.client.pool import QueuePool
from queuepool.partitions.partition import Partition
from queuepool.routing.moves import Move
from queuepool.routing.views import ALL_SLOTS
from queuepool.verbs.moves.verbs import Walked

_Look = Callable[[Partition, Callable[[int], bool]], Walked]


class Finder:
    """What there is of the slots of a move."""

    def __init__(self, pool: QueuePool, walker: Walker) -> None:
        self._pool, self._walker = pool, walker
        self.forget()

    def forget(self) -> None:
        """Begin again."""
        self._kept = set[tuple[int, str, bytes]]()
        self._recorded = dict[tuple[int, str], Walked]()
        self._swept = False

    def learn(self, sources: Iterable[int]) -> None:
        """Read which groups have a record in these partitions."""
        self._swept = False
        for number in sources:
            for place in self._pool.places(number):
                self._recorded_in(place, ALL_SLOTS.__contains__)

    def keep(self, place: Partition, groups: Iterable[bytes]) -> None:
        """Leave groups where they are: others have the ids of their jobs where they are to go."""
        self._kept |= {(place.number, place.pool, group) for group in groups}

    def on(self, way: Way) -> dict[Partition, Walked]:
        """Return what the pools of a partition have of the slots that go a way."""
        found = self._walker.found(way.source, frozenset(way.slots).__contains__)
        for place, walked in found.items():
            recorded = self._recorded.get((place.number, place.pool), Walked())
            walked.add(recorded.of(frozenset(way.slots)))
        return found

    def astray(self, move: Move) -> Way | None:
        """Return slots of which a place has something, where they are not."""
        way = self._away(move, self._walker.walk)
        if way is None and not self._swept:
            way = self._away(move, self._recorded_in)
            self._swept = way is None
        return way

    def _recorded_in(self, place: Partition, is_wanted: Callable[[int], bool]) -> Walked:
        walked = self._walker.recorded(place, is_wanted)
        self._recorded[place.number, place.pool] = walked
        return walked

    def _away(self, move: Move, look: _Look) -> Way | None:
        goal = move.table()
        for number in move.places:
            ways: dict[int, set[int]] = {}
            away = {slot for slot, where in enumerate(goal) if where != number}
            for place in self._pool.places(number):
                walked = look(place, away.__contains__)
                for group, slot in walked.slots.items():
                    if (place.number, place.pool, group) not in self._kept:
                        ways.setdefault(goal[slot], set()).add(slot)
                for slot in walked.batches.values():
                    ways.setdefault(goal[slot], set()).add(slot)
            for dest, slots in ways.items():
                return Way(number, dest, tuple(slots))
        return None


def left_in(place: Partition) -> str:
    """Return what a place has that is to be empty."""
    state = place.observe()
    if state.jobs:
        return (
            f"{state.jobs:,} jobs of partition {place.name} to end: others have their ids where "
            "they are to go"
        )
    if state.untold:
        return f"the owner of partition {place.name} to tell batches of {state.untold:,} ends"
    return ""
