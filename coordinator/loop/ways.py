"""Chooses which slots go next, past those that may not go now.

busy    slots whose jobs run for long: they go when nothing else is left
held    a way from or to a partition whose consumer is too old: see coordinator.core.moves.outdated
vacant  a way to a partition that nobody owns yet, from one that somebody does: within a second or
        two a consumer that stands by takes it. Then jobs that come there do not wait for that.
        Without enough consumers none comes, so it waits for PATIENCE_S at most, once in a move

What holds a way is looked at again each time, so it goes on once the consumer is replaced.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from coordinator.core.moves.outdated import is_outdated, told
from coordinator.core.moves.parts import Way, next_way
from coordinator.loop.carrying import Carrier
from coordinator.loop.finding import Finder
from coordinator.loop.walking import Walker
from queuepool.client.pool import QueuePool
from queuepool.models import PartitionState
from queuepool.partitions.partition import Partition
from queuepool.routing.moves import Move

PATIENCE_S = 2.0  # consumers that stand by hear of new partitions within a second
_log = logging.getLogger("coordinator.moves")
_States = dict[Partition, PartitionState]


class HeldError(Exception):
    """Nothing may be copied now: the text says what is waited for."""


class VacantError(Exception):
    """All that is left goes to partitions whose consumers are still to come."""


class Ways:
    """The ways of a move. busy: slots whose jobs run for long."""

    def __init__(
        self,
        pool: QueuePool,
        carrier: Carrier,
        walker: Walker,
        finder: Finder,
        clock: Callable[[], float],
    ) -> None:
        self._pool, self._carrier, self._clock = pool, carrier, clock
        self._walker, self._finder = walker, finder
        self._is_held = False
        self.forget()

    def forget(self) -> None:
        """Begin again."""
        self.busy = set[int]()
        self._until_s: float | None = None  # until when to wait for owners

    def choose(
        self, left: Mapping[tuple[int, int], Sequence[int]], move: Move, version: int
    ) -> Way | None:
        """Return the way that is next, None if nothing is left. Raises HeldError, VacantError.

        Groups that were to wait until they are copied run again where they are held.
        """
        known: dict[int, _States] = {}
        open_ways, found, vacant = dict(left), _States(), False
        while (way := next_way(open_ways, self.busy)) is not None:
            if held := self._outdated(way, known):
                found |= held
                self._let_run(way.source, version)
            elif self._is_vacant(way, known):
                vacant = True
            else:
                return self._going(way)
            del open_ways[way.source, way.dest]
        if vacant:
            raise VacantError
        way = None if left else self._finder.astray(move)
        found |= self._outdated(way, known) if way is not None else {}
        if found:
            raise HeldError(self._held(found))
        return self._going(way) if way is not None else None

    def _let_run(self, number: int, version: int) -> None:
        places = self._pool.places(number)
        # The record has changed when it said what is waited for
        self._carrier.tell(places, version)
        self._carrier.thaw(places, version)

    def held_before(
        self, source: Iterable[Partition], dest: Iterable[Partition], slots: Collection[int]
    ) -> bool:
        """Return whether closed slots may not go, of which the other place has nothing yet.

        A part that has begun goes on: that is over in a moment. source, dest: the pools of both.
        """
        found = _outdated({place: place.observe() for place in (*source, *dest)})
        if not found:
            return False
        for place in dest:
            walked = self._walker.walk(place, frozenset(slots).__contains__)
            if walked.slots or walked.batches:
                return False
        self._held(found)
        return True

    def _outdated(self, way: Way, known: dict[int, _States]) -> _States:
        return _outdated(self._states(way.source, known) | self._states(way.dest, known))

    def _is_vacant(self, way: Way, known: dict[int, _States]) -> bool:
        if self._until_s is None:
            self._until_s = self._clock() + PATIENCE_S
        if self._clock() >= self._until_s:
            return False
        owned = {p.pool for p, state in self._states(way.source, known).items() if _owned(state)}
        there = {p.pool for p, state in self._states(way.dest, known).items() if _owned(state)}
        return bool(owned - there)

    def _states(self, number: int, known: dict[int, _States]) -> _States:
        if number not in known:
            known[number] = {place: place.observe() for place in self._pool.places(number)}
        return known[number]

    def _held(self, found: _States) -> str:
        text = told((place.name, state) for place, state in found.items())
        if not self._is_held:
            _log.warning("the move waits for %s", text)
        self._is_held = True
        return text

    def _going(self, way: Way) -> Way:
        if self._is_held:
            _log.info("the move goes on: consumers of an earlier release were replaced")
        self._is_held = False
        return way


def _outdated(states: _States) -> _States:
    return {place: state for place, state in states.items() if is_outdated(state)}


def _owned(state: PartitionState) -> bool:
    return state.owner is not None and state.owner.lease_ms > 0
