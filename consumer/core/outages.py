"""Which servers were away just now, where owners may live whose leases are over. Pure.

    answers --no reply, or a late one--> away --a reply--> back --for one lease--> answers

While a server is away its owners cannot renew. So after an outage, also one that ended within a
call, any lease may be over although its owner lives, and the server tells nothing of that. What one
part of a process learns holds for all of them. A process may also have missed the outage: it made
no call, or did not live yet.

Invariants: a process replaces no owner on a server that it knows to be away, nor until that server
has answered again for one lease, in which living owners renew. And none whose lease it finds over
at its first look, until it has seen for half a lease that the owner does not renew.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from consumer.core.effects import Call
from queuepool.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from consumer.core.effects import Steps
    from queuepool.servers import Reply
    from queuepool.verbs import Verb

_RENEW_S = 2.0  # an owner tries again after at most 1.5 s
_LATE_S = 1.0  # at least; a reply is late after half a lease


class _Seen(Struct):
    """An ownership, since when its lease is seen to be over, and whether it was seen to run."""

    epoch: int
    since_s: float
    ran: bool


class Outages:
    """What the calls of one process tell. server_of: the server of a partition."""

    def __init__(
        self,
        lease_s: float,
        clock: Callable[[], float],
        server_of: Callable[[int], object] = lambda _: None,
    ) -> None:
        self._quiet_s, self._late_s = max(lease_s, _RENEW_S), max(lease_s / 2, _LATE_S)
        self._watch_s = max(lease_s / 2, _RENEW_S)
        self._clock, self.server_of = clock, server_of
        self._until_s: dict[object, float] = {}
        self._seen: dict[int, _Seen] = {}

    def call(self, partition: int, verbs: Sequence[Verb[Any]]) -> Steps[Sequence[Reply]]:
        """Run verbs on a partition; return the replies. Raises what the call raises."""
        server, sent_s = self.server_of(partition), self._clock()
        try:
            replies: Sequence[Reply] = yield Call(partition, verbs)
        except UnavailableError as error:
            self.note(server, sent_s, [error])
            raise
        self.note(server, sent_s, replies)
        return replies

    def note(self, server: object, sent_s: float, replies: Sequence[Reply]) -> None:
        """Learn from replies of a server that came now."""
        if any(isinstance(reply, UnavailableError) for reply in replies):
            self._until_s[server] = inf  # or it cannot write, for example
            return
        now_s = self._clock()
        if now_s - sent_s > self._late_s or self._until_s.get(server) == inf:
            self._until_s[server] = now_s + self._quiet_s

    def wait_s(self, partition: int) -> float:
        """Return for how long no owner there may be replaced; inf while its server is away."""
        until_s = self._until_s.get(self.server_of(partition))
        return 0.0 if until_s is None else max(0.0, until_s - self._clock())

    def may_replace(self, partition: int, epoch: int, *, runs: bool) -> bool:
        """Note whether the lease of an ownership runs; return whether it may be replaced."""
        now_s, seen = self._clock(), self._seen.get(partition)
        if seen is None or seen.epoch != epoch or runs:
            seen = self._seen[partition] = _Seen(epoch, now_s, runs)
        if runs or self.wait_s(partition) > 0:
            return False
        return seen.ran or now_s - seen.since_s >= self._watch_s

    def forget(self, partition: int) -> None:
        """Note that there is no reason to watch a partition: its lease runs, or it has no work."""
        self._seen.pop(partition, None)
