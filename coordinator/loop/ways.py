"""Chooses which slots go next, past those that may not go now.

busy    slots whose jobs run for long: they go when nothing else is left
held    a way from or to a partition whose consumer is too old: see coordinator.core.moves.outdated

What holds a way is looked at again each time, so it goes on once the consumer is replaced.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence

from coordinator.core.moves.outdated import is_outdated, told
from coordinator.core.moves.parts import Way, next_way
from coordinator.loop.carrying import Carrier
from coordinator.loop.finding import Finder
from queuepool.client.pool import QueuePool
from queuepool.models import PartitionState
from queuepool.routing.moves import Move

_log = logging.getLogger("coordinator.moves")
_Places = dict[str, PartitionState]


class HeldError(Exception):
    """Nothing may be copied now: the text says what is waited for."""


class Ways:
    """The ways of a move. busy: slots whose jobs run for long."""

    def __init__(self, pool: QueuePool, carrier: Carrier, finder: Finder) -> None:
        self._pool, self._carrier, self._finder = pool, carrier, finder
        self._is_held = False
        self.forget()

    def forget(self) -> None:
        """Begin again."""
        self.busy = set[int]()

    def choose(
        self, left: Mapping[tuple[int, int], Sequence[int]], move: Move, version: int
    ) -> Way | None:
        """Return the way that is next, None if nothing is left. Raises HeldError.

        Groups that were to wait until they are copied run again where they are held.
        """
        known: dict[int, _Places] = {}
        open_ways, found = dict(left), _Places()
        while (way := next_way(open_ways, self.busy)) is not None:
            if not (held := self._outdated(way, known)):
                return self._going(way)
            found |= held
            self._let_run(way.source, version)
            del open_ways[way.source, way.dest]
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

    def held_before(self, source: int, dest: int, slots: Collection[int]) -> bool:
        """Return whether closed slots may not go, of which the other place has nothing yet.

        A part that has begun goes on: that is over in a moment.
        """
        found = self._outdated(Way(source, dest, tuple(slots)), {})
        if not found:
            return False
        there = self._carrier.found(dest, frozenset(slots).__contains__).values()
        if any(walked.slots or walked.batches for walked in there):
            return False
        self._held(found)
        return True

    def _outdated(self, way: Way, known: dict[int, _Places]) -> _Places:
        found = _Places()
        for number in (way.source, way.dest):
            if number not in known:
                states = {place.name: place.observe() for place in self._pool.places(number)}
                known[number] = {n: state for n, state in states.items() if is_outdated(state)}
            found |= known[number]
        return found

    def _held(self, found: _Places) -> str:
        text = told(found.items())
        if not self._is_held:
            _log.warning("the move waits for %s", text)
        self._is_held = True
        return text

    def _going(self, way: Way) -> Way:
        if self._is_held:
            _log.info("the move goes on: consumers of an earlier release were replaced")
        self._is_held = False
        return way
