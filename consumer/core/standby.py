"""Becoming an owner: take the configured partition, or any free one; else wait for one. Pure.

    looking --no answer--> outage: only asks --answers--> quiet for a lease --> looking

A lease that ended is taken within a second. After an outage of the server every lease may have
ended at once although its owner lives; so whoever saw the outage replaces no one until the server
has answered again for one lease, and living owners renew in that time.

To look is to acquire what is free, and to learn how long the leases of others last: a write, so
that a server which only reads counts as away. Only who just learned that a lease is over asks to
replace its owner: a server that stalls would do so when it wakes, before the owner's renewal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from consumer.core import events
from consumer.core.effects import Call, Pause
from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from consumer.core.effects import Steps
    from consumer.core.liveness import Liveness
    from consumer.settings import ConsumerSettings
    from queuepool.telemetry.events import Listener

_LOOK_S = 0.7
_RENEW_S = 2.0  # an owner tries again after 1.5 s at most


class Standby:
    """Waits for one of these partitions.

    nonce: one for all attempts, so that an answer that was lost is found out by asking again.
    verify: raises ConfigurationError when the consumer must not begin.
    """

    def __init__(
        self,
        partitions: Sequence[int],
        settings: ConsumerSettings,
        *,
        host: str,
        nonce: str,
        verify: Callable[[], None],
        emit: Listener,
        clock: Callable[[], float],
        draw: Callable[[], float],
    ) -> None:
        self._partitions, self._settings, self._verify = partitions, settings, verify
        self._host, self._nonce = host, nonce
        self._emit, self._clock, self._draw = emit, clock, draw

    def acquire(
        self, stopping: Callable[[], bool], liveness: Liveness
    ) -> Steps[own.Acquired | None]:
        """Return what was acquired, or None when stopped. Raises what `verify` raises."""
        quiet_until, outage = 0.0, False
        while not stopping():
            liveness.last_pass_s = self._clock()
            wait_s = _LOOK_S
            self._verify()
            try:
                # All the time, for a second outage begins the wait again.
                replaces = not outage and self._clock() >= quiet_until
                found = yield from self._look(replaces=replaces)
                liveness.last_reply_s, liveness.why = self._clock(), ""
                if isinstance(found, own.Acquired):
                    return found
                if outage:
                    outage = False
                    quiet_until = self._clock() + max(self._settings.lease_s, _RENEW_S)
                wait_s = min(_LOOK_S, max(0.01, found, quiet_until - self._clock()))
                self._emit(events.StandingBy(wait_s))
            except QueuePoolError as error:
                outage = outage or isinstance(error, UnavailableError)
                liveness.why = str(error)
                self._emit(events.TurnFailed(error, wait_s))
            yield Pause(wait_s * (0.8 + 0.4 * self._draw()))
        return None

    def _look(self, *, replaces: bool) -> Steps[own.Acquired | float]:
        soonest = _LOOK_S
        for partition in self._partitions:
            answer = yield from self._ask(partition, replaces=False)
            if replaces and isinstance(answer, own.Held) and answer.lease_ms <= 0:
                answer = yield from self._ask(partition, replaces=True)
            if not isinstance(answer, own.Held):
                return answer
            soonest = min(soonest, answer.lease_ms / 1000 + 0.005)
        return soonest

    def _ask(self, partition: int, *, replaces: bool) -> Steps[own.Acquired | own.Held]:
        lease_ms = int(self._settings.lease_s * 1000)
        verb = own.acquire(
            partition, self._nonce, lease_ms=lease_ms, host=self._host, replaces=replaces
        )
        replies = yield Call(partition, [verb])
        return verb.read(replies[0])
