"""When a standby may replace an owner before its lease ends. Pure.

    acquired --the first renewal, ahead of the first claim--> listed
    listed --its connection is closed--> cut --still, and no renewal, for a grace--> gone
       ^                                  |   `--its process is known to have ended--> gone
       `--a renewal, another connection --'

A kernel closes the connections of a process that ends; so a closed connection is the first sign of
a crash. It proves nothing, since a network can do the same to a process that lives: that has the
grace to connect again and to renew. What hangs, or is cut off without a sign, keeps its lease.

Invariants: no owner that renewed within the grace is replaced, as the script compares what the
standby saw last. Nobody is replaced whose connection another run of the server had, as after a
restart or a failover. An owner whose connection was cut starts nothing after CUT_STARTS_S, so that
what it had claimed is not started twice. No job runs under an ownership whose lifeline could be
reported and was not: the bell is open before the first turn, which renews before it claims. So a
job that kills its process at once blocks nothing; only an owner that dies within the milliseconds
from `acquire` to that turn keeps its lease.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from queuepool.verbs.owner.lifeline import namespace_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from queuepool.verbs.owner.replies import Held

GRACE_S = 1.4
CUT_STARTS_S = 1.0  # less than the grace


class _Cut(Struct):
    epoch: int
    heartbeat_ms: int
    since_s: float


class Lifelines:
    """What one standby saw of owners.

    has_ended: whether a host and pid, and the namespace of the pid, surely are no process.
    """

    def __init__(self, has_ended: Callable[[str, str], bool] = lambda *_: False) -> None:
        self._has_ended = has_ended
        self._cuts: dict[int, _Cut] = {}

    def on_look(self, partition: int, held: Held, now_s: float, *, cut: bool) -> float:
        """Return in how many seconds the owner may be replaced, if nothing changes; -1: unknown.

        cut: whether its connection is surely closed.
        """
        if not cut:
            self._cuts.pop(partition, None)
            return -1.0
        seen = self._cuts.get(partition)
        if seen is None or (seen.epoch, seen.heartbeat_ms) != (held.epoch, held.heartbeat_ms):
            seen = self._cuts[partition] = _Cut(held.epoch, held.heartbeat_ms, now_s)
        ended = self._has_ended(held.host, namespace_of(held.lifeline))
        grace_s = 0.0 if ended else GRACE_S
        return max(0.0, grace_s - (now_s - seen.since_s))

    def forget(self, partition: int) -> None:
        """Start over with a partition whose server was away."""
        self._cuts.pop(partition, None)
