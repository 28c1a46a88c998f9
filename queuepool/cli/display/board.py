"""The table of partitions, for `status`, `watch` and `demo`."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from queuepool.cli.display import output, tables
from queuepool.cli.display.shadows import in_short
from queuepool.cli.display.tables import Column
from queuepool.cli.display.view import ClusterView, PartitionRow, sparkline
from queuepool.errors.escaping import shown
from queuepool.models import Eta
from queuepool.models.durations import format_duration, range_of

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

_HISTORY = 240
_SPARK, _NARROW_SPARK = 24, 17  # characters; the minimum is that of its header
_WIDE = 136  # characters that the whole table usually takes
_REASON = 100  # characters of a problem in a line for a log
_OVER_TIME = "workers over time"


class Board:
    """Draws views, and remembers the worker counts of the last ones for sparklines."""

    def __init__(self) -> None:
        self._workers: dict[str, deque[float]] = {}

    def note(self, view: ClusterView) -> None:
        """Remember the worker counts of a view."""
        for row in view.rows:
            history = self._workers.setdefault(row.name, deque(maxlen=_HISTORY))
            history.append(float(row.workers))

    def draw(self, view: ClusterView, *, sparks: bool, width: int) -> Group:
        """Return the table, the totals and the leader, without columns that do not fit."""
        from rich.console import Group

        problems = [
            output.styled(f"partition {row.name}: {output.clean(row.cause)}", "red")
            for row in view.rows
            if row.problem
        ]
        waiting = _waiting(view)
        table = self._table(view, sparks=sparks, width=width)
        if view.eta is not None and view.eta.high_s > 0:
            waiting.append(output.styled(_ends(view, view.eta)))
        shadow = [] if view.shadow is None else [output.styled(in_short(view.shadow), "dim")]
        return Group(*table, *problems, *waiting, *shadow, _leader(view))

    def _table(self, view: ClusterView, *, sparks: bool, width: int) -> list[Text]:
        """Return the lines of the table; a name of an owner that does not fit becomes a word."""
        spark = (_SPARK if width >= _WIDE else _NARROW_SPARK) if sparks else 0
        columns, rows = self._cells(view, spark, without="owned")
        kept = tables.chosen(columns, tables.widths_of(columns, rows), width)
        if kept is None or columns[kept[1]].name != "owner":
            columns, rows = self._cells(view, spark, without="owner")
        return tables.draw(columns, rows, width)

    def _cells(
        self, view: ClusterView, spark: int, *, without: str
    ) -> tuple[list[Column], list[list[Text]]]:
        totals = _totals(view)
        fields = [field for field in FIELDS if field[0].name != without]
        columns = [column for column, _ in fields]
        rows = [[_as_text(cell(row)) for _, cell in fields] for row in view.rows]
        rows.append([output.styled(totals[column.name], "bold") for column in columns])
        if spark:
            columns.append(Column(_OVER_TIME, goes=3))
            for line, bars in zip(rows, [*self._sparks(view, spark), ""], strict=True):
                line.append(output.styled(bars, "cyan"))
        return columns, rows

    def _sparks(self, view: ClusterView, width: int) -> list[str]:
        top = max((max(h) for h in self._workers.values()), default=1.0)
        histories = [list(self._workers.get(row.name, ())) for row in view.rows]
        return [sparkline(_thinned(h, width), width, top) for h in histories]


def _as_text(cell: Any) -> Text:
    return output.styled(cell) if isinstance(cell, str) else cell


def _owner(row: PartitionRow) -> Any:
    if not row.owner:
        return output.styled("nobody", "red")
    overdue = "" if row.owned else " (silent)"
    return output.styled(output.clean(row.owner) + overdue, "red" if overdue else "")


def _owned(row: PartitionRow) -> Any:
    if row.owned:
        return "yes"
    return output.styled("silent" if row.owner else "nobody", "red")


def _workers(row: PartitionRow) -> str:
    if row.manual_until_ms:
        left_s = row.manual_until_ms / 1000 - time.time()
        return f"{row.workers}/{row.target} manual {format_duration(left_s)}"
    return f"{row.workers}/{row.target}"


def _rate(per_s: float | None) -> str:
    return "-" if per_s is None else f"{per_s:,.0f}/s"


FIELDS: tuple[tuple[Column, Callable[[PartitionRow], Any]], ...] = (
    (Column("partition", left=True), lambda row: row.name),
    (Column("owner", left=True, goes=5), _owner),
    (Column("owned", left=True), _owned),
    (Column("epoch", goes=9), lambda row: str(row.epoch or "-")),
    (Column("backlog"), lambda row: f"{row.backlog:,}"),
    (Column("PWQD", goes=7), lambda row: f"{row.pwqd:,.1f}"),
    (Column("workers"), _workers),
    (Column("busy", goes=6), lambda row: str(row.busy)),
    (Column("oldest", goes=4), lambda row: format_duration(row.oldest_s) if row.oldest_s else "-"),
    (Column("throughput", goes=2), lambda row: _rate(row.per_s)),
    (Column("delayed", goes=8), lambda row: f"{row.delayed:,}"),
    (Column("dead"), lambda row: f"{row.dead:,}"),
)


def _totals(view: ClusterView) -> dict[str, str]:
    known = [row.per_s for row in view.rows if row.per_s is not None]
    backlog, workers = view.total("backlog"), view.total("workers")
    owned = f"{sum(row.owned for row in view.rows)} of {len(view.rows)}"
    return {
        "partition": "all",
        "owner": f"{owned} owned",
        "owned": owned,
        "epoch": "",
        "backlog": f"{backlog:,}",
        "PWQD": f"{backlog / max(workers, 1):,.1f}",
        "workers": f"{workers}/{view.total('target')}",
        "busy": f"{view.total('busy')}",
        "oldest": format_duration(max((row.oldest_s for row in view.rows), default=0.0)),
        "throughput": _rate(sum(known) if known else None),
        "delayed": f"{view.total('delayed'):,}",
        "dead": f"{view.total('dead'):,}",
    }


def _leader(view: ClusterView) -> Any:
    if view.leader:
        text = f"led by {output.clean(view.leader)}, epoch {view.leader_epoch}"
        return output.styled(f"{text} (source: {view.source})", "dim")
    if not view.leader_known:
        return output.styled("the leader is unknown: its server does not answer", "yellow")
    return output.styled(
        "no coordinator leads: jobs run, worker counts stay the same (`queuepool coordinator`)",
        "yellow",
    )


def unknown(jobs: int, tasks: Sequence[str]) -> str:
    """Return the message about jobs that wait for unknown tasks."""
    return (
        f"{jobs:,} jobs wait for a consumer with their task ({_some(tasks)}): deploy it, pass "
        "its module with --app, or cancel them"
    )


def draining(row: PartitionRow) -> str:
    """Return the message about consumers that end."""
    who = "a consumer drains" if row.draining == 1 else f"{row.draining:,} consumers drain"
    owned = "" if row.owned else "; nobody has taken over yet"
    return f"{who}: running jobs end, others start elsewhere{owned}"


def held(row: PartitionRow) -> str:
    """Return the message about what is held in a partition, with the remedy."""
    jobs = f"{row.held:,} jobs wait"
    if row.held_ms:
        return f"held: {jobs}; start them with `queuepool release partition {row.name}`"
    if row.held_tasks:
        some = f"{row.held:,} jobs wait; " if row.held else ""
        remedy = "start them with `queuepool release task NAME`"
        return f"tasks are held ({_some(row.held_tasks)}): {some}{remedy}"
    remedy = "`queuepool release group KEY`, or `queuepool tenant release NAME`"
    return f"{jobs} in groups or of tenants that are held; start them with {remedy}"


def _some(tasks: Sequence[str]) -> str:
    """Return the names of at most five tasks."""
    named = ", ".join(output.clean(shown(task)) for task in tasks[:5])
    return named + (", ..." if len(tasks) > 5 else "")


def without_consumer(row: PartitionRow) -> str:
    """Return the message about a pool that no consumer runs."""
    return (
        f"jobs wait, but no consumer runs pool {row.pool}: start one with `--pools "
        f"{row.pool}=SIZE`, beside other pools or alone"
    )


def plain_line(view: ClusterView) -> str:
    """Return one line for a log: totals, each partition's backlog and workers, and what is wrong.

    p0:5/8w! has no owner; p0:0/0w? could not be read, so that its numbers are old or missing.
    """
    parts = " ".join(f"p{row.name}:{row.backlog}/{row.workers}w{_mark(row)}" for row in view.rows)
    rates = [row.per_s for row in view.rows if row.per_s is not None and not row.problem]
    rate = f" {sum(rates):,.0f}/s" if rates else ""
    problem = next((row.cause for row in view.rows if row.problem), "")
    wrong = f" | {output.clean(problem, _REASON)}" if problem else ""
    wrong += " | no leader" if not view.leader and view.leader_known else ""
    return (
        f"backlog {view.total('backlog'):,} workers {view.total('workers')}/{view.total('target')} "
        f"busy {view.total('busy')}{rate} | {parts}{wrong}"
    )


def _mark(row: PartitionRow) -> str:
    if row.problem:
        return "?"
    return "" if row.owned else "!"


def _thinned(history: list[float], width: int) -> list[float]:
    """Return at most `width` values for the whole history: the maximum of each interval."""
    stretch = -(-len(history) // width) or 1
    return [max(history[i : i + stretch]) for i in range(0, len(history), stretch)]


def _waiting(view: ClusterView) -> list[Text]:
    """Return a line for each reason for which jobs of a partition wait, by reason."""
    by_row = [(row, reasons_of(row)) for row in view.rows]
    return [
        output.styled(f"partition {row.name}: {reasons[number]}", "yellow")
        for number in range(5)
        for row, reasons in by_row
        if reasons[number]
    ]


def _ends(view: ClusterView, eta: Eta) -> str:
    """Return when the jobs of the estimate end, and which are not in it."""
    reasons = {"limits": "parked", "others of their group": "capped"}
    found = [what for what, name in reasons.items() if view.total(name)]
    but = f", except those that wait for {' or '.join(found)}" if found else ""
    return f"the current jobs will have ended {range_of(eta)}{but}"


def reasons_of(row: PartitionRow) -> tuple[str, str, str, str, str]:
    """Return why jobs of a partition wait: a message for each reason that there may be, or ""."""
    limits = f"{row.parked:,} jobs wait for their limits; `queuepool limit list` shows these"
    return (
        unknown(row.set_aside, row.unknown_tasks) if row.set_aside else "",
        draining(row) if row.draining else "",
        held(row) if row.held or row.held_ms or row.held_tasks else "",
        limits if row.parked else "",
        without_consumer(row) if row.without_consumer else "",
    )
