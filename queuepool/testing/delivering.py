"""Deliveries of outboxes, as the scripts of these names treat them."""

from __future__ import annotations

from typing import Any

from queuepool.testing.data import PartitionData
from queuepool.testing.keyspace import Args
from queuepool.testing.producing import enqueue


def relay(p: PartitionData, args: Args) -> Any:
    """Enqueue a delivery of an outbox, once."""
    name, number, keep_ms = args[0], int(args[1]), int(args[2])
    newest, until = p.outboxes.get(name, (0, 0))
    if until > p.now and newest >= number:
        return [b"KNOWN", newest]
    reply = enqueue(p, args[3:])
    if not (isinstance(reply, list) and reply[0] in (b"FULL", b"REFUSED", b"MOVED")):
        p.outboxes[name] = (number, p.now + keep_ms)
    return reply


def relayed(p: PartitionData, args: Args) -> Any:
    """Return whether a delivery was enqueued here, or a later one."""
    newest, until = p.outboxes.get(args[0], (0, 0))
    return int(until > p.now and newest >= int(args[1]))
