"""A walk over the verbs of limits: askers of some partitions at one home.

Their calls may be lost, late or repeated; they die and are succeeded. Checked are what runs (I11)
and what is recorded.

Half of what an asker does is written here once more, as docs/protocol.md says it: from when it asks
until it hears, it starts nothing beyond the jobs that it told.
"""

from __future__ import annotations

import threading
import uuid
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

import redis
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from queuepool.models import Limit
from queuepool.models.places import DEFAULT_POOL
from queuepool.partitions.partition import Partition
from queuepool.protocol.keys import Keyspace
from queuepool.servers.sync import Server
from queuepool.verbs import Verb
from queuepool.verbs.limits import verbs as limit
from queuepool.verbs.owner.replies import Ownership
from tests.contract.limiting import S, permits, rate
from tests.contract.world import age

NAME = "mail"
DECLARED = permits(3), permits(5), rate(4, burst=2, permits=3), rate(50, per_s=10.0, burst=7)
SET = Limit(NAME, concurrency=1), Limit(NAME, concurrency=6), Limit(NAME, rate=9, concurrency=2)
MANY = 10**6
PLACES = (0, DEFAULT_POOL), (1, DEFAULT_POOL), (1, "video")  # partitions, and a pool of one
askers = st.integers(0, 8)


@dataclass(slots=True, eq=False)
class Asker:
    """One ownership as its process knows it. since: the home's bounds from its last grant on."""

    ownership: Ownership
    running: int = 0
    permits: int = 0
    serial: int = 0
    heard: int = 0  # the serial of the newest answer
    alive: bool = True


@dataclass(slots=True)
class Sent:
    """An ask on its way, executed any number of times. reply: of the first time."""

    asker: Asker
    serial: int
    verb: Verb[limit.Granted]
    reply: limit.Granted | None = None


