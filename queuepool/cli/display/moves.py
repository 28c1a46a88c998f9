"""Moves of slots, for people and for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queuepool.cli.display import output
from queuepool.cli.inspection.moving import Line
from queuepool.routing.moves import Stage
from queuepool.routing.progress import Facts

_OVER = {
    Stage.ENDED: "the last move, {text}, has ended",
    Stage.ABORTED: "the last move was aborted",
    Stage.REFUSED: "the last move, {text}, was refused",
}


def describe(facts: Facts) -> dict[str, Any]:
    """Return the move as scripts get it."""
    move, (done, total) = facts.move, facts.progress
    found: dict[str, Any] = {
        "partitions": len(facts.view.placement),
        "version": facts.record.version,
        "stage": "none" if move is None else str(move.stage),
    }
    if move is not None:
        found |= {"before": move.before, "to": move.partitions, "reason": move.reason}
        found |= {"servers": {str(n): name for n, name in move.to.items()}} if move.to else {}
        found |= {"slot_goals": {str(n): at for n, at in move.slots.items()}} if move.slots else {}
    if facts.under_way is not None:
        found |= {"slots_moved": done, "slots": total, "slots_closed": facts.on_their_way}
    return found


def sentence(facts: Facts) -> str:
    """Return the move in one line."""
    count, move = len(facts.view.placement), facts.move
    if move is None:
        return f"{_count(count)}; no slot ever moved"
    if not move.under_way:
        said = _OVER[move.stage].format(text=move.text)
        why = f": {output.clean(move.reason)}" if move.reason else ""
        return f"{_count(count)}; {said}{why}"
    done, total = facts.progress
    if move.stage is Stage.ASKED:
        return f"a move {move.text} has been requested"
    what = "reverting the move" if move.stage is Stage.ABORTING else "moving"
    parts = [
        f"{what} {move.wanted.removeprefix('of ')}",
        f"{done:,} of {total:,} slots have arrived",
    ]
    if move.source >= 0:
        closed = facts.on_their_way
        parts.append(f"{closed:,} moving from {move.source} to {move.dest}")
    if move.reason:
        parts.append(output.clean(move.reason))
    return ", ".join(parts)


def table(lines: Sequence[Line]) -> list[str]:
    """Return the partitions as lines."""
    width = max(6, *(len(line.server) for line in lines)) if lines else 6
    rows = [f"partition  {'server':<{width}}  slots  to be  {'jobs':>11}  owner"]
    for line in lines:
        state = line.state
        jobs = "?" if state is None else f"{state.jobs:,}"
        owner = "does not answer" if state is None else "-"
        if state is not None and state.owner is not None and state.owner.lease_ms > 0:
            owner = output.clean(state.owner.host, 40)
        rows.append(
            f"{line.number:>9}  {line.server:<{width}}  {line.slots:>5}  {line.goal:>5}  "
            f"{jobs:>11}  {owner}"
        )
    return rows


def _count(partitions: int) -> str:
    return "1 partition" if partitions == 1 else f"{partitions:,} partitions"
