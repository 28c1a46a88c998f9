"""Slots that move while everything else goes on: one seed is one interleaving, in one thread.

Before each call of the leader that moves slots, or right after it, any of the others acts:
producers with an old route or a new one, who repeat calls, owners who claim, finish, retry and
bury, people who cancel, hold and abort, a second leader who does not know that it was replaced, a
call of the leader that arrives once more, much later, and the leader's death before or after a
call.

When all is quiet the promises are checked: what was accepted ran once for each time that it was to
run, in the order of its group, what was cancelled did not, totals and audits are right, nothing is
frozen, and each batch has concluded once with all its results.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from coordinator.loop.moving import Mover
from queuepool import After, QueuePool
from queuepool.errors import MovedError, QueuePoolError, UnavailableError
from queuepool.models import JobState
from queuepool.models.flows import BatchState
from queuepool.partitions.partition import OwnedPartition, Partition
from queuepool.protocol import codec
from queuepool.protocol.batches import home_of_batch, membership_of
from queuepool.routing.moves import Stage, differing, table_of
from queuepool.routing.slots import slot_of
from queuepool.servers import Reply
from queuepool.verbs import Verb
from queuepool.verbs.flows import telling
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.moves import verbs as move
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.unit.coordinator.loop.moving import Died, Queue

_STEPS, _LATE = 60, 50


@dataclass
class Ledger:
    """What was promised. order: the jobs of each key, as they were accepted."""

    order: dict[str, list[bytes]] = field(default_factory=dict)
    starts: Counter[bytes] = field(default_factory=Counter)
    expected: Counter[bytes] = field(default_factory=Counter)
    first: dict[str, list[bytes]] = field(default_factory=dict)
    cancelled: set[bytes] = field(default_factory=set)
    batches: dict[str, list[bytes]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def accept(self, key: str, job_id: bytes) -> None:
        """Note that a job is in."""
        self.order.setdefault(key, []).append(job_id)
        self.expected[job_id] = 1

    def start(self, key: str, job_id: bytes) -> None:
        """Note that a job starts."""
        self.starts[job_id] += 1
        if self.starts[job_id] == 1:
            self.first.setdefault(key, []).append(job_id)
        if job_id in self.cancelled:
            self.problems.append(f"{job_id!r} starts though it was cancelled")


@dataclass
class Pending:
    """A job that its producer has no answer for."""

    key: str
    number: int


class MoveSimulation:
    """One seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.queue = Queue(self.random.choice((1, 2)))
        self.ledger = Ledger()
        self.keys = [f"k{n}" for n in range(self.random.randint(3, 12))]
        self.pools = [self.queue.pool() for _ in range(3)]
        for pool in self.pools:
            pool.group("k0").status()
        self.numbers = dict.fromkeys(self.keys, 0)
        self.pending: dict[str, Pending] = {}
        self.owned: dict[tuple[int, str, bytes], OwnedPartition] = {}
        self.running: list[tuple[OwnedPartition, bytes, bytes, str]] = []
        self.sent: list[tuple[Any, tuple[bytes, Verb[Any]]]] = []
        self.opening: list[str] = []
        self.acting = self.quiet = False
        self.drivers = [self.queue.mover]
        for server in self.queue.servers.values():
            self._intercept(server)

    def _intercept(self, server: Any) -> None:
        real = server.run_many

        def run_many(calls: Sequence[tuple[bytes, Verb[Any]]]) -> list[Reply]:
            if self.acting or self.quiet:
                return real(calls)  # type: ignore[no-any-return]
            self.sent += ((server, call) for call in calls)
            del self.sent[:-_LATE]
            if self.random.random() < 0.02:
                raise Died
            if self.random.random() < 0.03:
                raise UnavailableError("it did not answer")
            self._others()
            replies: list[Reply] = real(calls)
            self._others()
            if self.random.random() < 0.02:
                raise Died
            if self.random.random() < 0.03:
                raise UnavailableError("its reply was lost")
            return replies

        server.run_many = run_many

    # -- what happens ------------------------------------------------------------------------------

    def run(self) -> list[str]:
        """Run it; return what was not kept."""
        for _ in range(self.random.randint(5, 40)):
            self._act(self._enqueue)
        for _ in range(self.random.randint(0, 3)):
            self._act(self._open_batch)
        for _ in range(_STEPS):
            self._act(self._ask)
            try:
                self.random.choice(self.drivers).look()
            except Died:
                self._act(self._elect)
        self.quiet = True
        self._settle()
        self._check()
        return self.ledger.problems

    def _others(self) -> None:
        while self.random.random() < 0.4:
            acts = (
                self._enqueue,
                self._claim,
                self._finish,
                self._finish,
                self._cancel,
                self._tell,
            )
            rare = (self._hold, self._abort, self._late, self._late, self._second, self._open_batch)
            self._act(self.random.choice(acts if self.random.random() < 0.85 else rare))

    def _act(self, act: Any) -> None:
        before, self.acting = self.acting, True
        try:
            act()
        finally:
            self.acting = before
        self.queue.server.fake.advance(0.001)

    def _enqueue(self) -> None:
        key = self.random.choice(self.keys)
        pending = self.pending.get(key)
        if pending is None:
            pending = Pending(key, self.numbers[key])
            self.numbers[key] += 1
        self._send(pending)

    def _send(self, pending: Pending) -> None:
        key, job_id = pending.key, f"{pending.key}-{pending.number}"
        pool = self.random.choice(self.pools)
        payload = {"key": key, "id": job_id}
        for _ in range(self.random.choice((1, 1, 2))):  # twice: its reply was lost
            try:
                pool.enqueue("t", payload, partition_key=key, job_id=job_id)
            except QueuePoolError:
                self.pending[key] = pending
                continue
            if job_id.encode() not in self.ledger.expected:
                self.ledger.accept(key, job_id.encode())
            self.pending.pop(key, None)

    def _places(self) -> list[Partition]:
        self.queue.ops.route.read()
        return self.queue.ops.places()

    def _own(self, place: Partition) -> OwnedPartition:
        at = (place.number, place.server.name, place.key)
        if at not in self.owned:
            owned = place.acquire(lease_s=6000)
            assert not isinstance(owned, own.Held), owned
            self.owned[at] = owned
        return self.owned[at]

    def _claim(self) -> None:
        place = self.random.choice(self._places())
        if self.random.random() < 0.2:
            known = [*self.owned.values()]  # also of a place that is no partition any more
            owned = self.random.choice(known) if known else self._own(place)
        else:
            owned = self._own(place)
        w.promote(owned)
        claims = w.claim(owned, self.random.randint(1, 4))
        for job_id, body in zip(claims.ids, claims.bodies, strict=True):
            payload: Any = codec.decode_envelope(body).payload
            self.ledger.start(payload["key"], job_id)
            self.running.append((owned, job_id, codec.read_stamp(body), payload["key"]))

    def _finish(self) -> None:
        if not self.running:
            return
        at = self.random.randrange(len(self.running))
        owned, job_id, stamp, key = self.running.pop(at)
        how = self.random.random()
        is_ours = membership_of(job_id.decode()) is None and not job_id.startswith(b"AA")
        if how < 0.1 and is_ours and key in self.keys:
            w.retry(owned, [job_id], delay_ms=0)
            self.ledger.expected[job_id] += 1
        elif how < 0.15 and is_ours and key in self.keys:
            w.bury(owned, [job_id])
        else:
            owned.run(own.finish_stray(owned.ownership, [(job_id, stamp, 0, b'"%s"' % job_id)]))

    def _cancel(self) -> None:
        key = self.random.choice(self.keys)
        known = [i for i in self.ledger.order.get(key, ()) if not self.ledger.starts[i]]
        if not known or self.random.random() < 0.7:
            return
        job_id = self.random.choice(known)
        try:
            was = self.random.choice(self.pools).cancel(job_id.decode(), partition_key=key)
        except QueuePoolError:
            return
        if was in (JobState.READY, JobState.DELAYED, JobState.CANCELLED):
            self.ledger.cancelled.add(job_id)
        elif was is JobState.UNKNOWN and job_id not in self.ledger.cancelled:
            self.ledger.problems.append(f"{job_id!r} is unknown to who cancels it")

    def _hold(self) -> None:
        group = self.random.choice(self.pools).group(self.random.choice(self.keys))
        try:
            group.hold(create=True) if self.random.random() < 0.5 else group.release()
        except QueuePoolError:
            return

    def _open_batch(self) -> None:
        name = self.opening[0] if self.opening else f"b{len(self.ledger.batches)}"
        number = int(name[1:])
        jobs = [{"key": f"{name}-{n}", "id": ""} for n in range(1 + number % 5)]
        then = After("then", {"key": name, "id": ""}, partition_key=name, batch_id=name)
        self.opening = [name]
        try:
            made = self.random.choice(self.pools).enqueue_many(
                "t", jobs, partition_key=lambda job: job["key"], then=then
            )
        except QueuePoolError:
            return  # in part: the call is repeated
        self.opening = []
        self.ledger.batches[made.batch.name] = [r.job_id.encode() for r in made]

    def _tell(self) -> None:
        """Let an owner tell ends, and look at batches, by the route that somebody knows."""
        pool = self.random.choice([*self.pools, self.queue.ops])
        owned = self._own(self.random.choice(self._places()))
        tell(owned, pool)

    def _ask(self) -> None:
        found = self.queue.move
        if (found is None or not found.under_way) and self.random.random() < 0.2:
            slots = [slot_of(key.encode()) for key in self.keys]
            view = self.queue.ops.config.topology.view
            if self.random.random() < 0.3:
                to = self.random.randrange(len(view.placement))
                chosen = {
                    s: to for s in slots if table_of(view)[s] != to and self.random.random() < 0.5
                }
                if chosen:
                    self.queue.ask_slots(chosen)
                return
            count = self.random.randint(1, 5)
            self.queue.ask(count, on="big" if len(self.queue.servers) == 2 else "")

    def _abort(self) -> None:
        found = self.queue.move
        if found is not None and found.stage is Stage.MOVING:
            self.queue.abort()

    def _late(self) -> None:
        """Let a call of the leader, or of one before it, arrive once more."""
        if self.sent:
            server, call = self.random.choice(self.sent)
            type(server).run_many(server, [call])

    def _second(self) -> None:
        """Let another leader act, who does not know that it was replaced, or is."""
        if len(self.drivers) > 1:
            other = self.random.choice(self.drivers)
            if other is not self.queue.mover:
                other.look()

    def _elect(self) -> None:
        before: Mover = self.queue.mover
        self.drivers = [before, self.queue.elect()] if self.random.random() < 0.3 else []
        self.drivers = self.drivers or [self.queue.mover]

    # -- the end -----------------------------------------------------------------------------------

    def _settle(self) -> None:
        self._end_the_move()
        for pool in self.pools:
            pool.route.read()
        for pending in list(self.pending.values()):
            self._send(pending)
        if self.opening:
            self._open_batch()
        for key in self.keys:
            group = self.queue.app.group(key)
            if group.status().held_ms is not None:
                group.release()
        self._work_to_the_end()
        for place in self._places():
            dead = [job.job_id for job in place.run(operate.dead(place.number, 0, 200))]
            self.ledger.expected.update(job_id.encode() for job_id in dead)
            if dead:
                place.run(operate.replay(dead))
        self._work_to_the_end()

    def _end_the_move(self) -> None:
        self.queue.elect()
        for n in range(2000):
            if not self.queue.look():
                return
            if n % 5 == 0:
                self._work()
        self.ledger.problems.append(f"the move has no end: {self.queue.move}")

    def _work_to_the_end(self) -> None:
        for _ in range(6):
            self._work()

    def _work(self) -> None:
        """Finish everything that runs, and run what may."""
        while self.running:
            owned, job_id, stamp, _key = self.running.pop()
            owned.run(own.finish_stray(owned.ownership, [(job_id, stamp, 0, b'"%s"' % job_id)]))
        for place in self._places():
            owned = self._own(place)
            w.promote(owned)
            claims = w.claim(owned, 200)
            for job_id, body in zip(claims.ids, claims.bodies, strict=True):
                payload: Any = codec.decode_envelope(body).payload
                self.ledger.start(payload["key"], job_id)
                self.running.append((owned, job_id, codec.read_stamp(body), payload["key"]))
            tell(owned, self.queue.ops)

    def _check(self) -> None:
        ledger = self.ledger
        for key, ids in ledger.order.items():
            for job_id in ids:
                wanted = 0 if job_id in ledger.cancelled else ledger.expected[job_id]
                if ledger.starts[job_id] != wanted:
                    said = f"{job_id!r} started {ledger.starts[job_id]} times, not {wanted}"
                    ledger.problems.append(said)
            left = [i for i in ids if i not in ledger.cancelled]
            if ledger.first.get(key, []) != left:
                ledger.problems.append(f"{key} out of order: {ledger.first.get(key)}")
            status = self.queue.app.group(key).status()
            told = (status.total, status.left, status.dead, status.cancelled)
            if told != (len(ids), 0, 0, len(ids) - len(left)):
                ledger.problems.append(f"{key}: {status}, of {len(ids)}, {len(left)} not cancelled")
        for place in self._places():
            if not (found := place.audit()).clean:
                ledger.problems.append(f"{place.name}: {found}")
            if (frozen := place.run(move.frozen())[1]) or place.observe().jobs:
                ledger.problems.append(f"{place.name}: {frozen}, {place.observe().jobs} jobs left")
        self._check_batches()
        asked, view = self.queue.move, self.queue.ops.config.topology.view
        if asked is not None and asked.under_way and differing(table_of(view), asked.table()):
            ledger.problems.append(f"slots are astray: {asked}")

    def _check_batches(self) -> None:
        for name, ids in self.ledger.batches.items():
            batch = self.queue.app.batch(name)
            status = batch.status()
            results = [each.result for each in batch.results()]
            if status.state is not BatchState.FIRED or results != [i.decode() for i in ids]:
                self.ledger.problems.append(f"batch {name}: {status}, {results}")
            if self.ledger.starts[name.encode()] != 1:
                self.ledger.problems.append(
                    f"batch {name} ran {self.ledger.starts[name.encode()]} times"
                )


def tell(owned: OwnedPartition, pool: QueuePool) -> None:
    """Tell batches of ends, by the route that this pool knows, and look at those that are here."""
    told, view = [], pool.config.topology.view
    for note in owned.run(telling.untold(owned.ownership)).notes:
        job = membership_of(note.job_id)
        assert job is not None
        slot, name = home_of_batch(job.batch)
        verb = telling.note_ends([(job.batch, job.number, note.end, note.stamp, note.text)])
        try:
            home = pool.partition(view.place_of_slot(slot), name)
            home.run(flow.by_route(verb, view.version_for(slot)))
        except MovedError:
            pool.route.follow()
            continue
        told.append(note.entry)
    owned.run(telling.untold(owned.ownership, told=told))
    owned.run(telling.tend_batches(owned.ownership))


def simulate_moves(seed: int) -> list[str]:
    """Run one seed; return what was not kept."""
    return MoveSimulation(seed).run()
