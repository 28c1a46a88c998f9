"""Partitions turn away who routes by a version that is too old, as the part `moved` does it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import inf
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from queuepool.testing.data import PartitionData
    from queuepool.testing.keyspace import Args


def _strictly(_p: PartitionData, _args: Args, _version: int) -> bool:
    return False


def routed(
    place: int, *, unless: Callable[[PartitionData, Args, int], bool] = _strictly
) -> Callable[[Callable[[PartitionData, Args], Any]], Callable[[PartitionData, Args], Any]]:
    """Let a verb answer MOVED. place: of the version among its arguments.

    unless: told the data, the arguments and an older version; whether that will do.
    """

    def decorate(
        verb: Callable[[PartitionData, Args], Any],
    ) -> Callable[[PartitionData, Args], Any]:
        @wraps(verb)
        def call(p: PartitionData, args: Args) -> Any:
            least, version = p.counters.get("route", 0), int(args[place] or 1)
            if least > version and not unless(p, args, version):
                return [b"MOVED", b"%d" % least]
            return verb(p, args)

        return call

    return decorate


def all_stayed(p: PartitionData, args: Args, version: int) -> bool:
    """Return whether no slot of the jobs of an enqueue has closed since this version."""
    known, runs = p.closings, args[6 : len(args) - int(args[4])]
    slots, i = set[bytes](), 0
    while i < len(runs):
        n = int(runs[i + 3])
        slots |= {tail[:3] for tail in runs[i + 5 : i + 4 + 2 * n : 2]}
        i += 4 + 2 * n
    return (
        not args[5].startswith(b"+")
        and known.get(b"to") == p.counters.get("route")
        and version >= known.get(b"from", inf)
        and all(known.get(slot, 0) <= version for slot in slots)
    )


def turn_away(p: PartitionData, args: Args) -> Any:
    """Accept only calls that route by this version or a later one."""
    version, least = int(args[0]), max(1, p.counters.get("route", 1))
    if version < least:
        return least
    if args[1] == b"1":
        p.counters["shut"] = 1
    elif args[1] == b"0":
        p.counters.pop("shut", None)
        p.noted.clear()
    told = int(args[2]) if len(args) > 2 else None
    if not p.closings.get(b"to") == least == told:
        p.closings.clear()
    if told is not None:
        p.closings.setdefault(b"from", int(args[3]))
        p.closings.update(dict.fromkeys(args[4:], version))
        p.closings[b"to"] = version
    if version > least:
        p.counters["route"] = version
    return version


def probe(p: PartitionData, args: Args) -> Any:
    """Leave a number, or none."""
    before = p.counters.pop("probe", 0)
    if args[0] != b"0":
        p.counters["probe"] = int(args[0])
    return before
