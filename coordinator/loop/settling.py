"""Prepares the places that a move carries jobs to: held, limited, weighted as the old ones.

Those that are retired are cleared of all that: some day they may be new ones again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from queuepool.client.pool import QueuePool
from queuepool.errors.escaping import id_bytes
from queuepool.models.places import DEFAULT_POOL, new_place
from queuepool.partitions.partition import Partition
from queuepool.routing.moves import Move
from queuepool.verbs.moves import verbs as move
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.producer import tenants
from queuepool.verbs.producer import verbs as produce


class Settler:
    """Prepares places. paced: makes a call, and leaves the servers alone for a while."""

    def __init__(self, pool: QueuePool, paced: Callable[..., Any]) -> None:
        self._pool, self._paced = pool, paced

    def settle(self, move: Move) -> None:
        """Let the places that jobs go to know what the ones there are know; may be repeated."""
        for number in move.to:
            for place in self._pool.places(number):
                self._settle_hold(place, new_place(number))
                self._settle_tenants(place, (new_place(number),))
                self._settle_tasks(place, (new_place(number),))
        numbers = () if move.to else range(move.before, move.partitions)
        for place in self._one_of_each_pool(move.before) if numbers else ():
            self._settle_tenants(place, numbers)
            self._settle_tasks(place, numbers)

    def _one_of_each_pool(self, before: int) -> list[Partition]:
        """Return a place of each pool in the partitions that were there before."""
        found: dict[str, Partition] = {}
        for place in self._pool.places():
            if place.number < before:
                found.setdefault(place.pool, place)
        return list(found.values())

    def settle_pool(self, source: Partition, number: int) -> None:
        """Let a partition have this pool; one that had it not is told what is known here."""
        if source.pool == DEFAULT_POOL:
            return
        if source.pool not in {place.pool for place in self._pool.places(number)}:
            self._settle_tenants(source, (number,))
            self._settle_tasks(source, (number,))
        self._paced(self._pool.add_to, number, source.pool)

    def clear(self, places: Iterable[Partition]) -> None:
        """Release what is held in places that are no more, and forget settings of tenants."""
        for place in places:
            for tenant in self._tenants(place):
                plain = tenants.configure(
                    tenant, hold=False, max_running=0, weight=1, version=produce.ANY_VERSION
                )
                self._paced(place.run, plain)
            state = self._paced(place.run, operate.observe(place.number))
            for task in state.held_tasks:
                self._hold_task(place, task, on=False)
            if state.held_ms is not None:
                released = produce.configure(None, hold=False, version=produce.ANY_VERSION)
                self._paced(place.run, released)

    def _tenants(self, place: Partition) -> list[bytes]:
        cursor, names = b"", list[bytes]()
        while cursor != b"0":
            cursor, some = self._paced(place.run, move.tenants(cursor or b"0"))
            names += some
        return names

    def _settle_tenants(self, source: Partition, numbers: Iterable[int]) -> None:
        """Let tenants run in new partitions as they may in one that was there before."""
        names = self._tenants(source)
        for number in numbers if names else ():
            self._paced(self._pool.add_to, number, source.pool)
            place = self._pool.partition(number, source.pool)
            for name in names:
                known = self._paced(source.run, tenants.find(name))
                verb = tenants.configure(
                    name,
                    hold=known.held_ms is not None,
                    max_running=known.max_running or 0,
                    weight=known.weight,
                    version=produce.ANY_VERSION,
                )
                self._paced(place.run, verb)

    def _settle_tasks(self, source: Partition, numbers: Iterable[int]) -> None:
        """Hold in new partitions the tasks that are held in one that was there before."""
        held = self._paced(source.run, operate.observe(source.number)).held_tasks
        for number in numbers if held else ():
            self._paced(self._pool.add_to, number, source.pool)
            place = self._pool.partition(number, source.pool)
            for task in held:
                self._hold_task(place, task, on=True)

    def _hold_task(self, place: Partition, task: str, *, on: bool) -> None:
        name = id_bytes(task).decode("utf-8", "replace")
        self._paced(place.run, produce.hold_task(name, on=on, version=produce.ANY_VERSION))

    def _settle_hold(self, source: Partition, number: int) -> None:
        """Let the new place of a partition have this pool, held if it is held here."""
        if source.pool != DEFAULT_POOL:
            self._paced(self._pool.add_to, number, source.pool)
        held = self._paced(source.run, operate.observe(source.number)).held_ms
        verb = produce.configure(None, hold=held is not None, version=produce.ANY_VERSION)
        self._paced(self._pool.partition(number, source.pool).run, verb)
