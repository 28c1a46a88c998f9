"""Batches for people: as rows of a list, and as a tree; and the steps of a flow."""

from __future__ import annotations

import time
from collections.abc import Iterator

from queuepool.cli.display.fields import when
from queuepool.cli.display.output import clean
from queuepool.cli.display.tables import Column
from queuepool.models.durations import format_duration
from queuepool.models.flows import (
    BatchLine,
    BatchState,
    BatchStatus,
    BatchTree,
    FlowStatus,
    StepStatus,
)

COLUMNS = (
    Column("batch", left=True),
    Column("continuation", left=True, goes=2),
    Column("state", left=True),
    Column("jobs"),
    Column("done"),
    Column("dead"),
    Column("lost"),
    Column("deadline", goes=1),
)
STEPS = (
    Column("step", left=True),
    Column("state", left=True),
    Column("jobs"),
    Column("done"),
    Column("dead"),
    Column("lost"),  # as in the list: why a flow fails is never dropped
    Column("after", left=True, goes=1),
    Column("deadline", goes=2),
    Column("batch", left=True, goes=3),
)
_DEEPEST = 20


def cells(line: BatchLine) -> list[str]:
    """Return a batch as a row of the list."""
    waits = line.state is BatchState.OPEN and not line.part
    deadline = _until(line.deadline_ms) if waits else ""
    counts = [f"{count:,}" for count in (line.total, line.done, line.dead, line.lost)]
    called = f"flow {clean(line.called)}" if line.part else clean(line.called)
    return [clean(line.name), called, str(line.state), *counts, deadline]


def flow_line(status: FlowStatus) -> str:
    """Return what is said of a flow above its steps."""
    line = f"{clean(status.called)}  {status.state}  {clean(status.name)}"
    if status.ended_ms:
        line += f"  since {when(status.ended_ms)}"
    return line if status.enqueued else line + "  enqueued in part: repeat it with the same id"


def step_cells(step: StepStatus) -> list[str]:
    """Return a step of a flow as a row."""
    counts = [f"{count:,}" for count in (step.total, step.done, step.dead, step.lost)]
    after = ", ".join(map(clean, step.after))
    deadline = "" if step.deadline_ms is None else _until(step.deadline_ms)
    return [clean(step.name), str(step.state), *counts, after, deadline, clean(step.batch)]


def _until(deadline_ms: int) -> str:
    return f"in {format_duration(max(0.0, deadline_ms / 1000 - time.time()))}"


def tree_lines(tree: BatchTree, depth: int = 0) -> Iterator[str]:
    """Yield a batch and those in it, a few lines each."""
    indent, status = "  " * depth, tree.status
    yield f"{indent}{clean(status.name)}  {status.state}  then {clean(status.called)}"
    yield f"{indent}  {_counts(status)}"
    if status.state is BatchState.OPEN:
        yield f"{indent}  {_waits(status)}"
    elif status.ended_ms:
        why = ", by its deadline" if status.by_deadline else ""
        yield f"{indent}  concluded {when(status.ended_ms)}{why}"
    if depth < _DEEPEST:
        for inner in tree.inner:
            yield from tree_lines(inner, depth + 1)


def _counts(status: BatchStatus) -> str:
    if not status.sealed:
        ended = status.done + status.dead + status.lost
        return f"still being enqueued; {ended:,} jobs have ended"
    parts = [f"{status.done:,} of {status.total:,} jobs done"]
    parts += [f"{n:,} {name}" for n, name in ((status.dead, "dead"), (status.lost, "lost")) if n]
    return ", ".join([*parts, f"{status.left:,} left"])


def _waits(status: BatchStatus) -> str:
    then = "dies" if status.on_deadline == "fail" else "runs with the results so far"
    held = ""
    if status.on_failure == "wait" and status.dead:
        held = "; it waits until the dead jobs are replayed or discarded"
    return f"deadline {when(status.deadline_ms)}, when its continuation {then}{held}"
