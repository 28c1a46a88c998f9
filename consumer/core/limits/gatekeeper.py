"""Which parked jobs an owner admits, and what it asks the homes of limits. Pure.

    a gate with ids --tokens and permits of all its limits--> admit planned --> admitted --> claimed
             `-- too few --> asks, one at a time for each limit; a turn never waits for a home

Invariants
  G1 jobs of a limit that were admitted and have not ended, as far as this owner knows, are never
     more than the permits that its home granted; nor, from an ask on until its answer, than those
     that the ask named. A job counts from when its admission is planned.
  G2 each admission uses one token of every limit of its gate, and none if one of them has none.
  G3 no more jobs are admitted and not claimed than the rate allows in MOST_WAITING_S, at least one:
     while all workers are busy, tokens are not used for jobs that start much later.
  G4 permits of earlier ownerships are ended once no job of theirs can run.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from math import ceil, inf
from typing import TYPE_CHECKING, Any

from consumer.core.limits.share import Share
from queuepool.errors import QueuePoolError
from queuepool.verbs.limits import verbs as homes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from queuepool.servers import Reply
    from queuepool.verbs import Verb
    from queuepool.verbs.limits.verbs import Granted
    from queuepool.verbs.owner.replies import Admitted, Gate, Ownership

MOST_WAITING_S = 0.1
_UNBOUNDED = 5000  # jobs admitted ahead where no rate bounds them
_BATCH = 200
_GATES = 1000  # known at once; others follow as these empty


@dataclass(slots=True)
class HomeCall:
    """One verb for the home of a limit; name "": for every partition."""

    name: str
    verb: Verb[Any]
    tokens: int = 0
    held: int = 0
    wanted: int = 0
    partition: int | None = None


@dataclass(slots=True)
class _GateView:
    limits: tuple[Share, ...]
    parked: int = 0
    waiting: int = 0  # admitted, not claimed


class Gatekeeper:
    """The gates of one partition. definition_of: what code declares of a limit, "" for nothing."""

    def __init__(self, ownership: Ownership, definition_of: Callable[[str], str]) -> None:
        self._ownership, self._definition_of = ownership, definition_of
        self._gates: dict[str, _GateView] = {}
        self._shares: dict[str, Share] = {}
        self._order: deque[str] = deque()
        self._of: dict[bytes, str] = {}  # claimed jobs -> gate
        self._serial = 0
        self._slow: dict[str, int] = {}
        self._ended_permits = False
        self._look_s = 0.0  # before that, and without news, there is nothing to do
        self.unsure = False  # fewer jobs may be waiting for a claim than it seems
        self.stale = True  # permits of earlier ownerships may be there
        self.draining = False

    # -- what is known -----------------------------------------------------------------------------

    def on_gates(self, found: Iterable[Gate], *, armed: bool) -> None:
        """Learn what waits where. armed: a claim may be carried out, and its reply unread."""
        for gate in found:
            view = self._gates.get(gate.limits)
            if view is None and len(self._gates) < _GATES:
                view = self._open(gate.limits)
            if view is not None:
                view.parked = gate.parked
                self._note_waiting(view, gate.waiting, view.waiting if armed else 0)
        self._count()

    def on_admitted(
        self, name: str, planned: int, admitted: Admitted, now_s: float, *, armed: bool
    ) -> None:
        """Learn what an admission did. armed: as for on_gates."""
        view = self._gates.get(name)
        if view is None:
            return
        view.parked, known = admitted.left, view.waiting + admitted.admitted
        self._note_waiting(view, admitted.waiting, known if armed else 0)
        for share in view.limits:
            share.give_back(planned - admitted.admitted, now_s)
        self._count()

    def on_claimed(self, limits: Sequence[bytes]) -> None:
        """Note the claimed jobs that name limits: id, gate, ..."""
        for job_id, gate in zip(limits[::2], limits[1::2], strict=True):
            name = gate.decode("utf-8", "replace")
            view = self._gates.get(name) or self._open(name)
            view.waiting = max(0, view.waiting - 1)
            self._of[bytes(job_id)] = name
        self._look_s = 0.0

    def on_recorded(self, claimed: Collection[bytes]) -> None:
        """Forget jobs that are not ours any more. claimed: those that are."""
        if not self._of:
            return
        gone = [job_id for job_id in self._of if job_id not in claimed]
        for job_id in gone:
            del self._of[job_id]
        if gone:
            self._count()

    def on_slow(self, job_id: bytes, wait_ms: int) -> None:
        """Pass on that what a job needs told it to wait."""
        self._look_s = 0.0
        gate = self._of.get(job_id)
        for name in gate.split(",") if gate else ():
            self._slow[name] = max(wait_ms, self._slow.get(name, 0))

    # -- what to do --------------------------------------------------------------------------------

    def next_s(self, now_s: float) -> float:
        """Return when to look again, if nothing happens until then; inf for never."""
        if now_s < self._look_s:
            return self._look_s
        first_s = now_s if self._slow or (self.stale and self._ended_permits) else inf
        for share in self._shares.values():
            wanted = self._wanted(share)
            if wanted and self._may_admit(share, now_s):
                return now_s
            first_s = min(first_s, share.next_s(wanted, now_s))
        self._look_s = max(first_s, now_s)
        return self._look_s

    def plan(self, now_s: float, most: int = 8) -> list[tuple[str, int, int]]:
        """Return (gate, jobs, most that may wait for a claim) to admit now; uses their tokens."""
        found: list[tuple[str, int, int]] = []
        if now_s < self._look_s:
            return found
        for name in list(self._order):
            if len(found) == most or self.draining:
                break
            view = self._gates[name]
            jobs = min([self._room(view), *(s.ready(now_s) for s in view.limits)])
            if jobs <= 0:
                continue
            for share in view.limits:
                share.spend(jobs)
                share.used += jobs
            self._order.remove(name)
            self._order.append(name)
            found.append((name, jobs, self._most_waiting(view)))
        return found

    def calls(self, now_s: float) -> list[HomeCall]:
        """Return what to ask the homes now."""
        if now_s < self._look_s:
            return []
        calls = [
            HomeCall(name, homes.slow(name, wait_ms, self._definition_of(name)))
            for name, wait_ms in self._slow.items()
        ]
        self._slow.clear()
        for share in list(self._shares.values()):
            wanted = self._wanted(share)
            if share.must_ask(wanted, now_s):
                calls.append(self._ask(share, wanted))
            elif not (wanted or share.used or share.told or share.asking or share.gates):
                del self._shares[share.name]
        if self.stale and self._ended_permits:
            self.stale = self._ended_permits = False
            ownership = self._ownership
            calls.append(HomeCall("", homes.end_permits(ownership.partition, ownership.epoch)))
        return calls

    def on_reply(self, call: HomeCall, reply: Reply, now_s: float) -> None:
        """Learn from a home's answer, or from its absence."""
        self._look_s = 0.0
        share = self._shares.get(call.name)
        if share is None or call.verb.script != "ask":
            return
        try:
            granted: Granted = call.verb.read(reply)
        except QueuePoolError:
            share.on_failure(now_s)
        else:
            share.on_granted(granted, call.tokens, call.held, call.wanted, now_s)

    def drain(self) -> None:
        """Admit nothing more, and give permits back as jobs end."""
        self.draining, self._look_s = True, 0.0

    def end_earlier_permits(self) -> None:
        """Note that no job of an earlier ownership can run."""
        self._ended_permits, self._look_s = True, 0.0

    # -- inside ------------------------------------------------------------------------------------

    def _note_waiting(self, view: _GateView, told: int, known: int) -> None:
        # Fewer than known: claimed, as a reply will tell, or cancelled; look again then.
        view.waiting = max(told, known)
        self.unsure = self.unsure or known > told

    def _open(self, name: str) -> _GateView:
        shares = tuple(self._share(limit) for limit in name.split(","))
        view = self._gates[name] = _GateView(shares)
        self._order.append(name)
        for share in shares:
            share.gates.add(name)
        return view

    def _share(self, name: str) -> Share:
        share = self._shares.get(name)
        if share is None:
            share = self._shares[name] = Share(name)
        return share

    def _count(self) -> None:
        """Count what each limit has in use, and forget gates where nothing waits or runs."""
        self._look_s = 0.0
        running = Counter(self._of.values())
        for name, view in list(self._gates.items()):
            if not (view.parked or view.waiting or running[name]):
                del self._gates[name]
                self._order.remove(name)
                for share in view.limits:
                    share.gates.discard(name)
        for share in self._shares.values():
            views = ((name, self._gates[name]) for name in share.gates)
            share.used = sum(view.waiting + running[name] for name, view in views)

    def _most_waiting(self, view: _GateView) -> int:
        apart_s = max(share.apart_s for share in view.limits)
        return max(1, ceil(MOST_WAITING_S / apart_s)) if apart_s else _UNBOUNDED

    def _room(self, view: _GateView) -> int:
        return min(view.parked, self._most_waiting(view) - view.waiting, _BATCH)

    def _wanted(self, share: Share) -> int:
        if self.draining:
            return 0
        return sum(max(0, self._room(self._gates[name])) for name in share.gates)

    def _may_admit(self, share: Share, now_s: float) -> bool:
        if share.ready(now_s) <= 0:
            return False
        views = (self._gates[name] for name in share.gates)
        return any(
            self._room(view) > 0 and all(s.ready(now_s) > 0 for s in view.limits) for view in views
        )

    def _ask(self, share: Share, wanted: int) -> HomeCall:
        self._serial += 1
        tokens = max(0, share.lacks(wanted))
        held, total = share.used, share.used + wanted
        share.begin_ask()
        verb = homes.ask(
            self._ownership,
            share.name,
            tokens=tokens,
            held=held,
            wanted=total,
            definition=self._definition_of(share.name),
            serial=self._serial,
        )
        return HomeCall(share.name, verb, tokens, held, total)
