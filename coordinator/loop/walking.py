"""Walks over what places have, in pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from coordinator.loop.pacing import Pacer
from queuepool.client.pool import QueuePool
from queuepool.partitions.partition import Partition
from queuepool.protocol.batches import home_of_batch, is_batch
from queuepool.routing.named import slot_of_group
from queuepool.verbs import Verb
from queuepool.verbs.moves import batches as carry
from queuepool.verbs.moves import verbs as move
from queuepool.verbs.moves.verbs import Walked

_Look = Callable[[bytes], Verb[tuple[bytes, Any]]]
_Takers = dict[_Look, Callable[[Any], object]]  # what each takes is a page


class Walker:
    """Tells which groups and batches of some slots places have."""

    def __init__(self, pool: QueuePool, paced: Pacer) -> None:
        self._pool, self._paced = pool, paced

    def walk(self, place: Partition, is_wanted: Callable[[int], bool]) -> Walked:
        """Return the batches and groups of these slots that a place has: with jobs, frozen, noted.

        A group without jobs is noted when it is configured while slots move.
        """
        found = Walked()

        def add(page: Walked) -> None:
            found.add(page.of({slot for slot in page.slots.values() if is_wanted(slot)}))

        def add_named(page: move.Named) -> None:
            found.slots.update(self._wanted(page, is_wanted))

        def add_batches(names: Iterable[str]) -> None:
            homes = {name: home_of_batch(name)[0] for name in names if is_batch(name)}
            found.batches.update({name: slot for name, slot in homes.items() if is_wanted(slot)})

        self._read(place, {move.walk: add})
        noted: _Takers = {move.frozen: add_named, move.configured: add_named}
        self._read(place, noted | {carry.batches: add_batches})
        return found

    def _read(self, place: Partition, takers: _Takers) -> None:
        """Read everything that can be looked at in pages, of each kind one in a round trip."""
        cursors = dict.fromkeys(takers, b"0")
        while cursors:
            verbs = [look(cursor) for look, cursor in cursors.items()]
            replies = self._paced(place.server.run, place.key, verbs)
            ahead = dict[_Look, bytes]()
            for look, verb, reply in zip(cursors, verbs, replies, strict=True):
                cursor, page = verb.read(reply)
                takers[look](page)
                if cursor != b"0":
                    ahead[look] = cursor
            cursors = ahead

    def recorded(self, place: Partition, is_wanted: Callable[[int], bool]) -> Walked:
        """Return the groups of these slots that have a record in a place, with jobs or without.

        It looks at all keys of the server.
        """
        found = Walked()
        takers: _Takers = {
            move.recorded: lambda page: found.slots.update(self._wanted(page, is_wanted))
        }
        self._read(place, takers)
        return found

    def _wanted(self, page: move.Named, is_wanted: Callable[[int], bool]) -> dict[bytes, int]:
        """Return the groups of wanted slots. page: slots as far as the server knows them."""
        separator = self._pool.config.tenant_separator
        slots = {
            group: slot_of_group(group, separator) if said is None else said
            for group, said in page.items()
        }
        return {g: slot for g, slot in slots.items() if slot is not None and is_wanted(slot)}

    def found(self, partition: int, is_wanted: Callable[[int], bool]) -> dict[Partition, Walked]:
        """Return what the pools of a partition have of some slots."""
        places = self._pool.places(partition)
        return {place: self.walk(place, is_wanted) for place in places}

    def jobs_to_go(
        self, left: Mapping[tuple[int, int], Collection[int]]
    ) -> dict[tuple[int, int], int]:
        """Return how many jobs, about, slots have that are to go, by way."""
        jobs = dict.fromkeys(left, 0)
        for source in sorted({source for source, _ in left}):
            ways = {slot: way for way, slots in left.items() if way[0] == source for slot in slots}
            for walked in self.found(source, ways.__contains__).values():
                for slot, count in walked.by_slot().items():
                    jobs[ways[slot]] += count
        return jobs
