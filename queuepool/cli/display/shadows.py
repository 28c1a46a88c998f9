"""How a candidate compares with the live policy, as lines. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queuepool.models.durations import format_duration

_HEAD = ("", "worker hours", "mean wait", "p50", "p99", "changes")


def compared(found: Mapping[str, Any]) -> list[str]:
    """Return a small table. found: of a comparison, with `live` and `candidate`."""
    live, candidate = found["live"], found["candidate"]
    rows = [_HEAD, _row("as it was", live), _row(found["policy"], candidate)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    lines = ["  ".join(_cell(row, i, widths[i]) for i in range(len(row))) for row in rows]
    return [*(line.rstrip() for line in lines), _sentence(found, live, candidate)]


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
        f"{found['policy']} would have cost {_times(live, candidate)} of what there was, over "
        f"{format_duration(found['seconds'])} and {found['jobs']:,.0f} jobs. Both rows are of the "
        "same model."
    )


def _times(live: Any, candidate: Any) -> str:
    return f"{candidate['worker_s'] / live['worker_s']:.0%}" if live["worker_s"] else "-"


def _row(name: str, side: Mapping[str, Any]) -> tuple[str, ...]:
    waits = (f"{side[key]:,.1f} s" for key in ("wait_mean_s", "wait_p50_s", "wait_p99_s"))
    return (name, f"{side['worker_s'] / 3600:,.2f}", *waits, f"{side['changes']:,}")


def _cell(row: tuple[str, ...], index: int, width: int) -> str:
    return row[index].rjust(width) if index else row[index].ljust(width)
