"""Moves of slots as messages of the API. Pure."""

from __future__ import annotations

from queuepool.routing.progress import Facts
from queuepool.rpc.jobs import number, text
from queuepool.rpc.v1 import move_pb2


def messages_of(facts: Facts) -> list[move_pb2.Move]:
    """Return the move; none when there never was one. Raises ConfigurationError: it is damaged."""
    move, (done, total) = facts.move, facts.progress
    if move is None:
        return []
    is_on_its_way = move.under_way and move.source >= 0
    return [
        move_pb2.Move(
            stage=str(move.stage),
            before=number(move.before),
            to=number(move.partitions),
            reason=text(move.reason),
            asked_ms=number(move.at_ms),
            slots_moved=done,
            slots=total,
            slots_closed=facts.on_their_way if is_on_its_way else 0,
            source=number(move.source) if is_on_its_way else None,
            dest=number(move.dest) if is_on_its_way else None,
        )
    ]
