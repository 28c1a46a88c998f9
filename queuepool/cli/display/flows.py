"""Batches for people: as rows of a list, and as a tree."""

from __future__ import annotations

import time
from collections.abc import Iterator

from queuepool.cli.display.fields import when
from queuepool.cli.display.output import clean
from queuepool.cli.display.tables import Column
from queuepool.models.durations import format_duration
from queuepool.models.flows import BatchLine, BatchState, BatchStatus, BatchTree

COLUMNS = (
    Column("batch", left=True),
    Column("continuation", left=True, goes=2),
    Column("state", left=True),
    Column("jobs"),
    Column("done"),
    Column("dead"),
    Column("lost", goes=3),
    Column("deadline", goes=1),
)
_DEEPEST = 20


def cells(line: BatchLine) -> list[str]:
    """Return a batch as a row of the list."""
    left_s = max(0.0, line.deadline_ms / 1000 - time.time())
    deadline = f"in {format_duration(left_s)}" if line.state is BatchState.OPEN else ""
    counts = [f"{count:,}" for count in (line.total, line.done, line.dead, line.lost)]
    return [clean(line.name), clean(line.called), str(line.state), *counts, deadline]


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
    then = "dies" if status.on_deadline == "fail" else "runs with what there is"
    held = ""
    if status.on_failure == "wait" and status.dead:
        held = "; it waits until the dead are replayed or discarded"
    return f"deadline {when(status.deadline_ms)}, when its continuation {then}{held}"
