"""The log, as the scripts of these names keep it."""

from __future__ import annotations

from typing import Any

from queuepool.testing.keyspace import Args
from queuepool.testing.records import SystemData

_LONGEST = 4_096


def write_log(s: SystemData, args: Args) -> Any:
    """Add entries, and forget those that are too many or too old."""
    keep, age = int(args[0]), int(args[1])
    for kind, text in zip(args[2::2], args[3::2], strict=True):
        kept = s.log.setdefault(kind, [])
        last_ms, last_sequence = kept[-1][0] if kept else (0, 0)
        newest = (s.now, 0) if s.now > last_ms else (last_ms, last_sequence + 1)
        if kept and kept[0][0][0] < s.now - age:
            kept[:] = [one for one in kept if one[0][0] >= s.now - age]
        kept.append((newest, text))
        del kept[:-keep]
    return (len(args) - 2) // 2


def read_log(s: SystemData, args: Args) -> Any:
    """Read entries, the newest of each kind first."""
    first, count = max(int(args[0]), s.now - int(args[3])), int(args[2])
    last = s.now + 10**15 if args[1] == b"+" else int(args[1])
    found: list[Any] = [s.now]
    for kind in args[4:]:
        kept = [one for one in s.log.get(kind, []) if first <= one[0][0] <= last]
        found += [
            [kind, b"%d-%d" % order, text if len(text) <= _LONGEST else b""]
            for order, text in kept[::-1][:count]
        ]
    return found