class HomesMachine(RuleBasedStateMachine):
    """One home on a real server, and owners of two partitions and of another pool of one."""

    url = ""  # of the server; set by the test

    def __init__(self) -> None:
        super().__init__()
        self.server = Server(self.url)
        self.client: Any = redis.Redis.from_url(self.url)
        self.key = Keyspace(stage=f"homes-{uuid.uuid4().hex[:12]}").partition(0)
        self.partition = Partition(0, self.key, self.server)
        self.askers: list[Asker] = []
        self.sent: list[Sent] = []
        self.declared, self.by_people, self.paused = "", "", False
        self.bounds: list[int] = []  # of jobs at once, one after the other
        self.since: dict[int, int] = {}  # asker -> which bound was the newest at its last grant
        self.usable: list[tuple[float, str]] = []  # us from which a token may be used, definition
        self.shift_us = self.slow_until_us = 0

    def teardown(self) -> None:
        for key in self.client.scan_iter(match=self.key + b":*"):
            self.client.delete(key)
        self.client.close()
        self.server.close()

    @initialize(declared=st.sampled_from(DECLARED))
    def begin(self, declared: str) -> None:
        self.declared = declared
        self._bound()
        for number, pool in PLACES:  # pools of one partition may have the same epochs
            self.askers.append(Asker(Ownership(number, "nonce", 100 + number, pool)))

    def run(self, verb: Verb[Any]) -> Any:
        threading.Event().wait(0.001)  # two calls never share a millisecond
        return self.partition.run(verb)

    def asker(self, n: int) -> Asker:
        """Return one of those alive, or none of them is."""
        alive = [asker for asker in self.askers if asker.alive]
        return alive[n % len(alive)]

    def of(self, name: int | str) -> list[Asker]:
        """Return the askers of a partition, or of another pool of it: the newest last."""
        return [asker for asker in self.askers if asker.ownership.asker == name]

    # -- askers ------------------------------------------------------------------------------------

    @rule(n=askers, tokens=st.integers(0, 9), more=st.integers(0, 6))
    def send(self, n: int, tokens: int, more: int) -> None:
        asker = self.asker(n)
        asker.serial += 1
        asker.permits = min(asker.permits, asker.running)
        verb = limit.ask(
            asker.ownership,
            NAME,
            tokens=tokens,
            held=asker.running,
            wanted=asker.running + more,
            definition=self.declared,
            serial=asker.serial,
        )
        self.sent = [*self.sent[-12:], Sent(asker, asker.serial, verb)]

    @rule(n=st.integers(0, 12), heard=st.booleans())
    @precondition(lambda self: self.sent)
    def deliver(self, n: int, heard: bool) -> None:
        """Execute an ask, in any order, for the first time or again; its asker may hear of it."""
        sent = self.sent[-1 - n % len(self.sent)]
        reply: limit.Granted = self.run(sent.verb)
        self._note_tokens(reply)
        sent.reply = sent.reply or reply
        asker = sent.asker
        if heard and asker.alive and sent.serial == asker.serial > asker.heard:
            asker.heard, asker.permits = sent.serial, reply.permits
            self.since[id(sent.asker)] = len(self.bounds) - 1

    @rule(n=askers, more=st.integers(0, 6))
    def ask(self, n: int, more: int) -> None:
        self.send(n, 3, more)
        self.deliver(0, heard=True)

    @rule(n=askers, jobs=st.integers(1, 6))
    def start(self, n: int, jobs: int) -> None:
        asker = self.asker(n)
        began = min(jobs, max(0, asker.permits - asker.running))
        asker.running += began
        if not began or MANY in self.bounds:  # nobody knows what ran before there was a bound
            return
        bound = max(self.bounds[self.since[id(asker)] :])
        running = [other.running for other in self.askers]
        assert sum(running) <= bound, f"I11: {running} run at once, of at most {bound}"

    @rule(n=askers, jobs=st.integers(1, 6))
    def end(self, n: int, jobs: int) -> None:
        asker = self.asker(n)
        asker.running = max(0, asker.running - jobs)

    @rule(n=askers, over=st.booleans())
    def take_over(self, n: int, over: bool) -> None:
        """Another process owns the partition; the former one may run its jobs to their end."""
        old = self.asker(n)
        newest = max(one.ownership.epoch for one in self.of(old.ownership.asker))
        if newest != old.ownership.epoch:
            return
        self.askers.append(Asker(replace(old.ownership, epoch=newest + 10)))
        old.alive = not over

    @rule(n=st.integers(0, 2))
    def recover(self, n: int) -> None:
        """No job of earlier ownerships can run: their permits are free."""
        mine = self.of(self.askers[n].ownership.asker)
        for old in mine[:-1]:
            old.alive, old.running, old.permits = False, 0, 0
        freed = sum(n for name, (n, *_) in self._entries().items() if self._is_old(name, mine[-1]))
        verb = limit.end_permits(mine[-1].ownership.asker, mine[-1].ownership.epoch)

        assert self.run(verb) == (b"0", freed)

        assert not [
            name for name, (n, *_) in self._entries().items() if n and self._is_old(name, mine[-1])
        ]

    # -- people, downstream, time ------------------------------------------------------------------

    @rule(chosen=st.sampled_from(SET))
    def set_limit(self, chosen: Limit) -> None:
        assert self.run(limit.set_limit(chosen)) == (self.by_people != chosen.definition)
        self.by_people = chosen.definition
        self._bound()

    @rule()
    def remove_limit(self) -> None:
        known = self.run(limit.find_limit(NAME)) is not None
        changed = self.run(limit.remove_limit(NAME))
        assert changed == (bool(self.by_people or self.paused) if known else None)
        self.by_people, self.paused = "", False
        self._bound()

    @rule(on=st.sampled_from((False, False, True)))
    def pause(self, on: bool) -> None:
        known = self.run(limit.find_limit(NAME)) is not None
        before_us = self._now_us()
        changed = self.run(limit.pause_limit(NAME, on=on))
        if not known and not on:
            assert changed is None
            return
        until_us, after_us = self.slow_until_us, self._now_us()
        waited = not on and until_us > after_us
        either = not on and before_us - 0.2 * S < until_us < after_us + 0.2 * S
        assert either or changed == (waited or on != self.paused)
        self.paused = on
        if waited or either:
            self.slow_until_us = 0

    @rule(ms=st.sampled_from((50, 2_000)))
    def slow(self, ms: int) -> None:
        until_us = self.run(limit.slow(NAME, ms, self.declared)) + self.shift_us
        assert until_us >= self.slow_until_us, "told to wait less than before"
        self.slow_until_us = until_us

    @rule(seconds=st.sampled_from((0.1, 0.5, 1.5, 4.0)))
    def pass_time(self, seconds: float) -> None:
        age(self.client, self.key, round(seconds * 1000))
        self.shift_us += round(seconds * 1000) * 1000

    # -- what must hold ----------------------------------------------------------------------------

    @invariant()
    def permits_sum_up(self) -> None:
        """Permits in use are those of the askers, each of which its partition is noted to have."""
        entries = self._entries()
        used = self.client.hget(self.key + b":li:mail", "used")
        summed = self.client.hexists(self.key + b":li:mail", "summed")
        permits = {name: n for name, (n, *_) in entries.items() if n}
        noted = set[bytes]()
        for key in self.client.scan_iter(match=self.key + b":lp:*"):
            number = key.rpartition(b":")[2]
            fields = [field for field in self.client.hkeys(key) if field]
            noted |= {b"%s:%s" % (number, field.rpartition(b":")[2]) for field in fields}
        assert noted == set(permits), f"permits are noted for {noted}, had by {permits}"
        if summed and used is not None:
            assert int(used) == sum(permits.values()), f"{used} permits in use, not {permits}"
        if MANY in self.bounds:
            return
        running = {f"{a.ownership.asker}:{a.ownership.epoch}".encode(): a for a in self.askers}
        for name, asker in running.items():
            assert asker.running <= permits.get(name, 0), (
                f"{name!r} runs {asker.running} jobs with {permits.get(name, 0)} permits"
            )

    @invariant()
    def tokens_keep_their_rate(self) -> None:
        for definition in {text for _, text in self.usable}:
            each, per_us, burst = map(int, definition.split(":")[:3])
            times = sorted(at for at, text in self.usable if text == definition)
            for window_us in (0, per_us // each, S, 5 * S):
                most = max((bisect_right(times, t + window_us) - i for i, t in enumerate(times)))
                bound = each * (window_us + 2) / per_us + max(1, burst)
                assert most <= bound + 1e-6, f"I11: {most} tokens in {window_us} us of {definition}"

    def _note_tokens(self, reply: limit.Granted) -> None:
        definition = self.by_people or self.declared
        if not reply.tokens or not int(definition.partition(":")[0]):
            return
        assert not self.paused, "tokens of a limit that is paused"
        now_us = reply.now_us + self.shift_us
        for n in range(reply.tokens):
            at = max(now_us, reply.first_us + self.shift_us + n * reply.apart_us)
            assert at >= self.slow_until_us, "a token for a time at which all wait"
            self.usable.append((at, definition))

    def _entries(self) -> dict[bytes, tuple[int, ...]]:
        found = self.client.hgetall(self.key + b":lc:mail")
        return {name: tuple(map(int, said.split(b":"))) for name, said in found.items()}

    def _is_old(self, name: bytes, newest: Asker) -> bool:
        number, _, epoch = name.partition(b":")
        own = newest.ownership
        return number.decode() == str(own.asker) and int(epoch) < own.epoch

    def _bound(self) -> None:
        most = int((self.by_people or self.declared).split(":")[3])
        self.bounds.append(most or MANY)

    def _now_us(self) -> int:
        seconds, us = self.client.time()
        return int(seconds) * S + int(us) + self.shift_us
