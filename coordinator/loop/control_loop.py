"""The control loop: one thread that owns leadership, observation and decisions.

    renew the lead -> observe every partition -> if leading: decide, send -> publish -> pause

What is observed is considered while other partitions still answer, and decided together.

A standby runs the same turns without deciding, so it answers status and takes over from one turn to
the next. A server that is down does not fail a turn: nothing is observed there, so nothing changes
there. Other threads see only snapshots (`store`).

A turn is written once, as steps between which others may act: the thread makes them without a
pause, the simulation lets time pass there, as a process that stalls does.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from coordinator.core.events import (
    CycleEnded,
    LeaderChanged,
    LeadGained,
    LeadLost,
    LeadUnknown,
    TurnFailed,
)
from coordinator.core.model import LeaseStatus
from coordinator.core.planner import Planner
from coordinator.loop.leadership import Leadership
from coordinator.loop.observer import Observer
from coordinator.loop.pools_budget import BudgetOfPools
from coordinator.loop.scaling_watch import ScalingWatch
from coordinator.loop.term import Term
from coordinator.snapshots.builder import SnapshotBuilder
from coordinator.snapshots.store import SnapshotStore
from queuepool.errors import QueuePoolError
from queuepool.errors.hindrances import start_thread
from queuepool.models.cluster import Leader
from queuepool.models.places import DEFAULT_POOL
from queuepool.tasks.backoff import Backoff
from queuepool.telemetry.events import Listener, ignore

_LEAST_PAUSE_SHARE = 0.05  # of a cycle, however long the turn takes


@dataclass(frozen=True, slots=True)
class Components:
    """The components of the loop. new_term: what a leader needs, of its epoch and planner.

    budget: what all pools share; pool: the one that this loop is about.
    """

    leadership: Leadership
    observer: Observer
    views: SnapshotBuilder
    store: SnapshotStore
    scaling: ScalingWatch
    new_term: Callable[..., Term]
    budget: BudgetOfPools = field(default_factory=BudgetOfPools)
    pool: str = DEFAULT_POOL


class ControlLoop:
    """Runs turns on its own thread from start() to stop()."""

    def __init__(
        self,
        parts: Components,
        *,
        cycle_s: float,
        emit: Listener = ignore,
        clock: Callable[[], float] = time.monotonic,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._parts, self._cycle_s = parts, cycle_s
        self._emit, self._clock, self._draw = emit, clock, draw
        self._backoff = Backoff(
            base_s=2 * cycle_s, cap_s=max(2 * cycle_s, 2.0), floor_s=cycle_s / 4
        )
        self._term: Term | None = None
        self._planned = parts.scaling.planner
        self._leading = False
        self._heard: tuple[int, str] = (0, "")  # epoch and address of the leader
        self._cycle = self._unanswered = 0
        self._stopping = threading.Event()
        self._turned_s = clock()
        # A daemon, so that a hanging server does not keep the process from exiting.
        self._thread = threading.Thread(target=self._run, name="coordinator-loop", daemon=True)

    def start(self) -> None:
        """Start with the first turn. Raises NoThreadError."""
        self._turned_s = self._clock()
        start_thread(self._thread, "for the control loop")

    def stop(self, timeout_s: float = 5.0) -> bool:
        """Stop after the current turn and resign; returns whether it ended in time.

        Idempotent, legal before start.
        """
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    @property
    def idle_s(self) -> float:
        """Return the seconds since a turn last completed, or since the start."""
        return self._clock() - self._turned_s

    def _run(self) -> None:
        failed = 0
        try:
            while not self._stopping.is_set():
                started_s = self._clock()
                try:
                    lease = self.turn()
                except Exception as error:  # whatever it is, the next turn starts over
                    failed += 1
                    pause_s = self._backoff.delay_s(failed, self._draw())
                    self._emit(TurnFailed(error, pause_s))
                else:
                    failed = 0
                    pause_s = self.pause_s(lease, self._clock() - started_s)
                self._stopping.wait(pause_s)
        finally:
            self._resign()

    def pause_s(self, lease: LeaseStatus, spent_s: float) -> float:
        """Return how long to wait after a turn that took this long."""
        jitter = self._draw()
        self._unanswered = 0 if lease.answered else self._unanswered + 1
        if self._unanswered:
            return self._backoff.delay_s(self._unanswered, jitter)
        pause_s = max(self._cycle_s - spent_s, self._cycle_s * _LEAST_PAUSE_SHARE)
        if not lease.leading and lease.leader is not None and lease.leader.lease_ms > 0:
            # A standby wakes when the lease ends; the jitter keeps several from asking at once.
            pause_s = min(pause_s, lease.leader.lease_ms / 1000 + 0.02 + 0.05 * jitter)
        return pause_s

    def turn(self) -> LeaseStatus:
        """Run one turn: called by the thread in each cycle, and by tests."""
        steps = self.steps()
        try:
            while True:
                next(steps)
        except StopIteration as end:
            lease: LeaseStatus = end.value
            return lease

    def steps(self) -> Generator[None, None, LeaseStatus]:
        """Run one turn, yielding where time may pass."""
        parts, started_s = self._parts, self._clock()
        lease = parts.leadership.renew()
        if lease.answered:  # by the server that has the scaling record, too
            parts.scaling.look()
        self._note_lead(lease)
        yield
        leader, term = lease.leader, self._term
        deciding = self._begin(leader)
        observations = parts.observer.observe(ignore if deciding is None else deciding.consider)
        yield
        if deciding is not None and parts.leadership.leads():
            deciding.act(parts.observer.finished_per_s)
        self._cycle += 1
        leads = parts.leadership.leads()
        snapshot = parts.views.snapshot(
            cycle=self._cycle,
            at_s=self._clock(),
            leading=leads,
            lease=lease,
            observations=observations,
            memories=term.memories if term is not None and leads else {},
            decisions=term.decisions if term is not None and leads else {},
            unsent=term.unsent if term is not None and leads else {},
            finished_per_s=parts.observer.finished_per_s,
            paces=parts.observer.paces,
            reached=parts.observer.reached,
            in_force=parts.scaling.in_force(
                leader.now_ms if leader is not None else 0, self._planner()
            ),
        )
        if parts.scaling.is_known:
            parts.budget.note(parts.pool, snapshot.partitions, parts.scaling.planner)
        parts.store.publish(snapshot)
        self._turned_s = self._clock()
        self._emit(CycleEnded(self._turned_s - started_s, snapshot))
        if term is not None:
            term.hand_over()
        return lease

    def _begin(self, leader: Leader | None) -> Term | None:
        """Begin a cycle of decisions while this process leads."""
        parts, term = self._parts, self._term
        knows = parts.scaling.is_known  # else it might break a hold
        if not knows or term is None or leader is None or not parts.leadership.leads():
            return None
        manual = {number: workers for number, (workers, _until) in leader.manual.items()}
        term.begin(self._planner(), manual, now_ms=leader.now_ms)
        return term

    def _planner(self) -> Planner:
        """Return what decides now: the same object for as long as it decides the same."""
        made = self._parts.budget.planner_of(self._parts.pool, self._parts.scaling.planner)
        if made != self._planned:
            self._planned = made
        return self._planned

    def _note_lead(self, lease: LeaseStatus) -> None:
        epoch = self._parts.leadership.epoch
        if lease.error is not None:
            self._emit(LeadUnknown(lease.error))
        if lease.leading and (self._term is None or self._term.epoch != epoch):
            # Command numbers continue within an epoch, so only another epoch starts a new term.
            self._term = self._parts.new_term(epoch, planner=self._parts.scaling.planner)
        if lease.leading and not self._leading:
            self._emit(LeadGained(epoch))
        elif self._leading and self._term is not None and not lease.leading:
            why = "another coordinator leads" if lease.answered else "the lease was not renewed"
            self._emit(LeadLost(self._term.epoch, why))  # `epoch` may be the other's
        self._leading = lease.leading
        leader = lease.leader
        heard = (epoch, leader.address if leader is not None else "")
        if lease.answered and not lease.leading and heard != self._heard and heard[1]:
            self._emit(LeaderChanged(*heard))
        self._heard = heard

    def _resign(self) -> None:
        if not self._parts.leadership.leads():
            return
        epoch = self._parts.leadership.epoch
        try:
            self._parts.leadership.resign()
        except QueuePoolError as error:
            self._emit(LeadUnknown(error))
        self._emit(LeadLost(epoch, "this process is stopping"))
