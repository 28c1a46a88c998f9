"""Becoming an owner: take the partition we were told, or any free one; else wait for one.

    looking --no answer--> outage: only asks --answers--> quiet for a lease --> looking

A lease that ended is taken within a second. After an outage of the server every lease may have
ended at once although its owner lives; so whoever saw the outage replaces nobody until the server
has answered again for one lease, and living owners renew in that time.

To look is to acquire what is free, and to hear how long the leases of others last: a write, so
that a server which only reads counts as away. To replace an owner is asked only by who just heard
that its lease is over: a server that stalls would carry it out when it wakes, before the owner's
renewal.
"""

from __future__ import annotations

import random
import secrets
import threading
from time import monotonic

from consumer import events
from consumer.loop.liveness import Pulse
from consumer.settings import ConsumerSettings
from queuepool.client.pool import QueuePool
from queuepool.errors import ConfigurationError, QueuePoolError, UnavailableError
from queuepool.partitions.partition import OwnedPartition, Partition
from queuepool.partitions.route import Leave
from queuepool.telemetry.events import Listener
from queuepool.verbs.owner.verbs import Held

_LOOK_S, _STEP_S = 0.7, 0.1
_RENEW_S = 2.0  # an owner tries again after 1.5 s at most


class Standby:
    """Waits for a partition on behalf of one consumer."""

    def __init__(
        self, pool: QueuePool, settings: ConsumerSettings, host: str, emit: Listener
    ) -> None:
        self._pool, self._settings, self._host, self._emit = pool, settings, host, emit
        # One nonce for all attempts: an answer that was lost is found out by asking again.
        self._nonce = secrets.token_hex(8)
        self._resting = threading.Event()  # never set

    def acquire(self, stop: threading.Event, pulse: Pulse) -> OwnedPartition | None:
        """Return an owned partition, or None when stopped. Raises ConfigurationError."""
        candidates = self._candidates()
        quiet_until, outage = 0.0, False
        while not stop.is_set():
            pulse.passed_s = monotonic()
            wait_s = _LOOK_S
            self._pool.route.verify(Leave.RECORD)
            try:
                # All the time, for a second outage begins the wait anew.
                replaces = not outage and monotonic() >= quiet_until
                found = self._look(candidates, replaces=replaces)
                pulse.turned_s, pulse.why = monotonic(), ""
                if isinstance(found, OwnedPartition):
                    return found
                if outage:
                    outage, quiet_until = False, monotonic() + max(self._settings.lease_s, _RENEW_S)
                wait_s = min(_LOOK_S, max(0.01, found, quiet_until - monotonic()))
                self._emit(events.StandingBy(wait_s))
            except QueuePoolError as error:
                outage = outage or isinstance(error, UnavailableError)
                pulse.why = str(error)
                self._emit(events.TurnFailed(error, wait_s))
            self.pause(stop, wait_s * (0.8 + 0.4 * random.random()))
        return None

    def pause(self, stop: threading.Event, seconds: float) -> None:
        """Sleep, and wake a moment after a stop."""
        # Not stop.wait(): a signal handler that calls stop.set() would wait for this very thread.
        until = monotonic() + seconds
        while not stop.is_set() and (left := until - monotonic()) > 0:
            self._resting.wait(min(_STEP_S, left))

    def _candidates(self) -> list[Partition]:
        if self._settings.partition != "auto":
            return [self._pool.partition(int(self._settings.partition))]
        candidates = self._pool.partitions()
        if not candidates:
            raise ConfigurationError("there is no partition to own: QUEUEPOOL_PARTITIONS is 0")
        random.shuffle(candidates)
        return candidates

    def _look(self, candidates: list[Partition], *, replaces: bool) -> OwnedPartition | float:
        soonest = _LOOK_S
        for partition in candidates:
            answer = self._ask(partition, replaces=False)
            if replaces and isinstance(answer, Held) and answer.lease_ms <= 0:
                answer = self._ask(partition, replaces=True)
            if not isinstance(answer, Held):
                return answer
            soonest = min(soonest, answer.lease_ms / 1000 + 0.005)
        return soonest

    def _ask(self, partition: Partition, *, replaces: bool) -> OwnedPartition | Held:
        return partition.acquire(
            lease_s=self._settings.lease_s, host=self._host, nonce=self._nonce, replaces=replaces
        )
