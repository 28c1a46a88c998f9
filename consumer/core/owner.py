"""The owner of a partition without its network, clock and threads: what each turn says and learns.

    plan(now) -> verbs of one round trip        absorb(plan, replies, now) -> jobs to start, events
    arm(now)  -> a claim for the next token     lost(plan, now): the reply never came

Invariants
  C1 open = claimed jobs that have not ended, without suspects that wait. A claim asks for at most
     target + lookahead - open, less what ended and does not fit into this turn.
  C2 an outcome leaves the outbox only when its verb was answered. A repeat is harmless: it names
     the stamp of the body that ended (see outbox), and another job may have the id by then.
  C3 a claim whose answer was lost is found in the book and handed back (reconcile). The book is
     read in a turn that claims nothing: a server that forgot a script executes that verb after the
     others of its turn, and what the same turn claims would look like a stray.
  C4 of the jobs that the next crash would bury at most one runs at a time (see suspects).
  C5 after a turn without an answer the next one first changes the nonce: whatever of the lost turn
     is still on its way is refused, and cannot undo what was decided since.
  C6 while a claim is armed, no other claim and no reading of the book is planned, so C1 and C3
     hold for it too. Whoever makes a job ready leaves a token, so it is not needed either.
  C7 after drain() nothing is claimed, promoted or recovered.
  C8 after a turn without an answer the lease is renewed first, by a turn of its own, and the next
     one carries less; what cannot get through ends as a failed attempt (see recording).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from consumer.core import events
from consumer.core.delayed import Promotion, Rousing
from consumer.core.in_flight import InFlight
from consumer.core.jobs import End
from consumer.core.lease import Lease
from consumer.core.outbox import CRASHED, executions, record_verbs
from consumer.core.pace import Pace
from consumer.core.prefetch import Prefetch
from consumer.core.reconciling import Reconciling
from consumer.core.recording import Recording
from consumer.core.repair import Repair
from consumer.core.turn import Turn, read_replies
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from consumer.core.jobs import ClaimedJob, Outcome
    from consumer.core.turn import OnReply
    from consumer.settings import ConsumerSettings
    from queuepool.models import AuditReport
    from queuepool.servers import Reply
    from queuepool.verbs import Verb


class Core:
    """State of one owner life. One thread calls it; it never blocks."""

    def __init__(
        self,
        acquired: own.Acquired,
        settings: ConsumerSettings,
        *,
        workers: int,
        now_s: float,
        tasks: Sequence[str] = (),
    ) -> None:
        self.life, self._settings = acquired.life, settings
        self.lease = Lease(acquired, settings, workers=workers, now_s=now_s)
        self.lookahead = Prefetch(settings.lookahead)
        self.in_flight = InFlight(max(1, settings.max_crashes - 1))
        self.pace = Pace(settings.lease_s, own.MAX_BATCH)
        self.recording = Recording(self.in_flight.outbox, self.pace)
        self.repair = Repair(settings.lease_s)
        self._now_s = now_s
        self.alive = 0  # worker threads, as the loop sees them
        self.progress: dict[bytes, bytes] = {}
        self.draining = self._rotating = self._renews_first = False
        self._armed: Turn | None = None
        self._expects_work = True
        self._promotion, self._rousing = Promotion(now_s), Rousing(tasks)
        self._poll_at = now_s
        self.reconciling = Reconciling(self.in_flight, now_s)
        self._ready: list[ClaimedJob] = []
        self._events: list[object] = []
        self._duplicates, self._left = 0, set[bytes]()

    # -- what the loop tells ---------------------------------------------------------------------

    def on_ended(self, outcomes: Sequence[Outcome]) -> None:
        """Take executions that ended (or never began, with End.HAND_BACK)."""
        self.in_flight.on_ended(outcomes)

    def hand_back(self, jobs: Sequence[ClaimedJob], now_s: float) -> None:
        """Take back jobs that no worker has begun."""
        self.in_flight.hand_back(jobs, now_s)

    def on_stall(self, jobs: Sequence[ClaimedJob], now_s: float) -> None:
        """Take back jobs in memory because no execution ends: jobs got longer than they were."""
        self.lookahead.forget()
        self.hand_back(jobs, now_s)

    def on_wake(self, token: bytes, now_s: float) -> None:
        """Heed a wake token: b"w" work, b"d" something due sooner, b"c" a command or a cancel."""
        if token == b"c":
            self.lease.due_s = now_s
        elif token == b"d":
            self._promotion.at_s = now_s
        else:
            self._expects_work = True

    def drain(self, now_s: float) -> None:
        """Claim nothing any more; suspects that did not begin go back."""
        self.draining = True
        self.in_flight.hand_back_suspects(now_s)

    def give_up(self, now_s: float) -> int:
        """Hand back whatever still runs, because the process ends now; returns how many."""
        return self.in_flight.hand_back_all(now_s)

    @property
    def target(self) -> int:
        """Return how many workers there should be."""
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
        record_s = self.recording.wait_s(now_s)
        recovers = (self.lease.books or self._rousing.pending) and not self.draining
        at_once = self._rotating or self._renews_first or self.repair.pending or recovers
        if at_once or record_s == 0.0:
            return 0.0
        if self._claims(now_s) and self._free_slots() > 0:
            return 0.0
        at = self.lease.due_s if self._armed else min(self.lease.due_s, self.reconciling.at_s)
        if not self.draining:
            at = min(at, self._poll_at, self._promotion.at_s)
            if self.open < self.target:
                at = min(at, self.in_flight.suspects.due_s(now_s))
        if self.progress:
            at = min(at, self._poll_at - 0.8 * self._settings.poll_s)
        if record_s is not None:
            at = min(at, now_s + record_s)
        return max(0.0, at - now_s)

    def claims_much(self, now_s: float) -> bool:
        """Return whether a turn that is due now would claim as much as one claim can."""
        return self._claims(now_s) and self._free_slots() >= own.MAX_BATCH

    @property
    def unconfirmed(self) -> Verb[int] | None:
        """Return what must be answered before anything else is said under this life's nonce."""
        return own.rekey(self.life) if self._rotating else None

    def plan(self, now_s: float) -> Turn:
        """Return the verbs of one turn."""
        if self._rotating:  # alone: what depends on it must not overtake it
            return Turn(now_s, [(own.rekey(self.life), self._rotated)])
        plan = Turn(now_s, [(self.repair.verb(), self._repaired)] if self.repair.pending else [])
        if self._renews_first:
            self._plan_renewal(plan)
            return plan
        self.recording.pick(plan, renews=now_s >= self.lease.due_s)
        add = plan.steps.append
        for verb in record_verbs(self.life, plan.outcomes, self._settings):
            add((verb, self._recorded))
        plan.recording = len(plan.steps)
        begun = self.in_flight.begun(now_s, 0 if self.draining else self.target)
        if begun:
            add((own.start(self.life, [job.id for job in begun]), self._started(begun)))
        if self.progress:
            texts = dict(self.progress.popitem() for _ in range(min(200, len(self.progress))))
            texts = {id: text for id, text in texts.items() if id in self.claimed}
            if texts:
                add((own.progress(self.life, texts), lambda _: None))
        if now_s >= self.lease.due_s:
            self._plan_renewal(plan)
        if now_s >= self.reconciling.at_s and self._armed is None:
            add((own.book(self.life), self.reconciling.reader(now_s, self._tell)))
        elif not self.draining:
            self._plan_claims(plan, now_s)
        return plan

    def _plan_renewal(self, plan: Turn) -> None:
        busy = min(self.open, self.alive)
        renewal = self.lease.renewal(self.life, alive=self.alive, busy=busy)
        plan.steps.append((renewal, self._renewed(plan.now_s)))

    def _plan_claims(self, plan: Turn, now_s: float) -> None:
        if self.lease.books:
            recover = own.recover(self.life, max_crashes=self._settings.max_crashes, error=CRASHED)
            plan.steps.append((recover, self._recovered))
            return  # their jobs come first
        if self._rousing.pending:
            plan.steps.append((self._rousing.verb(self.life), self._roused))
        if now_s >= self._promotion.at_s:
            plan.steps.append((own.promote(self.life), self._promotion.reader(now_s)))
            self._expects_work = True
        expected = self._expects_work or now_s >= self._poll_at
        busy = self._armed or self.recording.is_tight or self.in_flight.suspects.hold_s(now_s) > 0
        free = (
            0 if busy else self._free_slots() - self.recording.left(plan)
        )  # they keep their slots
        if expected and free > 0:
            self._plan_claim(plan, free)
        if now_s >= self._poll_at:
            self._poll_at = now_s + self._settings.poll_s

    def _plan_claim(self, plan: Turn, free: int) -> None:
        limit = min(free, self.pace.jobs)
        verb = own.claim(
            self.life,
            limit,
            starting=max(0, self.target - self.open),
            promote_after_ms=int(self._settings.promote_after_s * 1000),
            weights=self._settings.tier_weights,
        )
        plan.steps.append((verb, self._took(limit, plan)))
        plan.claiming = limit

    def arm(self, now_s: float) -> Turn | None:
        """Return a claim that the server may carry out when the next token comes, if one is wanted.

        It is armed from here on, until its answer is absorbed or lost.
        """
        busy = self.draining or self._rotating or self.lease.books or self._rousing.pending
        wanted = self._expects_work or self._armed or now_s >= self.reconciling.at_s
        suspects, free = self.in_flight.suspects, self._free_slots()
        slow = self.pace.jobs < own.MAX_BATCH
        if busy or wanted or slow or len(suspects) or suspects.hold_s(now_s) > 0 or free <= 0:
            return None  # a turn will ask, or nothing may begin
        self._armed = Turn(now_s)
        self._plan_claim(self._armed, free)
        return self._armed

    def cancel_armed(self) -> None:
        """Take back an armed claim that was never sent."""
        self._armed = None

    @property
    def armed(self) -> Turn | None:
        """Return the plan whose claim waits for a token."""
        return self._armed

    def settled(self, now_s: float) -> bool:
        """Return whether nothing is ours, as far as it can be known."""
        unsure = self._rotating or now_s >= self.reconciling.at_s
        return not (self.claimed or self.in_flight.has_unrecorded or unsure)

    # -- what came back ----------------------------------------------------------------------------

    def apply_replies(
        self, plan: Turn, replies: Sequence[Reply], now_s: float
    ) -> tuple[list[ClaimedJob], list[object]]:
        """Learn from the replies of a turn; returns (jobs to start, events).

        Raises FencedError when someone newer owns the partition, and the first other error after
        all replies were heeded; what it concerned is repeated by a later turn. See take_applied.
        """
        self._ready, self._events, self._duplicates, self._left = [], [], 0, set()
        self._now_s = now_s
        if plan is self._armed:
            self._armed, plan.now_s = None, now_s  # it waited for a token, not for the server
        recording = plan.recording
        unrecorded = read_replies(plan.steps[:recording], replies[:recording])
        if unrecorded is None:  # before the claim is read: it may hold a job just handed back
            self._forget(plan)
        later = read_replies(plan.steps[recording:], replies[recording:])
        failed, turn_s = unrecorded or later, now_s - plan.now_s
        self.repair.on_replies(plan.verbs, replies, now_s)
        if failed is None and turn_s > 0:
            self.lookahead.turned(turn_s, *executions(plan.outcomes))
            self.recording.on_reply(plan, turn_s, self._ready)
        plan.progress, claimed = failed is None and self.is_progress(plan), len(self._ready)
        told = plan.outcomes if unrecorded is None else ()
        if failed is None or told or claimed:  # what a turn did counts, whatever failed after it
            turned = events.Turned(told, claimed, self._duplicates, turn_s, plan.progress)
            self._events.append(turned)
        if failed is not None:
            self._keep(plan, now_s)
            raise failed
        return self._ready, self._events

    def take_applied(self) -> tuple[list[ClaimedJob], list[object]]:
        """Return what an absorb that raised had already learned, so that it is not lost."""
        ready, told, self._ready, self._events = self._ready, self._events, [], []
        return ready, told

    def on_no_reply(self, plan: Turn, now_s: float) -> None:
        """Note that a turn got no answer: it may or may not have happened."""
        self._keep(plan, now_s)
        self.in_flight.mark_unanswered()
        if plan is self._armed:
            self._armed = None
        self.life, self._rotating, self._renews_first = self.life.rotated(), True, True
        if plan.claiming:
            self.reconciling.at_s = now_s
        self.recording.on_no_reply(plan, now_s)

    def is_progress(self, plan: Turn) -> bool:
        """Return whether the answer to the newest turn shows that the work of this owner goes on.

        Without an end or a start it does only when there was nothing to record or to claim.
        """
        if self._ready or any(o.end is not End.HAND_BACK for o in plan.outcomes):
            return True
        waits = self.in_flight.has_unrecorded or (
            self._claims(self._now_s) and self._free_slots() > 0
        )
        scripts = {verb.script for verb, _ in plan.steps}
        return "recover" in scripts or (not waits and not scripts.isdisjoint(("renew", "claim")))

    def _keep(self, plan: Turn, now_s: float) -> None:
        self._expects_work = True
        self.in_flight.mark_unanswered(outcome.job for outcome in plan.outcomes)
        if any(verb.script == "renew" for verb, _ in plan.steps):
            self.lease.due_s = now_s
        self._promotion.on_no_reply(now_s)

    def _forget(self, plan: Turn) -> None:
        if plan.outcomes:
            plan.outcomes = self.in_flight.recorded(plan.outcomes, self._left)
            if self._duplicates:  # what was claimed under such an id may be unheard of
                self.reconciling.soon(plan.now_s)
            self._promotion.recorded(plan.outcomes, plan.now_s)
            if any(outcome.end is End.HAND_BACK for outcome in plan.outcomes):
                self._expects_work = True

    def _rotated(self, _: int) -> None:
        self._rotating = False

    def _recorded(self, reply: Any) -> None:
        if isinstance(reply, own.Finished):
            self._duplicates += reply.duplicates
            self._left.update(reply.left)
        elif isinstance(reply, own.Buried) and reply.evicted:
            self._events.append(events.EvictedDead(reply.evicted))

    def _started(self, begun: Sequence[ClaimedJob]) -> OnReply:
        def on_reply(_: int) -> None:
            self._ready += self.in_flight.booked(begun, self._now_s)

        return on_reply

    def _took(self, limit: int, plan: Turn) -> OnReply:
        free = max(0, self.target - self.open)

        def on_reply(claims: own.Claims) -> None:
            self._expects_work = claims.taken >= limit
            self._ready += self.in_flight.take(claims, free, plan.now_s)

        return on_reply

    def _renewed(self, sent_s: float) -> OnReply:
        def on_reply(renewal: own.Renewal) -> None:
            self._renews_first = False
            self._events += self.lease.renewed(renewal, sent_s, draining=self.draining)
            self._events += self.recording.on_renewal()
            if renewal.rolled_back:
                self.reconciling.at_s = sent_s
                self.in_flight.mark_unanswered()
            self.in_flight.cancel(renewal.cancels)
            if not self.draining and renewal.next_due_ms is not None:
                self._promotion.by(sent_s + renewal.next_due_ms / 1000)

        return on_reply

    def _recovered(self, result: own.Recovered) -> None:
        self.lease.books, self._expects_work = result.books, True
        self._events.append(events.RecoveredJobs(result))

    def _roused(self, result: tuple[bytes, Mapping[str, int]]) -> None:
        self._events += self._rousing.on_reply(*result)
        if result[1]:
            self._promotion.at_s = self._now_s

    def _repaired(self, result: tuple[bytes, AuditReport]) -> None:
        self._events += self.repair.on_reply(*result)

    def _tell(self, event: object) -> None:
        self._events.append(event)  # of the turn whose replies are read now

    def _claims(self, now_s: float) -> bool:
        busy = self.draining or self._armed or self.in_flight.suspects.hold_s(now_s) > 0
        return self._expects_work and not busy

    def _free_slots(self) -> int:
        suspects = self.in_flight.suspects
        if len(suspects):  # they begin on workers that are free
            return self.target - self.open - suspects.slots
        return self.target + self.lookahead.jobs(self.target, self.in_flight.open_bytes) - self.open
