"""Partitions turn away who routes by a version that is too old, as the part `moved` does it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from queuepool.testing.data import PartitionData
    from queuepool.testing.keyspace import Args


def routed(
    place: int,
) -> Callable[[Callable[[PartitionData, Args], Any]], Callable[[PartitionData, Args], Any]]:
    """Let a verb answer MOVED. place: of the version among its arguments."""

    def decorate(
        verb: Callable[[PartitionData, Args], Any],
    ) -> Callable[[PartitionData, Args], Any]:
        @wraps(verb)
        def call(p: PartitionData, args: Args) -> Any:
            least = p.counters.get("route", 0)
            if least > int(args[place] or 1):
                return [b"MOVED", b"%d" % least]
            return verb(p, args)

        return call

    return decorate


def turn_away(p: PartitionData, args: Args) -> Any:
    """Accept only calls that route by this version or a later one."""
    version, least = int(args[0]), max(1, p.counters.get("route", 1))
    if version < least:
        return least
    if args[1:] == [b"1"]:
        p.counters["shut"] = 1
    elif args[1:] == [b"0"]:
        p.counters.pop("shut", None)
        p.noted.clear()
    if version > least:
        p.counters["route"] = version
    return version


def probe(p: PartitionData, args: Args) -> Any:
    """Leave a number, or none."""
    before = p.counters.pop("probe", 0)
    if args[0] != b"0":
        p.counters["probe"] = int(args[0])
    return before
