"""The owner of a partition without its network, clock and threads: steps that share turns.

    due_s(now) -> when a turn is needed           plan(now) -> a turn: the verbs of one round trip
    apply_replies(turn, replies, now) -> jobs to start, events    on_no_reply(turn, now)
    arm(now)   -> a turn whose claim waits at the server for the next token

What an owner does is a list of steps (consumer.core.steps), each the only place that defines when
it needs a turn, what it sends and what it learns. They share a State; a turn carries their verbs in
this order:

    Rotate* | Repair | RenewAlone* | Record | Start | Progress | Chronicle | Renew
            | Reconcile* | Recover* | Rouse | Tell | Promote | Admit | Claim   * nothing follows it

Invariants
  C1 open = claimed jobs that have not ended, without suspects that wait. A claim asks for at most
     slots + prefetch - open, less what ended and does not fit into this turn.
  C2 an outcome leaves the outbox only once its verb was answered. Recording is idempotent: it names
     the stamp of the body that ended (see outbox), and another job may have the id by then.
  C3 a claim whose reply was lost is found in the in-flight set and handed back (Reconcile). That
     set is read in a turn that claims nothing. C4 of the jobs that the next crash would bury, at
     most one runs at a time (see suspects). C5 after a turn without a reply the next one first
     changes the nonce (Rotate): delayed parts of the lost turn are rejected, and cannot undo what
     was decided since. C6 while a claim is armed, no other claim and no Reconcile is planned, so C1
     and C3 hold for it, too. Nor is it needed: making a job ready leaves a token. C7 after drain()
     nothing is claimed, promoted or recovered: steps that bring work are removed. C8 after a turn
     without a reply the lease is renewed first, by a separate turn (RenewAlone), and the next one
     carries less; an outcome that cannot get through becomes a failed attempt (Record). C9 no job
     starts while one that was claimed before it is on its way back: the jobs of a claim that was
     answered meanwhile follow it, as does what workers have not begun.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from consumer.core import events
from consumer.core.jobs import HAND_BACK
from consumer.core.state import State
from consumer.core.steps.admit import Admit
from consumer.core.steps.chronicle import Chronicle
from consumer.core.steps.claim import Claim
from consumer.core.steps.progress import Progress
from consumer.core.steps.promote import Promote
from consumer.core.steps.reconcile import Reconcile
from consumer.core.steps.record import Record
from consumer.core.steps.recover import Recover
from consumer.core.steps.renew import Renew, RenewAlone
from consumer.core.steps.repair import Repair
from consumer.core.steps.rotate import Rotate
from consumer.core.steps.rouse import Rouse
from consumer.core.steps.start import Start
from consumer.core.steps.tell import Tell
from consumer.core.turn import Turn
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from consumer.core.in_flight import InFlight
    from consumer.core.jobs import ClaimedJob, Outcome
    from consumer.core.lease import Lease
    from consumer.core.prefetch import Prefetch
    from consumer.core.steps.step import Step
    from consumer.settings import ConsumerSettings
    from queuepool.servers import Reply
    from queuepool.verbs import Verb


class Core:
    """State of one ownership, and its steps. One thread calls it; it never blocks."""

    def __init__(
        self,
        acquired: own.Acquired,
        settings: ConsumerSettings,
        *,
        workers: int,
        now_s: float,
        tasks: Sequence[str] = (),
        definition_of: Callable[[str], str] = lambda _: "",
    ) -> None:
        state = self.state = State(
            acquired, settings, workers=workers, now_s=now_s, definition_of=definition_of
        )
        self.in_flight: InFlight = state.in_flight
        self.lease: Lease = state.lease
        self.prefetch: Prefetch = state.prefetch
        self.rotate, self.record = Rotate(state), Record(state)
        self.repair = Repair(settings.lease_s)
        self.chronicle = Chronicle(state) if settings.history_keep_bytes else None
        self.renew = Renew(state, self.record)
        self.renew_alone = RenewAlone(self.renew, state)
        self.reconcile, self.recover, self.claim = Reconcile(state), Recover(state), Claim(state)
        self.tell = Tell(state)
        self._steps = self._in_order(tasks)

    def _in_order(self, tasks: Sequence[str]) -> tuple[Step, ...]:
        """Return the steps of a turn, in the order in which they are asked."""
        state = self.state
        return (
            self.rotate,
            self.repair,
            self.renew_alone,
            self.record,
            Start(state),
            Progress(state),
            *(() if self.chronicle is None else (self.chronicle,)),
            self.renew,
            self.reconcile,
            self.recover,
            Rouse(state, tasks),
            self.tell,
            Promote(state),
            Admit(state),
            self.claim,
        )

    # -- what the loop reports -------------------------------------------------------------------

    def on_ended(self, outcomes: Sequence[Outcome]) -> None:
        """Take executions that ended (or never started, with End.HAND_BACK)."""
        self.state.gatekeeper.purse.on_ended(outcomes)
        self.state.costs.on_ended(outcomes)
        self.state.worked.on_ended(outcomes)
        self.in_flight.on_ended(outcomes)

    def hand_back(self, jobs: Sequence[ClaimedJob], now_s: float) -> None:
        """Take back jobs that no worker has started."""
        self.state.costs.on_handed_back(jobs)
        self.in_flight.hand_back(jobs, now_s)
        self.in_flight.outbox.line_up(self.claimed)

    def on_stall(self, jobs: Sequence[ClaimedJob], now_s: float) -> None:
        """Take back jobs in memory since no execution ends: jobs now take longer than before."""
        self.prefetch.forget()
        self.hand_back(jobs, now_s)

    def on_wake(self, token: bytes, now_s: float) -> None:
        """Handle a wake token.

        b"w": work; b"d": something is due sooner; b"c": a command or a cancel; b"g": parked jobs;
        b"f": ends to tell to batches, or a batch to look at.
        """
        if token == b"c":
            self.lease.due_s = now_s
        elif token == b"d":
            self.state.promote_s = now_s
        elif token == b"g":
            self.state.gates_s = now_s
        elif token == b"f":
            self.state.untold_s = self.state.batches_s = now_s
        else:
            self.state.work_expected = True

    def drain(self, now_s: float) -> None:
        """Stop claiming; suspects that did not start go back."""
        self.state.draining = True
        self.state.gatekeeper.drain()
        self._steps = tuple(step for step in self._steps if not step.brings_work)
        self.in_flight.hand_back_suspects(now_s)

    def on_late(self, jobs: Sequence[ClaimedJob], now_s: float) -> bool:
        """Take back what workers have not begun, as a job came too late; until then claim nothing.

        Returns whether that is over: no worker is about to begin a job.
        """
        self.hand_back(jobs, now_s)
        self.state.late = not self.in_flight.all_begun
        return not self.state.late

    def give_up(self, now_s: float) -> int:
        """Hand back jobs still running, because the process exits now; returns how many."""
        return self.in_flight.hand_back_all(now_s)

    @property
    def has_history(self) -> bool:
        """Return whether executions were noted that the next turn will put on record."""
        return self.chronicle is not None and self.chronicle.pending

    @property
    def ownership(self) -> own.Ownership:
        """Return what every verb of this owner carries."""
        return self.state.ownership

    @property
    def target(self) -> int:
        """Return the target number of workers."""
        return self.lease.target

    @property
    def claimed(self) -> Mapping[bytes, ClaimedJob]:
        """Return the jobs that are ours, by id."""
        return self.in_flight.claimed

    @property
    def open(self) -> int:
        """Return how many claimed jobs have not ended."""
        return self.in_flight.open

    # -- when and what -----------------------------------------------------------------------------

    def due_s(self, now_s: float) -> float:
        """Return in how many seconds the next turn is due; 0 for at once."""
        first_s = inf
        for step in self._steps:
            at_s = step.due_s(now_s)
            if at_s <= now_s:
                return 0.0
            first_s = min(first_s, at_s)
        return first_s - now_s

    def claims_much(self, now_s: float) -> bool:
        """Return whether a turn that is due now would claim as much as one claim can."""
        return not self.state.draining and self.claim.wants(now_s) >= own.MAX_BATCH

    @property
    def unconfirmed(self) -> Verb[int] | None:
        """Return what must be answered before anything else is sent under the newest nonce."""
        return self.rotate.verb() if self.rotate.pending else None

    def plan(self, now_s: float) -> Turn:
        """Return the verbs of one turn."""
        turn = Turn(now_s)
        for step in self._steps:
            if turn.add(step) and step.ends_turn:
                break
        return turn

    def arm(self, now_s: float) -> Turn | None:
        """Return a claim for the server to execute with the next token, if one is wanted.

        It is armed from now on, until its reply is applied or lost.
        """
        if self.state.draining or self.state.armed is not None or self.due_s(now_s) <= 0:
            return None  # a turn will claim, or has claimed
        self.state.armed = self.claim.arm(now_s)
        return self.state.armed

    def cancel_armed(self) -> None:
        """Take back an armed claim that was never sent."""
        self.state.armed = None

    @property
    def armed(self) -> Turn | None:
        """Return the turn whose claim waits for a token."""
        return self.state.armed

    def settled(self, now_s: float) -> bool:
        """Return whether no job is ours, as far as known."""
        unsure = self.rotate.pending or now_s >= self.state.reconcile_s
        return not (self.claimed or self.in_flight.has_unrecorded or unsure or self.has_history)

    # -- what came back ----------------------------------------------------------------------------

    def apply_replies(
        self, turn: Turn, replies: Sequence[Reply], now_s: float
    ) -> tuple[list[ClaimedJob], list[object]]:
        """Learn from the replies of a turn; returns (jobs to start, events), as the turn has them.

        Raises FencedError if a newer owner holds the partition, and the first other error after all
        replies were applied; a later turn repeats what failed.
        """
        if turn is self.state.armed:
            self.state.armed, turn.now_s = None, now_s  # it waited for a token, not for the server
        failed, turn_s = turn.apply(replies, now_s), now_s - turn.now_s
        self.repair.on_replies(turn.verbs, replies, now_s)
        if failed is None:
            if turn_s > 0:
                self.record.on_success(turn, turn_s)
            turn.progress = self.is_progress(turn)
        recorded, claimed = turn.outcomes if turn.recorded else (), len(turn.jobs)
        if self.chronicle is not None and recorded:
            self.chronicle.note(recorded, now_s)
        if failed is None or recorded or claimed:  # what a turn did counts, whatever failed later
            turn.events.append(
                events.Turned(recorded, claimed, turn.duplicates, turn_s, turn.progress)
            )
        if failed is not None:
            for step in self._steps:
                step.on_failure(turn, now_s)
            raise failed
        return turn.jobs, turn.events

    def on_no_reply(self, turn: Turn, now_s: float) -> None:
        """Handle a turn without a reply: it may or may not have happened."""
        if turn is self.state.armed:
            self.state.armed = None
        for step in self._steps:
            step.on_failure(turn, now_s)
            step.on_no_reply(turn, now_s)

    def is_progress(self, turn: Turn) -> bool:
        """Return whether the reply to the latest turn shows that this owner makes progress.

        Without an end or a start it does only if there was nothing to record or to claim, or if it
        counts a try of a result that gets no reply: these are limited, and then it fails.
        """
        if turn.jobs or any(o.end is not HAND_BACK for o in turn.outcomes):
            return True
        if turn.carries(self.recover) or turn.counts_try:
            return True
        claims = not self.state.draining and self.claim.wants(turn.replied_s) > 0
        waits = claims or self.in_flight.has_unrecorded
        return not waits and turn.carries(self.renew_alone, self.renew, self.claim)
