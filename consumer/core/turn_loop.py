"""Turns of an owner: between its core, its workers and the server. Pure.

A turn collects what ended, plans, makes one round trip and starts what was claimed. If it gets no
reply, it is repeated with less content, after a pause that grows to a second; nothing starts once
the lease may be over. A turn that only changes the nonce, or only renews although there is
something to record or to claim, ends one pause, but does not shorten the next one. Between turns
the owner sleeps, with a claim armed to run with the token that will wake it.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from consumer.core import events
from consumer.core.effects import NoOtherPartitions, Rest, Sleep
from consumer.core.lifeline import CUT_STARTS_S, GRACE_S
from queuepool.errors import FencedError, QueuePoolError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from consumer.core.effects import Bell, OtherPartitions, Steps, Workers
    from consumer.core.liveness import Liveness
    from consumer.core.outages import Outages
    from consumer.core.owner import Core
    from consumer.core.roaming import Roaming
    from consumer.core.turn import Turn
    from queuepool.servers import Reply
    from queuepool.telemetry.events import Listener

_MARGIN_S = 0.5  # nothing starts in the last part of a lease
_HAND_OVER_S = 0.0001
_HURRIED_S = 0.12  # between attempts at first


class TurnLoop:
    """Takes turns. failing: the latest that did more than change the nonce got no reply."""

    def __init__(
        self,
        core: Core,
        workers: Workers,
        bell: Bell,
        *,
        liveness: Liveness,
        outages: Outages,
        emit: Listener,
        clock: Callable[[], float],
        draw: Callable[[], float],
        others: OtherPartitions | None = None,
        roaming: Roaming | None = None,
    ) -> None:
        self._others, self._roaming = others or NoOtherPartitions(), roaming
        self._core, self._workers, self._bell, self._outages = core, workers, bell, outages
        self._liveness, self._emit, self._clock, self._draw = liveness, emit, clock, draw
        self._pause_s, self._retry_s = 0.05, 0.0
        self._last_end_s = self._last_turn_s = clock()  # or a job came to idle workers
        self.failing = self._at_risk = False
        self._cut_s = inf  # since when the bell has lost its connection, if turns fail
        self._failing_s = 0.0

    def turn(self) -> Steps[float]:
        """Take one turn if one is due; returns how long nothing is due."""
        core, workers = self._core, self._workers
        now = self._liveness.last_pass_s = self._clock()
        self._mind_lifeline(now)
        ended = workers.take_ended()
        if ended:
            core.on_ended(ended)
            self._last_end_s = now
        if workers.late and core.on_late(workers.withdraw(), now):
            workers.late = False
        core.state.alive, core.state.spare = workers.alive, workers.spare
        self._mind_others(now)
        self._mind_memory(now)
        if now < self._retry_s:  # rings from ending jobs must not shorten the pause
            return self._retry_s - now
        wait_s = core.due_s(now)
        if wait_s > 0:
            return self._watched(wait_s)
        if workers.queued and not core.claims_much(now):
            linger_s = core.prefetch.linger_s(workers.queued, workers.alive)
            left_s = self._last_turn_s + linger_s - now
            if left_s > 0:
                yield Rest(left_s)
                return 0.0
        plan = core.plan(now)
        if not plan.verbs:
            return 0.001
        try:
            replies = yield from self._outages.call(core.ownership.partition, plan.verbs)
        except QueuePoolError as error:
            core.on_no_reply(plan, self._clock())
            yield from self.disarm()  # it carries the old nonce
            return self._failed(error)
        return self._apply_replies(plan, replies)

    def roam(self, *, rests: bool) -> bool:
        """Look around if it is time; return whether to leave. rests: no turn is due."""
        roaming = self._roaming
        if roaming is None:
            return False
        calls = roaming.step(self._core, rests=rests)
        if calls:
            self._others.send(calls)
        return roaming.leaves

    def sleep(self, seconds: float) -> Steps[None]:
        """Sleep until a token, a ring, or the end of the time; apply an armed claim's result."""
        core, bell = self._core, self._bell
        plan = core.arm(self._clock()) if seconds > 0 else None
        if plan is not None and not bell.arm(plan.verbs[0]):
            core.cancel_armed()
        token = yield Sleep(seconds)
        if token is not None:
            core.on_wake(token, self._clock())
        yield from self._on_armed_reply(bell.answer())

    def disarm(self) -> Steps[None]:
        """Give up an armed claim: it may or may not have happened."""
        if self._core.armed is not None:
            self._bell.disarm()
            yield from self._on_armed_reply(self._bell.answer())

    def hurry(self) -> None:
        """Let the next turn run at once, whatever failed before."""
        self._retry_s = 0.0

    def _on_armed_reply(self, reply: Reply) -> Steps[None]:
        plan = self._core.armed
        if reply is None or plan is None:
            return
        if isinstance(reply, QueuePoolError):
            self._core.on_no_reply(plan, self._clock())
            return
        before = self._core.open
        self._apply_replies(plan, [reply])
        if self._core.open > before:
            # A worker was woken, and needs the interpreter more urgently than this loop.
            yield Rest(_HAND_OVER_S)

    def _apply_replies(self, plan: Turn, replies: Sequence[Reply]) -> float:
        core = self._core
        try:
            core.apply_replies(plan, replies, self._clock())
        except QueuePoolError as error:
            if isinstance(error, FencedError):
                self._emit_all(plan.events)
                raise
            self._start(plan)
            return self._failed(error)
        self._start(plan)
        self._last_turn_s, self._retry_s = self._clock(), 0.0
        if plan.progress:
            self._liveness.last_reply_s, self._pause_s = self._last_turn_s, 0.05
        if not plan.is_rotation:
            self._liveness.why = ""
            self.failing = self._at_risk = False
        return 0.0

    def _start(self, turn: Turn) -> None:
        self._cut_s = inf
        self._workers.start_until_s = self._core.lease.ends_s - _MARGIN_S
        if self._workers.target != self._core.target:
            self._workers.resize(self._core.target)
        if turn.jobs and not self._workers.queued:
            self._last_end_s = self._clock()  # their wait for a worker begins now
        self._workers.submit(turn.jobs)
        self._emit_all(turn.events)

    def _emit_all(self, news: Sequence[object]) -> None:
        for event in news:
            self._emit(event)

    def _failed(self, error: Exception) -> float:
        left = self._core.lease.ends_s - self._clock()
        if left < _MARGIN_S and not self._at_risk:
            self._at_risk = True
            self._emit(events.LeaseAtRisk(left))
        now = self._clock()
        self._failing_s = self._failing_s if self.failing else now
        self.failing, self._liveness.why = True, str(error)
        pause = self._pause_s * (0.5 + self._draw())
        # Renewals run between attempts: the pause must leave room for several in a lease, and at
        # first for a renewal before a standby takes us for crashed.
        cut = not self._bell.lifeline and now - self._failing_s < GRACE_S
        most = _HURRIED_S if cut else 1.0
        self._pause_s = min(most, self._core.lease.lease_s / 6, self._pause_s * 2)
        self._retry_s = self._clock() + pause
        self._emit(events.TurnFailed(error, pause))
        return pause

    def _mind_lifeline(self, now: float) -> None:
        lifeline = self._bell.lifeline
        self._core.lease.on_lifeline(lifeline)
        if lifeline == self._core.lease.known_lifeline:
            self._bell.settle()
        if self.failing and not lifeline:
            self._cut_s = min(self._cut_s, now)
            workers = self._workers
            workers.start_until_s = min(workers.start_until_s, self._cut_s + CUT_STARTS_S)

    def _mind_others(self, now: float) -> None:
        state, others = self._core.state, self._others
        for call, reply in others.take_replies():
            if call.looks:
                if self._roaming is not None:
                    self._roaming.on_answer(call, reply)
            elif call.entries:
                self._core.tell.on_answer(call, reply, now)
            else:
                state.gatekeeper.on_reply(call, reply, now)
        calls = [*state.gatekeeper.calls(now), *self._core.tell.take_calls()]
        if calls:
            others.send(calls)

    def _mind_memory(self, now: float) -> None:
        # Jobs in memory that no worker starts keep others waiting: give them back. While a claim is
        # armed there are no others, as one that becomes ready leaves the token that it waits for.
        core, workers = self._core, self._workers
        if (
            core.armed is None
            and workers.queued
            and now - self._last_end_s > core.prefetch.stall_timeout_s()
        ):
            jobs = workers.withdraw()
            if jobs:
                core.on_stall(jobs, now)
            self._last_end_s = now

    def _watched(self, wait_s: float) -> float:
        if self._workers.queued:
            return min(wait_s, self._core.prefetch.stall_timeout_s())
        return wait_s
