"""Task groups in a list, for display."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from queuepool.cli.display import output
from queuepool.cli.display.finding import distance
from queuepool.cli.display.names import key_cell
from queuepool.cli.display.tables import Column
from queuepool.errors.escaping import key_text
from queuepool.models.groups import GroupLoad
from queuepool.models.places import DEFAULT_POOL, place_text
from queuepool.models.tenants import key_in

COLUMNS = (
    Column("key", left=True),
    Column("tenant", left=True, goes=2),
    Column("left"),
    Column("of", goes=3),
    Column("delayed", goes=5),
    Column("parked", goes=6),
    Column("dead", goes=4),
    Column("created", left=True),
    Column("held", left=True, goes=1),
    Column("partition", left=True, goes=7),
)


def cells(one: GroupLoad) -> list[str]:
    """Return a group as a row."""
    return [
        key_cell(key_text(key_in(one.group))),
        output.clean(one.tenant or ""),
        *(f"{n:,}" for n in (one.left, one.total, one.delayed, one.parked, one.dead)),
        distance(one.created_ms),
        "" if one.held_ms is None else distance(one.held_ms),
        place_text(one.partition, one.pool or DEFAULT_POOL),
    ]


def describe(one: GroupLoad) -> dict[str, Any]:
    """Return a group as plain data for JSON."""
    known = asdict(one)
    del known["group"]
    return {"key": key_text(key_in(one.group)), "tenant": one.tenant} | known
