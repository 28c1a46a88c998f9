"""The move of slots between partitions, as a part of other pages."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from queuepool.web.desk import Desk
from queuepool.web.drawing import words

_SOON_S, _KEEP_S = 2.0, 2.0
_STANDING = {
    "asked": "is asked for",
    "moving": "is under way",
    "aborting": "goes back",
    "ended": "has ended",
    "aborted": "was aborted",
    "refused": "was refused",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A move for people. share: of its slots that are there, from 0 to 1."""

    text: str
    under_way: bool
    share: float = 0.0
    slots: str = ""
    since_ms: int = 0
    now: str = ""
    reason: str = ""


async def latest(desk: Desk) -> Shown | None:
    """Return the move that is under way, or the last one; None if that cannot be told soon."""
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    def ask() -> Any:
        return desk.source.client.ListMoves(api.ListMovesRequest())

    try:
        answer = await asyncio.wait_for(desk.cached("moves", _KEEP_S, ask), _SOON_S)
    except Exception:  # an earlier release, or it is away: the first line of the page tells that
        return None
    return shown(answer.moves[0]) if answer.moves else None


def shown(move: Any) -> Shown:
    """Return a move for people. Pure."""
    other = f"from {move.before:,} to {move.to:,} partitions"
    where = other if move.before != move.to else "of slots to other places"
    text = f"A move {where} {_STANDING.get(move.stage, move.stage)}"
    now = ""
    if move.HasField("source") and move.HasField("dest"):
        closed = words.count(move.slots_closed)
        now = f"{closed} on their way from partition {move.source} to {move.dest}"
    return Shown(
        text=text,
        under_way=move.stage in ("asked", "moving", "aborting"),
        share=min(1.0, move.slots_moved / move.slots) if move.slots else 0.0,
        slots=f"{words.count(move.slots_moved)} of {words.count(move.slots)} slots are there",
        since_ms=move.asked_ms,
        now=now,
        reason=words.clean(move.reason, 300),
    )
