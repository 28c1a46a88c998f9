"""What a route record says: where each slot is, and on which server each partition. Pure.

    version   grows with each change; a partition turns away who routes by an older one than it
              accepts, so only what has changed needs to be noticed
    layout    mod: partition = slot mod N. table: what `slots` says, 3 hexadecimal digits a slot
    servers   0-5=main,6-7=big, as QUEUEPOOL_PLACEMENT; none: as each process is configured
    moving    0-15,99: slots on their way to another partition, for which producers wait
    migration open: the queue began without partitions, in one place that is called legacy; sealed:
              that place is closed. None: it always had partitions
    legacy    0-4095: slots whose jobs go to that place still
    homes     how many partitions there were before the first move: limits keep these homes, also
              when fewer partitions have jobs by now. None: no slot ever moved
    firsts    3=main: where homes were at first, and are still, of partitions that moved since
    leaving   3=big: partitions on their way to another server, where each has a new place
    arrived   0-15,99: slots that are at the new place of their partition already
    former    3@main=0-15,99: where slots were lately, see queuepool.routing.former
    move      the move that is under way, see queuepool.routing.moves
    unheard   main,big: servers that did not answer when the record was made, see
              queuepool.partitions.route

A view never changes: calls take the newest one, and compare the version of the one they took.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from struct import Struct

from queuepool.errors import ConfigurationError
from queuepool.models import RouteRecord
from queuepool.models.places import LEGACY, first_place, new_place
from queuepool.routing.former import NOWHERE, Former
from queuepool.routing.slots import SLOTS, key_bytes, slot_of

MOD, TABLE = "mod", "table"
OPEN, SEALED = "open", "sealed"
ALL_SLOTS = frozenset(range(SLOTS))
_DIGITS = 3
_FORMAT = f"%0{_DIGITS}x" * SLOTS
_NUMBERS = Struct(f"{_DIGITS}s" * SLOTS)
_TABLE = re.compile(f"[0-9a-f]{{{_DIGITS * SLOTS}}}")


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """One version of the route. placement: the server of each partition, by its name.

    table: the partition of each slot, None when it is slot mod N. record: what says so; None while
    there is nothing but the configuration. legacy: slots whose jobs go to the legacy place.
    is_open: whether there is such a place, which may have jobs of any slot. retired: the servers of
    partitions after the last one, which only are homes of limits. leaving, arrived, firsts: of
    partitions that move, or moved, to another server.
    """

    placement: tuple[str, ...]
    version: int = 1
    table: tuple[int, ...] | None = None
    moving: frozenset[int] = frozenset()
    record: RouteRecord | None = None
    legacy: frozenset[int] = frozenset()
    is_open: bool = False
    retired: tuple[str, ...] = ()
    leaving: Mapping[int, str] = field(default_factory=dict)
    arrived: frozenset[int] = frozenset()
    firsts: Mapping[int, str] = field(default_factory=dict)
    former: Former = NOWHERE

    def partition_of(self, slot: int) -> int:
        """Return where jobs of a slot go: a partition, its new place, or LEGACY."""
        return LEGACY if slot in self.legacy else self.place_of_slot(slot)

    def place_of_slot(self, slot: int) -> int:
        """Return the partition of a slot, or its new place when the slot is there."""
        partition = self.home_of_slot(slot)
        return new_place(partition) if slot in self.arrived else partition

    def table_of_homes(self) -> tuple[int, ...]:
        """Return the partition of each slot, also while its jobs go to the legacy place."""
        if self.table is not None:
            return self.table
        return tuple(slot % len(self.placement) for slot in range(SLOTS))

    def home_of_slot(self, slot: int) -> int:
        """Return the partition of a slot, also while its jobs go to the legacy place."""
        return slot % len(self.placement) if self.table is None else self.table[slot]

    def places_of(self, slot: int) -> tuple[int, ...]:
        """Return where a slot may have jobs: first where they go."""
        here = self.partition_of(slot)
        if not self.is_open:
            return (here,)
        return (here, self.home_of_slot(slot) if here == LEGACY else LEGACY)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Return all partitions, their new places, and LEGACY while there is that place."""
        return (*self.owned, *((LEGACY,) if self.is_open else ()))

    @property
    def owned(self) -> tuple[int, ...]:
        """Return all partitions, and the new places of those that move to another server."""
        return (*range(len(self.placement)), *map(new_place, sorted(self.leaving)))

    @property
    def has_legacy(self) -> bool:
        """Return whether there is a legacy place, or was one, whose counts stay."""
        return self.is_open or (self.record is not None and self.record.migration == SEALED)

    def version_for(self, slot: int) -> int:
        """Return the version by which a slot's jobs are sent: 0, which is turned away, on its way.

        The partition that is about to lose a slot accepts this view, for its other slots.
        """
        return 0 if slot in self.moving else self.version

    def home_of(self, limit: str) -> int:
        """Return the partition that is the home of a limit: that of its name as a partition key."""
        slot, homes = slot_of(key_bytes(limit)), self.record.homes if self.record else 0
        home = slot % homes if homes else self.home_of_slot(slot)
        return first_place(home) if home in self.firsts else home

    @property
    def homes(self) -> tuple[int, ...]:
        """Return all places that may be homes of limits."""
        numbers = range(len(self.placement) + len(self.retired))
        return tuple(first_place(n) if n in self.firsts else n for n in numbers)


@lru_cache(maxsize=8)  # a move names the same tables until its end
def read_table(text: str, partitions: int) -> tuple[int, ...]:
    """Return the partition of each slot. Raises ConfigurationError."""
    if not _TABLE.fullmatch(text):
        raise ConfigurationError(f"it has no table of {SLOTS} slots")
    names = _NUMBERS.unpack(text.encode())
    if (last := int(max(names), 16)) >= partitions:
        raise ConfigurationError(f"its table names partition {last} of {partitions}")
    known = {b"%0*x" % (_DIGITS, n): n for n in range(last + 1)}
    return tuple(map(known.__getitem__, names))


def table_text(table: Sequence[int]) -> str:
    """Return a table as a record has it."""
    return _FORMAT % tuple(table)
