"""The table of partitions, for `status`, `watch` and `demo`."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from queuepool.cli import output
from queuepool.cli.durations import format_duration
from queuepool.cli.view import ClusterView, PartitionRow, sparkline

if TYPE_CHECKING:
    from rich.console import Group

_HISTORY = 240
_SPARK = 24
_WIDE = 112  # characters that the whole table takes without sparklines
_SPARE = frozenset(("epoch", "delayed", "oldest"))


class Board:
    """Draws views, and remembers the worker counts of the last ones for sparklines."""

    def __init__(self) -> None:
        self._workers: dict[int, deque[float]] = {}

    def note(self, view: ClusterView) -> None:
        """Remember what a view says of workers."""
        for row in view.rows:
            history = self._workers.setdefault(row.partition, deque(maxlen=_HISTORY))
            history.append(float(row.workers))

    def draw(self, view: ClusterView, *, sparks: bool, width: int) -> Group:
        """Return the table, the totals and who leads; what does not fit the width is left out."""
        from rich.console import Group
        from rich.text import Text

        wanted = _WIDE + _SPARK if sparks else _WIDE
        kept = [i for i, (name, _) in enumerate(COLUMNS) if width >= wanted or name not in _SPARE]
        columns = [COLUMNS[i][0] for i in kept]
        rows: list[list[Any]] = [[COLUMNS[i][1](row) for i in kept] for row in view.rows]
        if sparks:
            columns.append("workers over time")
            top = max((max(h) for h in self._workers.values()), default=1.0)
            for line, row in zip(rows, view.rows, strict=True):
                history = list(self._workers.get(row.partition, ()))
                spark = sparkline(_thinned(history), _SPARK, top).rjust(_SPARK)
                line.append(Text(spark, style="cyan"))
        totals = _totals(view)
        last = [totals[i] for i in kept] + [""] * (len(columns) - len(kept))
        rows.append([Text(cell, style="bold") for cell in last])
        problems = [
            Text(f"partition {row.partition}: {output.clean(row.problem)}", style="red")
            for row in view.rows
            if row.problem
        ]
        return Group(output.table(columns, rows, left=2), *problems, _leader(view))


def _owner(row: PartitionRow) -> Any:
    from rich.text import Text

    if not row.owner:
        return Text("nobody", style="red")
    overdue = "" if row.owned else " (silent)"
    return Text(output.clean(row.owner, 28) + overdue, style="red" if overdue else "")


def _workers(row: PartitionRow) -> str:
    if row.manual_until_ms:
        left_s = row.manual_until_ms / 1000 - time.time()
        return f"{row.workers}/{row.target} by hand {format_duration(left_s)}"
    return f"{row.workers}/{row.target}"


def _rate(per_s: float | None) -> str:
    return "-" if per_s is None else f"{per_s:,.0f}/s"


COLUMNS: tuple[tuple[str, Callable[[PartitionRow], Any]], ...] = (
    ("partition", lambda row: str(row.partition)),
    ("owner", _owner),
    ("epoch", lambda row: str(row.epoch or "-")),
    ("backlog", lambda row: f"{row.backlog:,}"),
    ("PWQD", lambda row: f"{row.pwqd:,.1f}"),
    ("workers", _workers),
    ("busy", lambda row: str(row.busy)),
    ("oldest", lambda row: format_duration(row.oldest_s) if row.oldest_s else "-"),
    ("throughput", lambda row: _rate(row.per_s)),
    ("delayed", lambda row: f"{row.delayed:,}"),
    ("dead", lambda row: f"{row.dead:,}"),
)


def _totals(view: ClusterView) -> list[str]:
    known = [row.per_s for row in view.rows if row.per_s is not None]
    backlog, workers = view.total("backlog"), view.total("workers")
    return [
        "all",
        f"{sum(row.owned for row in view.rows)} of {len(view.rows)} owned",
        "",
        f"{backlog:,}",
        f"{backlog / max(workers, 1):,.1f}",
        f"{workers}/{view.total('target')}",
        f"{view.total('busy')}",
        format_duration(max((row.oldest_s for row in view.rows), default=0.0)),
        _rate(sum(known) if known else None),
        f"{view.total('delayed'):,}",
        f"{view.total('dead'):,}",
    ]


def _leader(view: ClusterView) -> Any:
    from rich.text import Text

    if view.leader:
        text = f"led by {output.clean(view.leader)}, epoch {view.leader_epoch}"
        return Text(f"{text} (seen through: {view.source})", style="dim")
    return Text(
        "no coordinator leads: jobs run, worker counts stay as they are (`queuepool coordinator`)",
        style="yellow",
    )


def plain_line(view: ClusterView) -> str:
    """Return one line for a log: totals, and each partition's backlog and workers."""
    parts = " ".join(
        f"p{row.partition}:{row.backlog}/{row.workers}w{'' if row.owned else '!'}"
        for row in view.rows
    )
    rates = [row.per_s for row in view.rows if row.per_s is not None]
    rate = f" {sum(rates):,.0f}/s" if rates else ""
    return (
        f"backlog {view.total('backlog'):,} workers {view.total('workers')}/{view.total('target')} "
        f"busy {view.total('busy')}{rate} | {parts}"
    )


def _thinned(history: list[float]) -> list[float]:
    """Return at most _SPARK values over the whole history: the largest of each stretch."""
    stretch = -(-len(history) // _SPARK) or 1
    return [max(history[i : i + stretch]) for i in range(0, len(history), stretch)]
