"""A partition with a job in every place there is, and every verb with work to do on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from queuepool.models import JobState, Limit, Schedule
from queuepool.models.finding import JobFilter
from queuepool.models.groups import GroupOrder
from queuepool.models.log import LogEntry, LogKind
from queuepool.models.schedules import Fired
from queuepool.partitions.partition import OwnedPartition
from queuepool.routing.slots import group_of
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.limits import verbs as limit
from queuepool.verbs.log import verbs as log
from queuepool.verbs.moves import verbs as move
from queuepool.verbs.operator import checkups, editing, finding, grouping
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.owner.gates import admit, gates
from queuepool.verbs.producer import pools, relay, route, tenants
from queuepool.verbs.producer import verbs as produce
from queuepool.verbs.schedules import verbs as schedule
from tests.contract import busy_batches
from tests.contract import world as w
from tests.contract.world import World

# The group of most jobs, and others of its tenant
G, GATED, FULL = (group_of(key, b"tenant") for key in (b"g", b"as-if-it-were-16", b"full"))
TASKS = b"tasks"  # a group with jobs of held tasks
COPIED = group_of(b"frozen", b"tenant")  # a group that is being copied to another partition
_ERROR = b'{"reason":"failed"}'
_LIMIT = Limit("cap", rate=1, per_s=60, concurrency=4)
_ADAPTIVE = Limit("told", rate="adaptive", least=1, most=100)
_ASKERS = (own.Ownership(8, "n", 1), own.Ownership(9, "n", 1))
_KEEP = {"keep_bytes": 2**40, "keep_ms": 10**12}


@dataclass(frozen=True, slots=True)
class Busy:
    """A partition with an owner, one that drains, and one that died. stale: one that is over."""

    world: World
    owned: OwnedPartition
    stale: own.Ownership
    leader: int

    def verbs(self) -> list[Verb[Any]]:
        """Return every verb, each as often as it has ways to go; any of them may be first."""
        ownership = self.owned.ownership
        calls = [*_of_applications(), *_of_owners(ownership, self.stale), *self._of_others()]
        batches = [*busy_batches.of_producers(), *busy_batches.of_owners(ownership, self.stale)]
        return [*calls, *_of_limits(), *batches, *_of_moves(self.world)]

    def _of_others(self) -> list[Verb[Any]]:
        command = {"partition": 0, "target_workers": 3, "reason": "r", "expires_ms": 60_000}
        return [
            operate.observe(0),
            operate.dead(0, 0, 10),
            checkups.checkup(),
            *_of_inspection(self.world),
            operate.replay(["dead-a"]),
            operate.replay(["f-dead"]),
            operate.replay(["l-dead"]),
            operate.discard(["l-dead"]),
            operate.discard(["dead-a"]),
            operate.discard(["f-dead"]),
            operate.audit(b"0", repair=False),
            operate.audit(b"0", repair=True),
            operate.audit_system(2, repair=False),
            operate.audit_system(2, repair=True),
            lead.command(9, 1, type="SCALE_UP", **command),  # type: ignore[arg-type]
            lead.checkpoint(9, 4),
            lead.turn_away(1),
            operate.change_route(1, "x", {"moving": ""}),
            lead.lead("n", lease_ms=60_000, address="a"),
            lead.who_leads(),
            lead.resign("n"),
            lead.set_manual(1, 3, ttl_ms=60_000),
            lead.clear_manual(1),
            lead.set_policy(0, "x", {"mode": "hold"}, by="me", reason=""),
            lead.read_policy(),
            lead.record(self.leader, [(0, b"{}"), (0, b"{}")], keep=10),
            lead.decisions("+", 10),
            lead.decisions("+", 10, 0),
            route.record(4, "mod"),
            route.peek(),
            pools.look(),
            pools.probe(),
            pools.add("video"),
            *_of_schedules(),
            *_of_outboxes(),
            schedule.note_fired(self.leader, {"nightly": Fired(1, 2, 3)}),
            log.write_log([LogEntry(kind=kind, what="hold") for kind in LogKind] * 2),
            log.read_log(),
        ]

    def base(self, verb: Verb[Any]) -> bytes:
        """Return the base key that a verb is sent to."""
        of_system = (
            "lead",
            "who_leads",
            "resign",
            "manual",
            "record",
            "decisions",
            "route",
            "read_policy",
            "set_policy",
            "change_route",
            "schedules",
            "set_schedule",
            "pause_schedule",
            "remove_schedule",
            "note_fired",
            "write_log",
            "read_log",
            "audit_system",
        )
        if verb.script == "vacancy":
            return _vacant(self.world)
        return self.world.system if verb.script in of_system else self.world.partition.key


def busy(world: World) -> Busy:
    """Fill an empty partition."""

    def held(owned: OwnedPartition, *ids: str, group: bytes = G) -> own.Claims:
        w.enqueue(world, ids, group)
        claims = w.claim(owned, starting=0)
        assert [i.decode() for i in claims.ids] == list(ids)
        return claims

    died = world.own(nonce="died")
    held(died, "crash", "asked", "claimed")
    died.run(own.start(died.ownership, [b"crash", b"asked"]))
    world.partition.cancel("asked")
    died.run(own.release(died.ownership, drain_lease_ms=0))
    drains = world.own(nonce="drains")
    held(drains, "drained")
    drains.run(own.release(drains.ownership, drain_lease_ms=600_000))
    owned = world.own(nonce="owner")
    owned.run(own.chronicle(owned.ownership, b'["a","t"]', 1000))
    held(owned, "dead-a", "dead-b", group=b"dead")
    w.bury(owned, [b"dead-a", b"dead-b"])
    held(owned, "due", "late")
    w.retry(owned, [b"due", b"late"], delay_ms=0)
    w.finish(owned, held(owned, "done"), results=True)
    held(owned, "aside")
    owned.run(own.retry(owned.ownership, [(b"aside", 60_000, "new", _ERROR)]))
    _hold_tasks(world, owned)
    busy_batches.fill(world, owned, G)
    _fill_a_gate(world, owned)
    _fill_a_group_without_room(world, owned)
    _fill_a_serial_group(world, owned)
    held(owned, "a", "b", "c")
    world.partition.cancel("c")
    held(owned, "cut", group=b"cut")
    world.partition.cancel_group(b"cut")
    w.enqueue(world, ["alone"], b"one")
    w.enqueue(world, ["h-ready"], TASKS, tier=0, task="held")
    w.enqueue(world, ["ready", "mark", "more"], G)
    world.partition.cancel("mark")
    w.enqueue(world, ["delayed"], G, delay_ms=600_000, unique={0: b"key"}, expires_ms=1)
    w.enqueue(world, ["cap-late"], b"capped", unique={0: b"cap-late"}, expires_ms=1)
    w.enqueue(world, ["cap-a", "cap-b"], b"capped")
    world.partition.run(produce.configure(b"capped", max_running=1))
    w.enqueue(world, ["held", "held-mark", "held-more"], b"held")
    world.partition.run(produce.configure(b"held", hold=True))
    world.partition.run(tenants.configure(b"tenant", weight=3, max_running=100))
    w.enqueue(world, ["t-held"], group_of(b"k", b"held"))
    world.partition.run(tenants.configure(b"held", hold=True))
    _use_limits(world)
    owned.run(admit(owned.ownership, "mail", 1, most_waiting=9))
    owned.run(own.hand_back(owned.ownership, [b"l-back"]))
    w.enqueue(world, ["frozen"], COPIED)
    world.partition.run(move.freeze(1, {COPIED: 7}, closed=True))
    world.partition.run(lead.turn_away(1, moves=True, told=0))
    world.client.hset(world.partition.key + b":c", "route", 1)
    world.partition.run(produce.configure(b"noted", weight=2, keep_ms=600_000, slot=7))
    w.enqueue(world, ["l-cut", "l-cut-too"], b"cutgate", limits=b"mail")
    world.partition.run(produce.cancel_group(b"cutgate", b"start"))
    [led, *_] = world.partition.server.run(
        world.system,
        [
            lead.lead("n", lease_ms=600_000, address=""),
            schedule.set_schedule(Schedule("nightly", "t", every=60)),
        ],
    )
    assert isinstance(led, list)
    world.partition.server.run(_vacant(world), [own.acquire(0, "gone", lease_ms=1, host="h")])
    return Busy(world, owned, own.Ownership(0, "over", 1), int(led[1]))


def _hold_tasks(world: World, owned: OwnedPartition) -> None:
    """A job of a held task, and one of a task that was released since, are set aside."""
    for task in ("held", "freed"):
        world.partition.run(produce.hold_task(task, on=True))
        w.enqueue(world, [f"h-{task}"], TASKS, task=task)
    w.enqueue(world, ["z-freed"], COPIED, task="freed")
    assert w.claim(owned, starting=0).taken == 3
    world.partition.run(produce.hold_task("freed", on=False))


def _vacant(world: World) -> bytes:
    """Return the base key of a partition that nobody owns any more."""
    return world.partition.key + b"-vacant"


def _fill_a_group_without_room(world: World, owned: OwnedPartition) -> None:
    """One job of it runs, so those in its lanes have no seats; each has a unique key."""
    w.enqueue(world, ["f-run", "f-due", "f-dead"], FULL, unique=dict(enumerate((b"r", b"d", b"x"))))
    w.claim(owned, starting=0)
    w.bury(owned, [b"f-dead"])
    w.retry(owned, [b"f-due"])
    for tier in range(4):
        name = f"f-{tier}"
        w.enqueue(world, [name], FULL, tier=tier, unique={0: name.encode()}, expires_ms=600_000)
    world.partition.run(produce.configure(FULL, max_running=1))
    assert w.claim(owned).taken == 0


def _fill_a_serial_group(world: World, owned: OwnedPartition) -> None:
    """Its others wait for the retry of one."""
    w.enqueue(world, ["s-run", "s-a", "s-b", "s-c"], b"serial")
    world.partition.run(produce.configure(b"serial", serial=True))
    assert w.claim(owned, starting=0).ids == [b"s-run"]
    w.retry(owned, [b"s-run"], delay_ms=600_000)
    assert w.claim(owned).taken == 0


def _use_limits(world: World) -> None:
    """Two owners share one that has no more for them; a third has gone."""
    world.partition.run(limit.set_limit(_LIMIT))
    for owner in (own.Ownership(7, "n", 1), *_ASKERS):
        for tokens in (1000, 10):
            world.partition.run(limit.ask(owner, _LIMIT.name, tokens=tokens, held=1, wanted=5))
    world.partition.run(limit.slow("told", 1000, _ADAPTIVE.definition))


def _of_limits() -> list[Verb[Any]]:
    code = _ADAPTIVE.definition
    return [
        *(
            limit.ask(owner, name, tokens=tokens, held=held, wanted=held, definition=code)
            for owner in _ASKERS
            for name in (_LIMIT.name, "told", "new")
            for tokens, held in ((10, 3), (0, 0))
        ),
        limit.ask(own.Ownership(7, "n", 0), _LIMIT.name, tokens=1, held=0, wanted=1),
        *(limit.slow(name, 1000, _ADAPTIVE.definition) for name in (_LIMIT.name, "told", "new")),
        limit.end_permits(7, 2),
        limit.end_permits(9, 2),
        limit.set_limit(_ADAPTIVE),
        limit.set_limit(Limit("new", rate=1)),
        *(limit.pause_limit(_LIMIT.name, on=on) for on in (True, False)),
        *(limit.remove_limit(name) for name in (_LIMIT.name, "told", "new")),
        limit.limits(),
        limit.find_limit(_LIMIT.name),
    ]


def _of_inspection(world: World) -> list[Verb[Any]]:
    states = (None, JobState.DEAD, JobState.DELAYED, JobState.IN_FLIGHT)
    return [
        *(finding.find(0, JobFilter(state=state)) for state in states),
        finding.find(0, JobFilter(state=JobState.READY, group=G)),
        finding.find_one(0, JobFilter(state=JobState.DEAD), "dead-b", whole=True),
        finding.errors("dead", 0, 1),
        editing.edit("dead-b"),
        *(
            editing.edit(job_id, world.partition.run(editing.edit(job_id))[1], b'["t",{"x":1}]')
            for job_id in ("dead-a", "f-due")
        ),
        editing.hasten("f-due"),
        operate.drain(1),
        finding.history(None),
        finding.history("a"),
        finding.errors("delayed", 0, 1),
        *(grouping.groups(0, order) for order in GroupOrder),
    ]


def _enqueues() -> list[Verb[Any]]:
    return [verb for verb in _of_applications() if verb.script == "enqueue"]


def _of_outboxes() -> list[Verb[Any]]:
    enqueues = _enqueues()
    return [
        *(relay.relay("orders", 2, verb) for verb in enqueues),
        relay.relay("sent", 1, enqueues[0]),
        relay.relayed("sent", 1),
    ]


def _of_schedules() -> list[Verb[Any]]:
    nightly = Schedule("nightly", "t", cron="0 3 * * *")
    enqueues = _enqueues()
    return [
        *(schedule.fire("nightly", 2, 99, verb, overlap=True) for verb in enqueues),
        schedule.fire("fired", 2, 99, enqueues[0], overlap=False),
        schedule.fire("fired", 1, 99, enqueues[0], overlap=False),
        schedule.set_schedule(nightly),
        schedule.pause_schedule("nightly", on=True),
        schedule.remove_schedule("nightly"),
        schedule.schedules(),
        schedule.schedules(name="nightly"),
    ]


def _fill_a_gate(world: World, owned: OwnedPartition) -> None:
    """Jobs that are parked, running, dead and delayed, and marks; of a plain and a held group."""
    w.enqueue(world, ["l-run", "l-dead", "l-due", "l-back"], GATED, limits=b"mail")
    owned.run(admit(owned.ownership, "mail", 4, most_waiting=9))
    assert w.claim(owned, starting=0).ids == [b"l-run", b"l-dead", b"l-due", b"l-back"]
    w.bury(owned, [b"l-dead"])
    w.retry(owned, [b"l-due"])
    w.enqueue(world, ["l-a", "l-mark", "l-b", "l-c", "l-d"], GATED, limits=b"mail")
    world.partition.cancel("l-mark")
    w.enqueue(world, ["l-held"], b"heldgate", limits=b"mail", tier=1)
    world.partition.run(produce.configure(b"heldgate", hold=True, tier=0))


def _of_applications() -> list[Verb[Any]]:
    body = w.tail(b"new")
    runs: list[Any] = [2, b"new", 0, 2, "n1", body, "n2", body, 1, b"new", 60_000, 1, "n3", body]
    newer: list[Any] = [6, G, 1_000, 1, "n5", w.tail(G)]
    wishes = (1, "s", b"new", 9, b"", 3, "e", b"key", 0, b"")
    limited = (1, "", b"", 9, b"mail", 2, "", b"", 0, b"api,mail", 3, "", b"", 0, b"mail")
    groups = (G, b"cut", b"one", b"held")
    to_held: list[Any] = [2, b"held", 0, 1, "n4", w.tail(b"held")]
    to_serial: list[Any] = [2, b"serial", 0, 1, "n6", w.tail(b"serial")]
    cursors = (b"start", b"lanes", b"0", b"all:0", b"books")
    return [
        produce.enqueue(runs, jobs=3, size_bytes=3 * (13 + len(body)), **w.LIMITS),
        produce.enqueue(runs, wishes, jobs=3, size_bytes=3 * (13 + len(body)), **w.LIMITS),
        produce.enqueue(newer, (1, "ed", b"key", 9, b""), jobs=1, size_bytes=99, **w.LIMITS),
        produce.enqueue(runs, jobs=3, size_bytes=9, **(w.LIMITS | {"max_depth": 3})),
        produce.enqueue(runs, jobs=3, size_bytes=9, version=0, **w.LIMITS),
        *(produce.status(i, 0) for i in ("ready", "delayed", "dead-a", "crash", "done", "never")),
        *(produce.cancel(i) for i in ("ready", "delayed", "a", "crash", "dead-a")),
        produce.enqueue(to_held, jobs=1, size_bytes=13 + len(to_held[-1]), **w.LIMITS),
        produce.enqueue(to_serial, jobs=1, size_bytes=13 + len(to_serial[-1]), **w.LIMITS),
        produce.enqueue(runs, limited, jobs=3, size_bytes=3 * (13 + len(body)), **w.LIMITS),
        *(produce.cancel(i) for i in ("l-a", "l-run", "l-due", "l-held")),
        *(produce.cancel_group(b"cutgate", c) for c in (b"gates:0", b"0")),
        produce.cancel_group(GATED, b"start"),
        *(produce.cancel(i) for i in ("s-run", "s-b")),
        produce.cancel_group(b"serial", b"start"),
        produce.cancel_group(b"serial", b"lanes"),
        produce.configure(b"serial", serial=False),
        *(produce.hold_task(task, on=on) for task in ("held", "new") for on in (True, False)),
        produce.configure(b"made", weight=2, keep_ms=60_000),
        produce.configure(b"dead", weight=2, keep_ms=60_000),
        *(produce.configure(group, hold=on) for group in (*groups, None) for on in (True, False)),
        *(produce.configure(group, max_running=1, serial=True) for group in groups),
        *(tenants.configure(b"tenant", hold=on, weight=2) for on in (True, False)),
        tenants.configure(b"held", hold=False),
        *(tenants.configure(b"tenant", max_running=most) for most in (1, 9, 0)),
        tenants.find(b"tenant"),
        tenants.largest(3),
        produce.configure(b"capped", max_running=0),
        *(produce.configure(group, tier=tier) for group in (*groups, GATED) for tier in (0, 3)),
        *(produce.tier_at_gates(group) for group in (GATED, b"heldgate")),
        *(produce.cancel(i) for i in ("cap-a", "cap-b")),
        produce.configure(FULL, max_running=3),
        *(produce.cancel(i) for i in ("f-0", "f-due", "f-run")),
        produce.cancel_group(FULL, b"start"),
        *(produce.group(group) for group in groups),
        *(produce.cancel_group(group, cursor) for group in groups for cursor in cursors),
    ]


def _of_owners(ownership: own.Ownership, stale: own.Ownership) -> list[Verb[Any]]:
    return [
        own.acquire(0, ownership.nonce, lease_ms=60_000, host="h"),
        own.acquire(0, "another", lease_ms=60_000, host="h"),
        *(verb for each in (ownership, stale) for verb in _of_owner(each)),
    ]


def _of_owner(ownership: own.Ownership) -> list[Verb[Any]]:
    size = 13 + len(w.tail(G))
    known = own.Acks(2 * size, [b"a", b"b"], [(b"a", 60_000, b"1")])
    strays = own.Acks(4 * size, [b"a", b"delayed", b"ready", b"crash", b"never"])
    renew: dict[str, Any] = {"lease_ms": 600_000, "beat": 2, "workers": 1, "busy": 1, "target": 1}
    return [
        own.renew(ownership, applied="0-0", load="9:9", **renew),
        own.release(ownership, drain_lease_ms=0),
        own.release(ownership, drain_lease_ms=60_000),
        own.rotate_nonce(ownership.rotated()),
        own.in_flight(ownership),
        own.vacancy(),
        own.claim(ownership, 10, starting=1, promote_after_ms=1, weights=w.WEIGHTS),
        own.start(ownership, [b"a", b"b"]),
        own.finish(ownership, {G: known}),
        own.finish(ownership, {G: strays}),
        own.finish_stray(ownership, [(i, b"", 60_000, b"1") for i in strays.ids]),
        own.retry(ownership, [(i, 1000, True, _ERROR) for i in (b"a", b"c")]),
        own.retry(ownership, [(b"a", 1000, "new", _ERROR)]),
        own.finish(ownership, {FULL: own.Acks(size, [b"f-run"])}),
        own.finish_stray(ownership, [(i, b"", 0, b"") for i in (b"f-run", b"f-due", b"f-0")]),
        own.retry(ownership, [(b"f-run", 1000, True, _ERROR)]),
        own.bury(ownership, [(b"f-run", _ERROR)], keep_jobs=10, **_KEEP),
        own.hand_back(ownership, [b"f-run"]),
        own.end_cancelled(ownership, [b"f-run"]),
        own.finish_stray(ownership, [(b"s-run", b"", 0, b""), (b"s-a", b"", 0, b"")]),
        own.finish(ownership, {GATED: own.Acks(size, [b"l-run"])}),
        own.finish_stray(ownership, [(i, b"", 0, b"") for i in (b"l-run", b"l-b", b"l-due")]),
        own.retry(ownership, [(b"l-run", 1000, True, _ERROR)]),
        own.hand_back(ownership, [b"l-run"]),
        own.end_cancelled(ownership, [b"l-run"]),
        admit(ownership, "mail", 10, most_waiting=9),
        admit(ownership, "none", 10, most_waiting=9),
        gates(),
        own.rouse(ownership, b"0", ["new"]),
        own.bury(ownership, [(b"a", _ERROR)], keep_jobs=10, **_KEEP),
        own.bury(ownership, [(b"a", _ERROR), (b"b", _ERROR)], keep_jobs=1, **_KEEP),
        own.hand_back(ownership, [b"a", b"c"]),
        own.progress(ownership, {b"a": b"half"}),
        own.chronicle(ownership, b'["a","t"]', 1000),
        own.end_cancelled(ownership, [b"a", b"c"]),
        own.promote(ownership),
        own.recover(ownership, max_crashes=1, error=_ERROR),
    ]


__all__ = ["Busy", "busy"]


def _of_moves(world: World) -> list[Verb[Any]]:
    # Last: what was frozen is not claimed. One more job comes, as it would from another partition.
    groups = [G, GATED, b"serial", b"capped"]
    body, tried = b"12" + b"%011x" % 1 + w.tail(G), (b"1", b"1", _ERROR)
    come = move.Exported({}, (b"came", body, b"l", b"0", *tried, b"ekey2", b"60000", b"cap", b""))
    late = move.Exported({}, (b"late", body, b"d", b"9", *tried, b"", b"", b"", b"new"))
    of_group = {group: world.partition.run(move.export(1, group)).stamps for group in groups[:2]}
    return [
        move.walk(),
        move.tenants(),
        move.frozen(),
        move.configured(),
        move.probe(7),
        lead.turn_away(1, moves=False),
        move.recorded(),
        *busy_batches.of_moves(),
        move.freeze(1, dict.fromkeys(groups, 7)),
        *(move.export(1, group) for group in groups[:2]),
        *(move.drop_marks(1, group) for group in groups[:2]),
        move.export(1, b"dead", [b"dead-b"]),
        move.adopt(1, G, come, last=True),
        move.adopt(1, G, late),
        *(move.forget(1, group, stamps) for group, stamps in of_group.items()),
        move.thaw(1),
    ]
