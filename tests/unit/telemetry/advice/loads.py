"""Loads of a queue of four partitions, to be made uneven."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from queuepool.models.advice import Loads, Part, PlaceLoad, ServerLoad

MIB = 2**20


def place(number: int, **changes: Any) -> PlaceLoad:
    known: dict[str, Any] = {
        "partition": number, "server": "main", "workers": 8, "busy": 2.0, "wanted": 2.0,
        "came": 100.0, "ended": 100.0, "wait_s": 0.0, "backlog": 0, "bytes": 10 * MIB,
        "growth": 0.0,
    }  # fmt: skip
    return PlaceLoad(**known | changes)


def hot(number: int = 3, **changes: Any) -> PlaceLoad:
    """Return a partition whose jobs want 12 workers and have 8, of six groups."""
    parts = tuple(Part(slot=10 * n, group=b"g%d" % n, share=0.2 - 0.02 * n) for n in range(6))
    known = {"busy": 8.0, "wanted": 12.0, "wait_s": 60.0, "backlog": 5_000, "parts": parts}
    return place(number, **known | changes)


def server(**changes: Any) -> ServerLoad:
    known: dict[str, Any] = {
        "name": "main", "cpu": 0.3, "calls": 9_000.0, "used": 200 * MIB, "limit": 1_000 * MIB,
        "growth": 0.0, "partitions": (0, 1, 2, 3),
    }  # fmt: skip
    return ServerLoad(**known | changes)


def even(**changes: Any) -> Loads:
    known: dict[str, Any] = {
        "over_s": 600.0, "places": tuple(map(place, range(4))), "servers": (server(),),
    }  # fmt: skip
    return Loads(**known | changes)


def with_place(changed: PlaceLoad) -> Loads:
    loads = even()
    places = [changed if one.partition == changed.partition else one for one in loads.places]
    return replace(loads, places=tuple(places))
