"""Becoming an owner: take the configured partition, or any free one; else wait for one. Pure.

    looking --no reply--> outage: only asks --answers--> waiting one lease --> looking

An expired lease is taken over within a second, and a crashed owner within two: see lifeline. After
an outage of a server all leases there may have expired although their owners live; so a lease that
is over at the first look is watched at first: see outages. A server that is away keeps nobody from
the partitions of the others.

Looking means acquiring what is free, and learning how long others' leases last: it is a write, so
that a read-only server counts as down. A process asks to replace an owner only after it just
learned that the lease is over: a stalled server would otherwise do so when it wakes, before the
renewal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from consumer.core import events
from consumer.core.effects import Pause
from consumer.core.lifeline import Lifelines
from consumer.core.outages import Outages
from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.verbs.owner import lifeline
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from consumer.core.effects import Steps
    from consumer.core.liveness import Liveness
    from consumer.settings import ConsumerSettings
    from queuepool.telemetry.events import Listener

_LOOK_S = 0.7
_SOON_S = 0.25  # where few partitions are candidates
_FEW = 16


class Standby:
    """Waits for one of these partitions.

    nonce: one for all attempts, so that repeating a call recovers a lost reply.
    verify: raises ConfigurationError if the consumer must not start. has_ended: see Lifelines.
    outages: those that the process knows of; by default those that it sees here.
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
        has_ended: Callable[[str, str], bool] = lambda *_: False,
        outages: Outages | None = None,
    ) -> None:
        self.outages = outages or Outages(settings.lease_s, clock)
        self._partitions, self._settings, self._verify = partitions, settings, verify
        self._lifelines = Lifelines(has_ended)
        self._look_s = _SOON_S if len(partitions) <= _FEW else _LOOK_S
        self._host, self._nonce = host, nonce
        self._emit, self._clock, self._draw = emit, clock, draw

    def acquire(
        self, stopping: Callable[[], bool], liveness: Liveness
    ) -> Steps[own.Acquired | None]:
        """Return what was acquired, or None when stopped. Raises what `verify` raises."""
        while not stopping():
            liveness.last_pass_s = self._clock()
            wait_s = _LOOK_S
            self._verify()
            try:
                found = yield from self._look()
                liveness.last_reply_s, liveness.why = self._clock(), ""
                if isinstance(found, own.Acquired):
                    return found
                wait_s = min(self._look_s, max(0.01, found))
                self._emit(events.StandingBy(wait_s))
            except QueuePoolError as error:
                liveness.why = str(error)
                self._emit(events.TurnFailed(error, wait_s))
            yield Pause(wait_s * (0.8 + 0.4 * self._draw()))
        return None

    def _look(self) -> Steps[own.Acquired | float]:
        """Return what was acquired, or in how many seconds to look again.

        Raises UnavailableError if no server answers.
        """
        away: dict[object, UnavailableError] = {}
        soonest, answered = self._look_s, False
        for partition in self._partitions:
            server = self.outages.server_of(partition)
            if server in away:
                continue
            try:
                answer = yield from self._look_at(partition)
            except UnavailableError as error:
                away[server] = error
                continue
            if isinstance(answer, own.Acquired):
                return answer
            soonest, answered = min(soonest, answer), True
        for failure in away.values():
            if not answered:
                raise failure
            self._emit(events.TurnFailed(failure, soonest))
        return soonest

    def _look_at(self, partition: int) -> Steps[own.Acquired | float]:
        answer = yield from self._ask(partition, replaces=False)
        if isinstance(answer, own.Acquired):
            return answer
        runs = answer.lease_ms > 0
        may_replace = self.outages.may_replace(partition, answer.epoch, runs=runs)
        if (quiet_s := self.outages.wait_s(partition)) > 0:
            self._lifelines.forget(partition)
            return quiet_s
        soonest = self._look_s
        if may_replace:
            answer = yield from self._ask(partition, replaces=True)
        else:
            gone_s = yield from self._until_gone(partition, answer)
            if gone_s == 0:
                answer = yield from self._ask(partition, replaces=False, gone=answer)
            elif gone_s > 0:
                soonest = gone_s
        if isinstance(answer, own.Acquired):
            return answer
        return min(soonest, answer.lease_ms / 1000 + 0.005) if runs else soonest

    def _until_gone(self, partition: int, held: own.Held) -> Steps[float]:
        verbs = lifeline.inspect(held.lifeline)
        cut = False
        if verbs:
            replies = yield from self.outages.call(partition, verbs)
            cut = lifeline.is_cut(held.lifeline, verbs, replies)
        return self._lifelines.on_look(partition, held, self._clock(), cut=cut)

    def _ask(
        self, partition: int, *, replaces: bool, gone: own.Held | None = None
    ) -> Steps[own.Acquired | own.Held]:
        lease_ms = int(self._settings.lease_s * 1000)
        verb = own.acquire(
            partition,
            self._nonce,
            lease_ms=lease_ms,
            host=self._host,
            replaces=replaces,
            gone=gone,
            pool=self._settings.pool,
        )
        replies = yield from self.outages.call(partition, [verb])
        return verb.read(replies[0])
