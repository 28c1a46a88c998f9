"""The server of a simulation, and an eye on it: what each call changed goes into the journal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from queuepool.errors import QueuePoolError
from queuepool.servers import Reply
from queuepool.testing import FakeClock, MemoryServer
from queuepool.testing.clock import START_S
from queuepool.testing.data import PartitionData
from queuepool.verbs import Verb, is_fenced
from tests.simulation.journal import Journal, Record, Terminal
from tests.simulation.scheduler import Scheduler

_GONE = {"finish": "done", "finish_stray": "done", "claim": "expired"}
_MOVING = ("retry", "hand_back")  # what, done twice, sends a job away that runs again
_OF_LIMITS = {"ask", "slow", "set_limit", "pause_limit"}


@dataclass(frozen=True, slots=True)
class Asked:
    """One call of a home of limits, as it was executed."""

    at_s: float
    verb: Verb[Any]
    reply: Any


class Ledger:
    """A partition in memory on virtual time. What it does is what the scripts do, reply by reply.

    (tests/contract proves that: every test there runs on both, and so does a long random walk.)
    beside: that of another partition on the same server.
    """

    def __init__(
        self, scheduler: Scheduler, key: bytes, journal: Journal, beside: Ledger | None = None
    ) -> None:
        self._scheduler, self.key, self.journal = scheduler, key, journal
        self._clock: FakeClock = FakeClock() if beside is None else beside._clock
        self.server: Any = MemoryServer(self._clock) if beside is None else beside.server
        self.asked: list[Asked] = [] if beside is None else beside.asked
        self.data: PartitionData = self.server.data(key)
        self._living: set[int] = set()
        self._stems: dict[int, bytes] = {}
        self.after_call: Callable[[], None] = lambda: None

    def run(self, calls: Sequence[tuple[bytes, Verb[Any]]], *, twice: bool = False) -> list[Reply]:
        """Run calls now. twice: they ran before, and their caller may have heard so."""
        self._catch_up()
        replies: list[Reply] = []
        for key, verb in calls:
            if key == self.key:
                replies.append(self._run(verb))
            else:
                replies += self.server.run(key, [verb])
            if verb.script in _OF_LIMITS:
                self.asked.append(Asked(self._scheduler.now_s, verb, replies[-1]))
            if key != self.key:
                continue
            if twice and verb.script in _MOVING and not is_fenced(replies[-1]):
                self.journal.disturbed.update(a for a in verb.args if isinstance(a, bytes))
            if verb.script == "hand_back":
                self.journal.handed_back.update(a for a in verb.args if isinstance(a, bytes))
            if twice and verb.script == "admit" and not is_fenced(replies[-1]):
                gate = verb.args[2]
                assert isinstance(gate, bytes)
                self.journal.admitted_twice.update(gate.decode().split(","))
        self.after_call()
        return replies

    def look(self, key: bytes, verb: Verb[Any]) -> Reply:
        """Run a verb that only reads, for the checker."""
        self._catch_up()
        return self.server.run(key, [verb])[0]

    def lease_left_s(self, epoch: int) -> float:
        """Return how long an ownership has its right; 0 or less: none."""
        self._catch_up()
        now_ms = self._now_ms()
        owner = self.data.owner
        # The same process under another epoch: its acquire was executed twice.
        if owner is not None and owner.nonce and _stem(owner.nonce) == self._stems.get(epoch):
            return (owner.expires - now_ms) / 1000
        drains = self.data.draining.get(epoch)
        return (drains[1] - now_ms) / 1000 if drains else -1e9

    @property
    def busy(self) -> bool:
        """Return whether any job has not ended, and none holds it."""
        left = len(self.data.jobs) - len(self.data.dead)
        return left > 0 and left > self.data.counters.get("held", 0)

    def pop_token(self) -> bytes | None:
        """Return a wake token, if there is one."""
        return self.data.tokens.popleft() if self.data.tokens else None

    def _catch_up(self) -> None:
        self._clock.advance(max(0.0, START_S + self._scheduler.now_s - self._clock()))

    def close(self) -> None:
        """Do nothing: nothing is open."""

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)

    def _look(self) -> None:
        """Do nothing: the data is at hand."""

    def _run(self, verb: Verb[Any]) -> Reply:
        data, journal, now_s = self.data, self.journal, self._scheduler.now_s
        jobs, dead = set(data.jobs), {i for _, i in data.dead.entries()}
        recovering = next(iter(data.to_recover), None)
        reply = self.server.run(self.key, [verb])[0]
        self._look()
        if isinstance(reply, QueuePoolError):
            journal.problems.append(f"{verb.script} answered {reply}")
        journal.stored += [i for i in data.jobs if i not in jobs]
        ended = [(i, _GONE.get(verb.script, "cancelled")) for i in jobs - data.jobs.keys()]
        died = {i for _, i in data.dead.entries()} - dead
        ended += [(i, "crashed" if verb.script == "recover" else "dead") for i in died]
        for job_id, state in ended:
            journal.terminals.append(Terminal(job_id, state, now_s))
            journal.note(now_s, "server", f"{state} {job_id!r}")
        if journal.records is not None:
            journal.records.append(Record(now_s, verb, reply, ended, recovering))
        self._note_lives(now_s)
        return reply

    def _note_lives(self, now_s: float) -> None:
        living = set(self.data.running_epochs())
        if living == self._living:
            return
        for epoch in self._living - living:
            self.journal.lost_s.setdefault(epoch, now_s)
            self.journal.note(now_s, "server", f"epoch {epoch} is over")
        fresh = living - self._living
        self.journal.epochs += sorted(fresh)
        if self.data.owner is not None:
            self._stems.setdefault(self.data.owner.epoch, _stem(self.data.owner.nonce))
        self._living = living


def _stem(nonce: bytes) -> bytes:
    return nonce.partition(b".")[0]
