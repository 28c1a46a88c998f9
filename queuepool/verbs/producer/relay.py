"""The verbs by which a relay moves jobs from an outbox to a partition. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from queuepool.verbs import Verb
from queuepool.verbs.producer.verbs import Full, Settled, read_enqueue

REMEMBERED_MS = 400 * 86_400_000  # a delivery; a relay that was away for longer may repeat one


@dataclass(frozen=True, slots=True)
class Known:
    """Nothing was enqueued: that delivery was before, or a later one. newest: its number."""

    newest: int


def relay(
    outbox: str, number: int, enqueue: Verb[Settled | Full], /
) -> Verb[Settled | Full | Known]:
    """Enqueue by this call, once. number: of the delivery; later ones have higher numbers."""

    def read(reply: Any) -> Settled | Full | Known:
        if isinstance(reply, list) and reply[0] == b"KNOWN":
            return Known(int(reply[1]))
        return read_enqueue(reply)

    return Verb("relay", [outbox, number, REMEMBERED_MS, *enqueue.args], read)


def relayed(outbox: str, number: int) -> Verb[bool]:
    """Return whether a delivery was enqueued in this partition, or a later one of it."""
    return Verb("relayed", [outbox, number], bool)
