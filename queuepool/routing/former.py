"""Where slots were lately, so that no id runs twice which ended there and is repeated. Pure.

    3@main=0-15,99;5@big=7     partition 3, which was on server main, gave these slots away; 5 too

An id is remembered for a minute or two where its job ended, and does not move. So whoever enqueues
an id that may have been in, first asks each former place of its slot. That is exact: a slot moves
when none of its jobs runs, so nothing ends at a former place any more.

F1  Whoever may add jobs of a slot where it is knows its former places: the change of the record
    that opens a slot names them, and older versions are turned away
F2  A place is named for at least KEPT_S after a slot left it, longer than it remembers ids
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Set
from dataclasses import dataclass, field

from queuepool.errors import ConfigurationError
from queuepool.models.places import FORMER_PLACE, PLACES, partition_at
from queuepool.routing.ranges import read_slots, slots_text

KEPT_S = 150.0
_ENTRY = re.compile(r"(\d{1,4})@([A-Za-z0-9_.-]+)=([\d,-]+)")


@dataclass(frozen=True, slots=True)
class Former:
    """servers: number of each former place -> its server. slots: what it gave away lately."""

    servers: Mapping[int, str] = field(default_factory=dict)
    slots: Mapping[int, frozenset[int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.slots)

    def places_of(self, slot: int) -> list[int]:
        """Return the places where a slot was."""
        return [place for place, slots in self.slots.items() if slot in slots]


NOWHERE = Former()


def read_former(text: str, known: Container[str]) -> Former:
    """Return the places that a record names, on servers that are known here.

    Raises ConfigurationError.
    """
    servers: dict[int, str] = {}
    slots: dict[int, frozenset[int]] = {}
    for entry in entries(text):
        match = _ENTRY.fullmatch(entry)
        if match is None:
            raise ConfigurationError(f"{entry[:40]!r} is not a former place of slots")
        if match[2] in known:
            place = _place(servers, int(match[1]), match[2])
            servers[place] = match[2]
            slots[place] = slots.get(place, frozenset()) | read_slots(match[3])
    return Former(servers, slots)


def _place(servers: Mapping[int, str], partition: int, server: str) -> int:
    """Return the number of a former place: one more for each server where the partition was."""
    place = FORMER_PLACE + partition_at(partition)
    while servers.get(place, server) != server:
        place += PLACES
    return place


def entries(text: str) -> list[str]:
    """Return the single entries, one for each time that slots left a place."""
    return text.split(";") if text else []


def entry_of(partition: int, server: str, slots: Set[int]) -> str:
    """Return the entry of slots that leave a place."""
    return f"{partition_at(partition)}@{server}={slots_text(slots)}"


def joined(found: Iterable[str]) -> str:
    """Return entries as the record has them."""
    return ";".join(dict.fromkeys(found))
