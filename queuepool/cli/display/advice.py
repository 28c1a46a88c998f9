"""Advice and loads, for people and for scripts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from queuepool.cli.display import output
from queuepool.cli.display.fields import when
from queuepool.cli.display.finding import draw
from queuepool.cli.display.tables import Column
from queuepool.errors.escaping import key_text
from queuepool.models.advice import Advice, Advised, PlaceLoad, ServerLoad
from queuepool.models.durations import format_duration
from queuepool.models.tenants import key_in, tenant_text
from queuepool.telemetry.doctor.rules.rule import size

_LONGEST = 1000  # characters of a line
PLACES = (
    Column("partition"),
    Column("server", left=True, goes=5),
    Column("busy"),
    Column("wanted"),
    Column("came/s", goes=2),
    Column("ended/s", goes=3),
    Column("waits"),
    Column("growth/min", goes=4),
)
SERVERS = (
    Column("server", left=True),
    Column("CPU", left=True),
    Column("calls/s", goes=2),
    Column("memory", left=True),
    Column("growth/min", goes=1),
)
_SHOWN = 12  # partitions, those with the most to do; --json has all


def describe(advised: Advised) -> dict[str, Any]:
    """Return advice as scripts get it."""
    loads = advised.loads
    return {
        "at_ms": advised.at_ms,
        "watched_s": round(loads.over_s, 1),
        "advice": [asdict(one) | {"kind": str(one.kind)} for one in advised.advice],
        "partitions": [_describe_place(place) for place in loads.places],
        "servers": [asdict(server) for server in loads.servers],
        "spare_servers": list(loads.spare),
        "silent_servers": dict(loads.silent),
    }


def _describe_place(place: PlaceLoad) -> dict[str, Any]:
    parts = [
        {
            "slot": part.slot,
            "group": key_text(key_in(part.group)),
            "tenant": tenant_text(part.group),
            "share": part.share,
        }
        for part in place.parts
    ]
    found = asdict(place) | {"groups": parts}
    del found["parts"], found["stuck"]
    return found


def show(advised: Advised) -> None:
    """Print advice, and then what it follows from."""
    loads = advised.loads
    for name, problem in loads.silent.items():
        output.say(
            f"{_server(name)} does not answer: no advice for its partitions (queuepool check)"
        )
        output.say(f"    {output.clean(problem, _LONGEST)}")
    if not advised.advice and (loads.servers or not loads.silent):
        output.say(f"Nothing to change, by what was seen in {_minutes(loads.over_s)}.")
    for line in (line for one in advised.advice for line in _of(one)):
        output.say(line)
    busiest = sorted(loads.places, key=lambda place: (-place.wanted, place.partition))
    if busiest:
        draw(PLACES, [_place_cells(place) for place in busiest[:_SHOWN]])
    if len(busiest) > _SHOWN:
        output.say(f"and {len(busiest) - _SHOWN} with less to do (--json has all)")
    if loads.servers:
        draw(SERVERS, [_server_cells(server) for server in loads.servers])
    for name in loads.spare:
        output.say(f"{_server(name)} has no partition")


def _server(name: str) -> str:
    return f"server {output.clean(name)}"


def _of(one: Advice) -> Iterator[str]:
    yield f"{one.kind}: {output.clean(one.subject, _LONGEST)}"
    since = "" if one.since_ms is None else f"since {when(one.since_ms)}"
    for label, text in (("", one.what), ("", since), ("", one.effect), ("run: ", one.command)):
        if text:
            yield f"    {label}{output.clean(text, _LONGEST)}"


def _place_cells(one: PlaceLoad) -> list[str]:
    return [
        str(one.partition),
        output.clean(one.server),
        f"{one.busy:.1f} of {one.workers}",
        f"{one.wanted:,.1f}",
        f"{one.came:,.1f}",
        f"{one.ended:,.1f}",
        format_duration(round(one.wait_s)),
        _growth(one.growth),
    ]


def _server_cells(one: ServerLoad) -> list[str]:
    limit = f" of {size(one.limit)}" if one.limit else ""
    return [
        output.clean(one.name),
        "" if one.cpu is None else f"{one.cpu:.0%} of a core",
        f"{one.calls:,.0f}",
        f"{size(one.used)}{limit}",
        _growth(one.growth),
    ]


def _growth(per_s: float) -> str:
    sign = "-" if per_s < 0 else "+"
    return f"{sign}{size(round(abs(per_s) * 60))}"


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
