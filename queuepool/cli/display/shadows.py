"""How a candidate compares with the live policy, as lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queuepool.cli.display.tables import Column, draw
from queuepool.models.durations import format_duration

_COLUMNS = (
    Column("policy", left=True),
    Column("worker hours"),
    Column("mean wait", goes=2),
    Column("p50", goes=1),
    Column("p99"),
    Column("changes"),
)


def compared(found: Mapping[str, Any], width: int) -> list[str]:
    """Return a small table. found: of a comparison, with `live` and `candidate`."""
    live, candidate = found["live"], found["candidate"]
    rows = [_row("as it was", live), _row(found["policy"], candidate)]
    lines = [line.plain for line in draw(_COLUMNS, rows, width)]
    return [*lines, _sentence(found, live, candidate)]


def in_short(found: Mapping[str, Any]) -> str:
    """Return the same as one line for a status."""
    live, candidate = found["live"], found["candidate"]
    return (
        f"shadow {found['policy']}: {_times(live, candidate)} of the cost, p99 wait "
        f"{candidate['wait_p99_s']:.1f} s instead of {live['wait_p99_s']:.1f} s, over "
        f"{format_duration(found['seconds'])}"
    )


def _sentence(found: Mapping[str, Any], live: Any, candidate: Any) -> str:
    return (
        f"{found['policy']} would have cost {_times(live, candidate)} of the actual cost, over "
        f"{format_duration(found['seconds'])} and {found['jobs']:,.0f} jobs. Both rows come from "
        f"the same model."
    )


def _times(live: Any, candidate: Any) -> str:
    return f"{candidate['worker_s'] / live['worker_s']:.0%}" if live["worker_s"] else "-"


def _row(name: str, side: Mapping[str, Any]) -> tuple[str, ...]:
    waits = (f"{side[key]:,.1f} s" for key in ("wait_mean_s", "wait_p50_s", "wait_p99_s"))
    return (name, f"{side['worker_s'] / 3600:,.2f}", *waits, f"{side['changes']:,}")
