"""A long random walk over every verb, in memory and on a server side by side.

Whatever the verbs do to one, they must do to the other, reply by reply and key by key; and after
every stretch the laws of the data model hold.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import asdict, is_dataclass, replace
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace as changed

from queuepool.errors import FencedError
from queuepool.models import JobStatus, PartitionState
from queuepool.partitions.partition import OwnedPartition
from queuepool.routing.slots import group_of
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.conftest import check_invariants
from tests.contract.snapshot import snapshot

GROUPS = (
    *(b"a", b"bb", b"c:{x}*", b"\x00\xff", b"e"),
    *(group_of(key, tenant) for tenant in (b"t", b"\xc3\xa5") for key in (b"e", b"f")),
)
STEP_S = 1000.0  # delays and advances are multiples: the walk's own duration never decides
STEPS, EVERY = 700, 10


class Walker:
    """Performs the same steps on one world as its twin does on the other."""

    def __init__(self, world: w.World) -> None:
        self.world = world
        self.owners: list[OwnedPartition] = []
        self.claims: list[own.Claims] = []

    def acquire(self, nonce: str) -> Any:
        got = self.world.partition.acquire(lease_s=600, host="walk", nonce=nonce)
        if isinstance(got, own.Held):
            return "held"
        self.owners = [*self.owners[-2:], got]
        a = got.acquired
        return a.epochs_to_recover, a.checkpoint, a.applied

    def body(self, job_id: bytes) -> bytes:
        """Return the body of an id as it was claimed last."""
        newest = next(c for c in reversed(self.claims) if job_id in c.ids)
        return newest.bodies[newest.ids.index(job_id)]

    def owned(self, action: Callable[[OwnedPartition], Any], back: int = 0) -> Any:
        if not self.owners:
            return None
        try:
            return plain(action(self.owners[max(-1 - back, -len(self.owners))]))
        except FencedError:
            return "fenced"


def plain(reply: Any) -> Any:
    """Return a reply without its times."""
    if isinstance(reply, own.Claims):
        bodies = [b[:2] + b[13:] for b in reply.bodies]
        return reply.ids, bodies, reply.attempts, reply.crashes, reply.taken
    if isinstance(reply, own.Renewal):
        commands = [replace(c, expires_ms=0) for c in reply.commands]
        waits = None if reply.next_due_ms is None else reply.next_due_ms > 0
        return (
            reply.draining,
            reply.rolled_back,
            reply.epochs_to_recover,
            waits,
            commands,
            reply.cancels,
        )
    if isinstance(reply, own.Promoted):
        waits = None if reply.next_due_ms is None else reply.next_due_ms > 0
        return reply.promoted, reply.cancelled, waits
    if isinstance(reply, JobStatus):
        return replace(reply, enqueued_ms=None, at_ms=None if reply.at_ms is None else 1)
    if isinstance(reply, PartitionState):
        known = msgspec.to_builtins(
            changed(reply, counters={}, observed_ms=0, oldest_ms=0, checkpoint_ms=0)
        )
        owner = known["owner"]
        if owner:
            owner.update(epoch=0, lease_ms=0, heartbeat_ms=0)
        return known
    return asdict(reply) if is_dataclass(reply) and not isinstance(reply, type) else reply


class Walk:
    """Draws one step after another; knows which jobs were claimed and which ids there are."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.made = 0
        self.known: list[str] = ["never"]
        self.groups: dict[str, bytes] = {}
        self.bodies: dict[bytes, bytes] = {}
        self.dead: list[str] = []
        self.commands = 0

    def some(self, most: int) -> list[bytes]:
        """Return ids that were claimed; most are still in flight."""
        pool = list(self.bodies)[-40:]
        return self.random.sample(pool, min(len(pool), self.random.randint(1, most)))

    def step(self) -> Callable[[Walker], Any]:
        """Return the next step."""
        choices: dict[str, int] = {
            "enqueue": 22, "claim": 22, "finish": 14, "retry": 6, "bury": 4, "hand_back": 4,
            "start": 4, "end_cancelled": 2, "progress": 3, "cancel": 5, "cancel_group": 2,
            "promote": 6, "advance": 4, "acquire": 6, "release": 2, "renew": 4, "recover": 8,
            "status": 4, "set_aside": 4, "rouse": 3,
            "group": 3, "dead_jobs": 3, "replay": 2, "discard": 1, "command": 2, "observe": 2,
        }  # fmt: skip
        name = self.random.choices(list(choices), list(choices.values()))[0]
        step: Callable[[Walker], Any] = getattr(self, name)()
        step.__name__ = name
        return step

    def enqueue(self) -> Callable[[Walker], Any]:
        r = self.random
        group, tier = r.choice(GROUPS), r.choice((0, 1, 2, 2, 2, 3))
        old = [i for i in self.known if self.groups.get(i) == group]  # an id stays in its group
        ids = []
        for _ in range(r.randint(1, 12)):
            if old and r.random() < 0.1:
                ids.append(r.choice(old))
            else:
                self.made += 1
                ids.append(f"id{r.randrange(10**6):06d}-{self.made}")
        self.known = (self.known + ids)[-60:]
        self.groups.update(dict.fromkeys(ids, group))
        delay_ms = r.choice((0, 0, 0, 1, 2)) * int(STEP_S) * 1000
        payload = b"x" * r.randint(0, 30)
        depth = r.choice((10**6,) * 9 + (60,))
        return lambda t: plain(
            w.enqueue(
                t.world,
                ids,
                group,
                tier=tier,
                delay_ms=delay_ms,
                payload=payload,
                max_depth=depth,
            )
        )

    def claim(self) -> Callable[[Walker], Any]:
        r = self.random
        limit = r.choice((1, 3, 8, 25, 60))
        starting, weights = r.randint(0, limit), r.choice((w.WEIGHTS, w.STRICT, (1, 1, 1, 1)))

        def step(t: Walker) -> Any:
            if not t.owners:
                return None
            try:
                claims = w.claim(t.owners[-1], limit, starting=starting, weights=weights)
            except FencedError:
                return "fenced"
            self.bodies.update(zip(claims.ids, claims.bodies, strict=True))
            t.claims.append(claims)
            return plain(claims)

        return step

    def finish(self) -> Callable[[Walker], Any]:
        ids, back = self.some(12), self.random.choice((0, 0, 0, 1))
        results = self.random.random() < 0.3

        def act(t: Walker, o: OwnedPartition) -> Any:
            bodies = [t.body(i) for i in ids]
            return w.finish(o, own.Claims(0, ids, bodies, (), (), 0), results=results)

        return lambda t: t.owned(lambda o: act(t, o), back) if ids else None

    def retry(self) -> Callable[[Walker], Any]:
        ids, charge = self.some(5), self.random.random() < 0.7
        delay_ms, back = self.random.choice((0, 1, 2)) * int(STEP_S) * 1000, self._back()
        return lambda t: t.owned(lambda o: w.retry(o, ids, delay_ms=delay_ms, charge=charge), back)

    def set_aside(self) -> Callable[[Walker], Any]:
        ids, task, back = self.some(5), self.random.choice(("one", "other")), self._back()
        jobs = [(i, int(STEP_S) * 1000, task, b'{"reason":"unknown-task"}') for i in ids]
        return lambda t: t.owned(lambda o: o.run(own.retry(o.ownership, jobs)), back)

    def rouse(self) -> Callable[[Walker], Any]:
        back = self._back()
        return lambda t: t.owned(lambda o: o.run(own.rouse(o.ownership, b"0", ["one"])), back)

    def bury(self) -> Callable[[Walker], Any]:
        ids, keep, back = self.some(4), self.random.choice((3, 12)), self._back()
        self.dead = (self.dead + [i.decode() for i in ids])[-30:]
        return lambda t: t.owned(lambda o: w.bury(o, ids, keep_jobs=keep), back)

    def hand_back(self) -> Callable[[Walker], Any]:
        ids, back = self.some(6), self._back()
        return lambda t: t.owned(lambda o: o.run(own.hand_back(o.ownership, ids)), back)

    def start(self) -> Callable[[Walker], Any]:
        ids, back = self.some(6) or [b"none"], self._back()
        return lambda t: t.owned(lambda o: o.run(own.start(o.ownership, ids)), back)

    def end_cancelled(self) -> Callable[[Walker], Any]:
        ids, back = self.some(3), self._back()
        return lambda t: t.owned(lambda o: o.run(own.end_cancelled(o.ownership, ids)), back)

    def progress(self) -> Callable[[Walker], Any]:
        texts = {i: b"%d" % self.random.randrange(10**9) * 40 for i in self.some(3)}
        return lambda t: t.owned(lambda o: o.run(own.progress(o.ownership, texts)))

    def cancel(self) -> Callable[[Walker], Any]:
        job_id = self.random.choice(self.known)
        return lambda t: t.world.partition.cancel(job_id)

    def cancel_group(self) -> Callable[[Walker], Any]:
        group = self.random.choice(GROUPS)
        return lambda t: t.world.partition.cancel_group(group)

    def promote(self) -> Callable[[Walker], Any]:
        return lambda t: t.owned(w.promote)

    def advance(self) -> Callable[[Walker], Any]:
        seconds = STEP_S * self.random.choice((1, 1, 2))
        return lambda t: t.world.advance(seconds)

    def acquire(self) -> Callable[[Walker], Any]:
        nonce = self.random.choice("xyz")
        return lambda t: t.acquire(nonce)

    def release(self) -> Callable[[Walker], Any]:
        lease_ms, back = self.random.choice((0, 600_000)), self._back()
        return lambda t: t.owned(
            lambda o: o.run(own.release(o.ownership, drain_lease_ms=lease_ms)), back
        )

    def renew(self) -> Callable[[Walker], Any]:
        beat, back = self.random.randint(1, 4), self._back()
        return lambda t: t.owned(lambda o: w.renew(o, beat=beat), back)

    def recover(self) -> Callable[[Walker], Any]:
        return lambda t: t.owned(lambda o: list(w.recover(o)))

    def status(self) -> Callable[[Walker], Any]:
        job_id = self.random.choice(self.known)
        return lambda t: plain(t.world.partition.status(job_id))

    def group(self) -> Callable[[Walker], Any]:
        group = self.random.choice(GROUPS)
        return lambda t: plain(
            replace(t.world.partition.group(group), created_ms=None, finished_ms=None)
        )

    def dead_jobs(self) -> Callable[[Walker], Any]:
        return lambda t: [
            (d.job_id, d.attempts, d.crashes, d.error) for d in t.world.partition.dead()
        ]

    def replay(self) -> Callable[[Walker], Any]:
        ids = self.random.sample(self.dead, min(3, len(self.dead))) or ["none"]
        return lambda t: t.world.partition.replay(ids)

    def discard(self) -> Callable[[Walker], Any]:
        ids = self.random.sample(self.dead, min(3, len(self.dead))) or ["none"]
        return lambda t: t.world.partition.discard(ids)

    def command(self) -> Callable[[Walker], Any]:
        self.commands += self.random.choice((0, 1, 2))
        epoch, sequence = divmod(self.commands, 7)
        kind, target = self.random.choice(("NOOP", "SCALE_UP")), self.random.randint(1, 9)
        verb = lead.command(
            epoch + 1,
            sequence,
            type=kind,
            partition=0,
            target_workers=target,
            reason="r",
            expires_ms=9,
        )
        return lambda t: t.world.partition.run(verb)

    def observe(self) -> Callable[[Walker], Any]:
        return lambda t: plain(t.world.partition.observe())

    def _back(self) -> int:
        return self.random.choice((0, 0, 0, 1))


@pytest.fixture
def twins(server_world: w.World) -> tuple[Walker, Walker]:
    """A walker in memory and one on a server."""
    return Walker(w.memory_world()), Walker(server_world)


@pytest.mark.parametrize("seed", [1, 2])
def test_memory_and_server_never_differ(twins: tuple[Walker, Walker], seed: int) -> None:
    memory, real = twins
    walk, pause, trail = Walk(seed), threading.Event(), []

    for number in range(STEPS):
        step = walk.step()
        pause.wait(0.001)  # so that two steps never share a millisecond on the server either
        memory.world.advance(0.001)
        trail.append(step.__name__)

        replies = step(real), step(memory)

        assert replies[1] == replies[0], f"step {number}: {trail[-6:]}"
        if number % EVERY == EVERY - 1:
            there, here = snapshot(real.world), snapshot(memory.world)
            assert _without_ttl(here) == there, f"step {number}: {trail[-12:]}"
            check_invariants(memory.world, f"step {number} in memory: {trail[-12:]}")
            check_invariants(real.world, f"step {number} on the server: {trail[-12:]}")


def _without_ttl(state: dict[str, Any]) -> dict[str, Any]:
    return state | {"groups": {name: totals[:-1] for name, totals in state["groups"].items()}}
