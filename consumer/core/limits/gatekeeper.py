"""Which parked jobs an owner admits, and what it asks the homes of limits. Pure.

    a gate with ids --tokens and permits of all its limits--> admit planned --> admitted --> claimed
             `-- too few --> asks, one at a time for each limit; a turn never waits for a home

Invariants
  G1 jobs of a limit that were admitted and have not ended, as far as this owner knows, are never
     more than the permits that its home granted; nor, from an ask on until its answer, than those
     that the ask named. A job counts from when its admission is planned, and while it is unknown
     whether a turn admitted what it planned, nothing is admitted: all gates are read first.
  G2 each admission uses one token of every limit of its gate, and none if one of them has none.
  G3 no more jobs are admitted and not claimed than the rate allows in MOST_WAITING_S, at least one:
     while all workers are busy, tokens are not used for jobs that start much later.
  G4 permits of earlier ownerships are ended once no job of theirs can run.
  G5 a gate that could admit jobs, and has none planned, is in the line of one of its limits, behind
     those that came before: where it is found first to lack something, or where most wait. So a
     look costs what changed, not what waits.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from consumer.core.limits.downstream_waits import DownstreamWaits
from consumer.core.limits.earlier import EarlierPermits
from consumer.core.limits.gates import Gates
from consumer.core.limits.purse import Purse
from consumer.core.limits.resting import Resting
from consumer.core.limits.stranded import Unclaimed
from consumer.core.limits.uses import Uses
from consumer.core.remote_call import RemoteCall, ToLimit
from queuepool.errors import QueuePoolError
from queuepool.models.limits import limits_of
from queuepool.verbs.limits import verbs as homes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from consumer.core.limits.gate import GateView, Tokens
    from consumer.core.limits.share import Share
    from queuepool.servers import Reply
    from queuepool.verbs.owner.gates import Admitted, Gate
    from queuepool.verbs.owner.replies import Ownership


class Gatekeeper:
    """The gates of one partition.

    definition_of: what code declares of a limit, "" for nothing.
    unsure: fewer jobs may be waiting for a claim than it seems.
    """

    def __init__(self, ownership: Ownership, definition_of: Callable[[str], str]) -> None:
        self._ownership, self._definition_of = ownership, definition_of
        self.gates = Gates()
        self.uses = Uses(self.gates)
        self._whole = False  # the reading of all gates that goes on missed nothing so far
        self._serial = 0
        self._waits = DownstreamWaits(definition_of)
        self.purse = Purse(self.gates, self._waits)
        self._lost = False  # what was planned may or may not have been admitted
        self._resting = Resting()
        self.earlier = EarlierPermits(ownership)
        self._unclaimed = Unclaimed()
        self.waiting = 0  # admitted and not claimed, at all gates
        self.unsure = self.draining = False

    # -- what is known -----------------------------------------------------------------------------

    def on_gates(
        self,
        found: Iterable[Gate],
        *,
        armed: bool,
        claims: bool = False,
        first: bool = True,
        last: bool = True,
    ) -> None:
        """Learn what waits where.

        armed: a claim may be carried out, and its reply unread. claims: or it was carried out in
        this turn, perhaps before this, and its reply comes next. first, last: of the pages in which
        all gates are listed.
        """
        claims = armed or claims
        if first:
            self.gates.read_again()
            self._whole = True
        self._whole = self._whole and not armed  # what a claim took may be missing
        for gate in found:
            view = self.gates.known.get(gate.limits) or self.gates.make_room(gate.limits)
            if view is None:
                continue
            view.seen, view.parked = self.gates.reading, gate.parked
            if self._lost and self._whole:
                view.planned = 0
            self._note_waiting(view, gate.waiting, view.waiting, claims=claims)
            self.gates.changed(view)
        if last and self._whole:
            self._on_all_read(claims=claims)

    def on_admitted(self, admitted: Admitted, now_s: float, *, claims: bool) -> None:
        """Learn what an admission did. claims: as for on_gates, or armed."""
        view = self.gates.known.get(admitted.limits)
        if view is None:
            return
        for _ in range(min(admitted.requested - admitted.admitted, len(view.tokens))):
            view.take_back(view.tokens.pop())
        view.planned, view.parked = 0, admitted.left
        known = view.waiting + admitted.admitted
        self._note_waiting(view, admitted.waiting, known, claims=claims)
        if admitted.admitted or admitted.cancelled or not admitted.left:
            view.rests_s = 0.0
        elif admitted.requested:
            self._resting.add(view, now_s)
        self.gates.changed(view)

    def on_claimed(
        self, limits: Sequence[bytes], now_s: float, *, all_found: bool = False
    ) -> set[bytes]:
        """Note the claimed jobs that name limits: id, gate, ...; return those that may not start.

        all_found: the claim left nothing that it might have taken.
        """
        refused: set[bytes] = set()
        for job_id, gate in zip(limits[::2], limits[1::2], strict=True):
            self.purse.end(job_id)
            name = gate.decode("utf-8", "replace")
            if not limits_of(name):
                continue
            view = self.gates.known.get(name) or self.gates.open(name)
            tokens: Tokens | None
            if view.waiting or not view.stranded:
                self.waiting -= min(1, view.waiting)
                tokens = view.start()
                self._unclaimed.note(view)
            else:
                tokens = view.start_stranded(now_s)
            if tokens is None:
                refused.add(job_id)
            else:
                self.purse.held[job_id] = view, tokens
            self.gates.changed(view)
        self._unclaimed.on_claim(now_s, all_found=all_found)
        return refused

    def on_recorded(self, claimed: Collection[bytes], unstarted: Iterable[bytes] = ()) -> None:
        """Forget jobs that are not ours any more. claimed: those that are; unstarted: not begun."""
        if self.purse.keep(claimed, unstarted):
            self._wake(inf)  # a group that runs as many as it may has room now

    def on_no_reply(self) -> None:
        """Note that a turn may or may not have admitted what it planned."""
        self._lost, self._whole = True, False

    # -- what to do --------------------------------------------------------------------------------

    def next_s(self, now_s: float) -> float:
        """Return when to look again, if nothing happens until then; inf for never."""
        self._wake(now_s)
        for share in self.gates.hot.now(now_s):
            due_s = share.next_s(now_s, admits=not self._stopped)
            if due_s <= now_s:
                return now_s
            self.gates.hot.cool(share, due_s)
        own_s = (self._resting.next_s(), self._unclaimed.next_s(), self._waits.next_s())
        return min(self.gates.hot.next_s(), self.earlier.next_s(), *own_s)

    def plan(self, now_s: float, most: int = 8) -> list[tuple[str, int, int]]:
        """Return (gate, jobs, most that may wait for a claim) to admit now; uses their tokens."""
        found: list[tuple[str, int, int]] = []
        for view in self._unclaimed.due(now_s):
            self.waiting -= view.waiting
            view.strand()
            self.gates.changed(view)
        if self._stopped:
            return found
        self._wake(now_s)
        for share in self.gates.hot.now(now_s):
            while share.line and len(found) < most and share.ready(now_s) > 0:
                view = next(iter(share.line.values()))
                view.leave_line()
                short = next((s for s in view.limits if s.ready(now_s) <= 0), None)
                if short is not None:
                    view.line_up(short)
                    self.gates.hot.touch(short)
                elif view.room > 0:
                    found.append(self._plan_one(view, now_s))
        return found

    def calls(self, now_s: float) -> list[RemoteCall]:
        """Return what to tell and ask the homes now."""
        told, asks = self._waits.due(now_s), []
        for share in self.gates.hot.now(now_s):
            if share.must_ask(now_s):
                told += self._waits.of(share.name, now_s)
                asks.append(self._ask(share))
            elif share.idle:
                self.gates.forget(share)
        calls = [RemoteCall(ToLimit(name), verb) for name, verb in told]  # before its home is asked
        calls += asks
        calls += (RemoteCall(to, verb) for to, verb in self.earlier.due(now_s))
        return calls

    def on_reply(self, call: RemoteCall, reply: Reply, now_s: float) -> None:
        """Learn from a home's answer, or from its absence."""
        if not isinstance(call.to, ToLimit):
            self.earlier.on_reply(call.to, call.verb, reply, now_s)
            return
        if call.verb.script == "slow":
            self._waits.on_reply(call.to.name, call.verb, reply, now_s)
            return
        share = self.gates.limits.get(call.to.name)
        if share is None:
            return
        apart_s = share.apart_s
        try:
            share.on_granted(call.verb.read(reply), now_s)
        except QueuePoolError:
            share.on_failure(now_s)
        self.gates.touch(share)
        for view in list(share.gates.values()) if share.apart_s != apart_s else ():
            self.gates.changed(view)

    def drain(self) -> None:
        """Admit nothing more, and give permits back as jobs end."""
        self.draining = self.gates.closed = True
        for view in list(self.gates.known.values()):
            self.gates.changed(view)

    # -- inside ------------------------------------------------------------------------------------

    @property
    def _stopped(self) -> bool:
        return self.draining or self._lost

    def _wake(self, until_s: float) -> None:
        for view in self._resting.wake(until_s):
            self.gates.changed(view)

    def _on_all_read(self, *, claims: bool) -> None:
        """At gates that were not seen nothing waits, nor was anything admitted."""
        for view in [v for v in self.gates.known.values() if v.seen != self.gates.reading]:
            view.parked = view.planned = 0
            self._note_waiting(view, 0, view.waiting, claims=claims)
            self.gates.changed(view)
        self._whole, self.unsure = False, self.unsure and claims
        if self._lost:
            self._lost = False
            for share in self.gates.limits.values():
                self.gates.hot.touch(share)

    def _plan_one(self, view: GateView, now_s: float) -> tuple[str, int, int]:
        jobs = min([view.room, *(share.ready(now_s) for share in view.limits)])
        for _ in range(jobs):
            view.spend()
        most = view.most_waiting() + view.stranded  # which the server counts as well
        view.planned, view.seen = jobs, self.gates.reading
        self.gates.changed(view)
        return view.name, jobs, most

    def _note_waiting(self, view: GateView, told: int, known: int, *, claims: bool) -> None:
        if not claims:
            view.stranded = min(view.stranded, told)
        told = max(0, told - view.stranded)
        # Fewer than known: claimed, as a reply will tell, or cancelled; look again then.
        self.unsure = self.unsure or (claims and known > told)
        waiting = max(told, known) if claims else told
        self.waiting += waiting - view.waiting
        view.set_waiting(waiting)
        self._unclaimed.note(view)

    def _ask(self, share: Share) -> RemoteCall:
        """Ask the home of a limit for what this owner lacks."""
        self._serial += 1
        asked = share.begin_ask()
        verb = homes.ask(
            self._ownership,
            share.name,
            tokens=asked.tokens,
            held=asked.held,
            wanted=asked.wanted,
            definition=self._definition_of(share.name),
            serial=self._serial,
        )
        return RemoteCall(ToLimit(share.name), verb)
