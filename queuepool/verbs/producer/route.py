"""Verbs of the route record: how many partitions a keyspace has. Pure."""

from __future__ import annotations

from typing import Any

from queuepool.errors.escaping import stored_text
from queuepool.models import RouteRecord
from queuepool.verbs import Argument, Verb, fields, number

_OPTIONAL = ("slots", "servers", "moving", "migration", "legacy", "homes", "firsts", "leaving",
             "arrived", "former", "move", "unheard")  # fmt: skip


def look(system: bytes) -> Verb[RouteRecord | None]:
    """Return the route record, None when there is none.

    A plain read: a server that refuses writes also refuses the script that might make a record.
    system: the system key.
    """
    return Verb("", [b"HGETALL", system + b":route"], _read)


def record(
    partitions: int, layout: str, migration: str = "", legacy: str = "", *, unheard: str = ""
) -> Verb[RouteRecord | None]:
    """Create the first route record unless there is one; return the record.

    One with a migration begins with version 2: who assumed partitions finds that it was wrong.
    """
    return restore(
        RouteRecord(
            version=2 if migration else 1,
            partitions=partitions,
            layout=layout,
            created_ms=0,
            migration=migration,
            legacy=legacy,
            unheard=unheard,
        )
    )


def restore(known: RouteRecord) -> Verb[RouteRecord | None]:
    """Create the record as it was known, unless there is one; return the record."""
    stored: list[Argument] = ["version", known.version, "partitions", known.partitions]
    stored += ("layout", known.layout)
    for name in _OPTIONAL:
        if value := getattr(known, name):
            stored += (name, value)
    return Verb("route", stored, _read)


def contents(known: RouteRecord) -> dict[str, str]:
    """Return all that a record says but its version, as fields to write: '' for what it lacks."""
    found = {"partitions": str(known.partitions), "layout": known.layout}
    return found | {name: str(getattr(known, name) or "") for name in _OPTIONAL}


def _read(reply: Any) -> RouteRecord | None:
    known = fields(reply)  # and possibly fields of newer versions, which are ignored
    if not known:
        return None
    return RouteRecord(
        version=int(known["version"]),
        partitions=int(known["partitions"]),
        layout=stored_text(known["layout"]),
        created_ms=int(known.get("created", 0)),
        slots=stored_text(known.get("slots", b"")),
        servers=stored_text(known.get("servers", b"")),
        moving=stored_text(known.get("moving", b"")),
        migration=stored_text(known.get("migration", b"")),
        legacy=stored_text(known.get("legacy", b"")),
        homes=number(known.get("homes")),
        firsts=stored_text(known.get("firsts", b"")),
        leaving=stored_text(known.get("leaving", b"")),
        arrived=stored_text(known.get("arrived", b"")),
        former=stored_text(known.get("former", b"")),
        move=stored_text(known.get("move", b"")),
        unheard=stored_text(known.get("unheard", b"")),
    )


def peek() -> Verb[tuple[int, int]]:
    """Return (jobs stored, ms the owner's lease still runs) of a partition."""
    return Verb("peek", (), lambda r: (int(r[0]), int(r[1])))
