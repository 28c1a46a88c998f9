"""What the rules share: a server, a model of it, processes; and the faults."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import redis
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from queuepool.models import JobState
from queuepool.partitions.partition import Partition
from queuepool.protocol.keys import Keyspace
from queuepool.servers.sync import Server
from queuepool.verbs import Verb
from tests.contract.world import age, older
from tests.property.model import invariants
from tests.property.model.process import FENCED, Life, call
from tests.property.model.records import Place
from tests.property.model.space import Space, read
from tests.property.model.state import State

STEP_S = 1000  # time passes in such steps: longer than ended ids are remembered
LEASES_S = (600.0, 2_500.0)
ERROR = b'{"reason":"failed"}'
CRASHED = b'{"reason":"crashed"}'
OWN_IDS = tuple(b"own-%d" % n for n in range(10))
WEIGHTS = ((6, 3, 2, 1), (1, 1, 1, 1), (0, 0, 0, 0))
PLACES = {
    Place.READY: JobState.READY,
    Place.PARKED: JobState.PARKED,
    Place.DELAYED: JobState.DELAYED,
    Place.BOOKED: JobState.IN_FLIGHT,
    Place.DEAD: JobState.DEAD,
}

picks = st.lists(st.integers(0, 30), min_size=1, max_size=8)
who = st.sampled_from((0, 0, 0, 0, 1, 2))  # which life, the newest first
tiers = st.sampled_from((2, 0, 1, 3))
delays = st.sampled_from((0, 0, 0, 1, 2))


class BaseMachine(RuleBasedStateMachine):
    """One partition on a real server, a model of it, and the processes that work on it."""

    url = ""  # of the server; set by the test

    def __init__(self) -> None:
        super().__init__()
        stage = f"model-{uuid.uuid4().hex[:12]}"
        self.server = Server(self.url)
        self.client: Any = redis.Redis.from_url(self.url)
        self.keyspace = Keyspace(stage=stage)
        self.partition = Partition(0, self.keyspace.partition(0), self.server)
        self.state = State()
        self.space = Space()
        self.lives: list[Life] = []
        self.newest_epoch = 0
        self.fresh = 0
        self.cursors: dict[bytes, tuple[bytes, int]] = {}  # group -> cursor, rollbacks seen
        self.copy: tuple[list[tuple[bytes, bytes, int]], State] | None = None
        self.rollbacks = 0

    def teardown(self) -> None:
        for key in self.client.keys(self.partition.key + b":*"):
            self.client.delete(key)
        self.client.close()
        self.server.close()

    # What the rules share

    def run(self, verb: Verb[Any]) -> Any:
        """Call a script, count the call, and look at everything that is stored now."""
        threading.Event().wait(0.001)  # two calls never share a millisecond
        self.state.call += 1
        reply = call(self.partition, verb)
        self.space = read(self.client, self.partition.key)
        return reply

    def life(self, back: int) -> Life:
        """Return a life, counted from the newest one; it may be over."""
        return self.lives[max(-1 - back, -len(self.lives))]

    def as_owner(
        self, life: Life, verb: Verb[Any], expect: Callable[[Any], Any], *, draining: bool = True
    ) -> Any:
        """Call a script for a life; expect what the model says, or a refusal that changes nothing.

        `expect` tells the model and returns the reply that it promises.
        """
        may = self.state.may_end_jobs if draining else self.state.owns
        allowed = may(life.ownership.nonce, life.ownership.epoch)
        reply = self.run(verb)
        if not allowed:
            self.state.counters["fenced"] += verb.script != "release"
            assert reply == FENCED, f"{verb.script} by a life that is over: {reply}"
            return FENCED
        promised = expect(reply)
        assert reply == promised, f"{verb.script} returned {reply}, not {promised}"
        return reply

    # Time and faults

    @rule(steps=st.sampled_from((1, 2)))
    def pass_time(self, steps: int) -> None:
        self.grow_older(steps * STEP_S * 1000)
        self.state.pass_time(steps * STEP_S)
        self.space = read(self.client, self.partition.key)

    def grow_older(self, ms: int) -> None:
        """Let time pass for all that is stored, and for the bodies that processes know."""
        age(self.client, self.partition.key, ms)
        for life in self.lives:
            life.bodies = {i: older(body, ms) for i, body in life.bodies.items()}

    @rule()
    def forget_scripts(self) -> None:
        self.client.script_flush()

    @rule()
    def replicate(self) -> None:
        keys = self.client.keys(self.partition.key + b":*")
        pipe = self.client.pipeline()
        for key in keys:
            pipe.dump(key)
            pipe.pttl(key)
        replies = pipe.execute()
        dumps = zip(keys, replies[::2], replies[1::2], strict=True)
        self.copy = ([d for d in dumps if d[1] is not None], deepcopy(self.state))

    @rule()
    @precondition(lambda self: self.copy is not None)
    def fail_over(self) -> None:
        """Go back to what the replica had, unlike time and what processes know."""
        assert self.copy is not None
        dumps, then = self.copy
        passed, calls, births = self.state.now_s - then.now_s, self.state.call, self.state.births
        pipe = self.client.pipeline()
        for key in self.client.keys(self.partition.key + b":*"):
            pipe.delete(key)
        for key, dump, ttl in dumps:
            pipe.restore(key, max(0, ttl), dump)
        pipe.script_flush()
        pipe.execute()
        self.state = deepcopy(then)
        self.state.call, self.state.births = calls, births
        self.rollbacks += 1
        if passed:
            age(
                self.client, self.partition.key, int(passed * 1000)
            )  # what processes know did already
            self.state.pass_time(passed)
        self.space = read(self.client, self.partition.key)

    @invariant()
    def nothing_impossible_is_stored(self) -> None:
        invariants.check_laws(self.space)
        invariants.check_same(self.space, self.state)
