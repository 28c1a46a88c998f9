"""Who leads. At most one coordinator decides at a time, and a late one is rejected.

    standby --lead--> leader, epoch e --lead (renews)--> leader, e --resign--> no one
       ^                        |
       +-- lease over, or another epoch ------------------+

Two things keep an old leader from doing harm. By its own clock, it stops before its lease can have
ended on the server. And everything it sent before carries its epoch: the first command of a new
leader in each partition's stream is `<epoch>-0 NOOP`, and the stream rejects anything below it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import replace

from coordinator.core.model import LeaseStatus
from queuepool.errors import QueuePoolError
from queuepool.models import Leader
from queuepool.servers import Port
from queuepool.verbs.leader import verbs as lead

# On the server, the lease begins when it gets our call; for us, before we send it. The unused share
# covers clocks of different speeds.
_SHARE_USED = 0.9


class Leadership:
    """One process's claim to lead. Used by one thread."""

    def __init__(
        self,
        server: Port,
        key: bytes,
        *,
        lease_s: float,
        address: str = "",
        nonce: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._server, self._key, self._clock = server, key, clock
        self._lease_s, self._nonce = lease_s, nonce or secrets.token_hex(8)
        self.address = address
        self._known: Leader | None = None
        self._until_s = 0.0

    @property
    def epoch(self) -> int:
        """Return the epoch of the last known leader; 0 if none is known."""
        return self._known.epoch if self._known is not None else 0

    def leads(self) -> bool:
        """Return whether this process may decide right now, by its own clock."""
        known = self._known
        return known is not None and known.leading and self._clock() < self._until_s

    def leading_epoch(self) -> int:
        """Return the epoch under which this process may decide right now, 0 if it may not.

        For any thread.
        """
        known = self._known
        leads = known is not None and known.leading and self._clock() < self._until_s
        return known.epoch if known is not None and leads else 0

    def renew(self) -> LeaseStatus:
        """Ask for the lead, or keep it. Does not raise if the server is down."""
        verb = lead.lead(self._nonce, lease_ms=round(self._lease_s * 1000), address=self.address)
        asked_s = self._clock()
        try:
            self._known = verb.read(self._server.run(self._key, [verb])[0])
        except QueuePoolError as error:
            return LeaseStatus(self.leads(), False, self._known, error)
        self._until_s = asked_s + self._lease_s * _SHARE_USED
        return LeaseStatus(self.leads(), True, self._known)

    def resign(self) -> bool:
        """Give the lead up, so that a standby need not wait; returns whether it was ours.

        Raises QueuePoolError; then the lease expires.
        """
        self._until_s = 0.0
        if self._known is not None:
            self._known = replace(self._known, leading=False)
        verb = lead.resign(self._nonce)
        return verb.read(self._server.run(self._key, [verb])[0])
