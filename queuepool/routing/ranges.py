"""Slots as ranges, such as 0-15,99. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from queuepool.errors import ConfigurationError
from queuepool.routing.slots import SLOTS

_RANGE = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?")


@lru_cache(maxsize=64)  # a record repeats most of what the one before it had
def read_slots(text: str) -> frozenset[int]:
    """Return the slots of ranges such as 0-15,99. Raises ConfigurationError."""
    found = set[int]()
    for part in text.split(",") if text else ():
        match = _RANGE.fullmatch(part)
        if match is None or int(match[2] or match[1]) >= SLOTS:
            raise ConfigurationError(f"{part[:40]!r} is not a range of slots")
        found.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(found)


def slots_text(slots: Iterable[int]) -> str:
    """Return slots as ranges, such as 0-15,99."""
    ranges: list[list[int]] = []
    for slot in sorted(slots):
        if ranges and ranges[-1][1] == slot - 1:
            ranges[-1][1] = slot
        else:
            ranges.append([slot, slot])
    return ",".join(f"{a}-{b}" if a < b else f"{a}" for a, b in ranges)
