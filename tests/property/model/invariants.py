"""The laws of the data model, checked on the keys themselves, and the keys against the model."""

from __future__ import annotations

from collections import Counter

from queuepool.models.tenants import tenant_of
from tests.property.model import gate_laws, holding
from tests.property.model.records import Bounds, Place
from tests.property.model.space import Space
from tests.property.model.state import State

GROWING = (
    *("enqueued", "done", "failed", "retried", "died", "cancelled", "duplicate", "recovered"),
    *("fenced", "evicted", "discarded", "replayed", "duplicate_finish", "rollback_finish"),
    *("conflicts", "expired", "replaced", "admitted"),
)
STARTED = 1e12  # book scores from here on are times


def check_laws(space: Space, came: int = 0) -> None:
    """Fail unless the keys alone, without any model, obey the laws. came: jobs, by moves."""
    check_accepted(space, came)
    check_conservation(space)
    check_places(space)
    check_seats(space)
    check_counters(space)
    check_notes(space)
    check_unique(space)
    check_expiry(space)
    gate_laws.check_laws(space)


def check_accepted(space: Space, came: int) -> None:
    """I1: every accepted job is there, or is counted as having left in exactly one way."""
    gone = sum(space.counter(n) for n in ("done", "cancelled", "evicted", "discarded", "expired"))

    accepted = space.counter("enqueued") + came
    assert accepted == len(space.hash("j")) + gone, "I1: a job is lost or doubled"


def check_conservation(space: Space) -> None:
    """I2: jobs = ready + delayed + dead + in the books of the owner, of dr and of rec."""
    owner = space.hash("o")
    known = [int(e) for e in [*space.hash("dr"), *space.list("rec")]]
    if owner.get(b"nonce"):
        known.append(int(owner[b"epoch"]))

    assert len(known) == len(set(known)), f"I2: a book has two keepers: {known}"
    assert set(space.books) <= set(known), f"I2: a book has no keeper: {space.books}, {known}"
    ready = sum(space.counter(f"r{t}") for t in range(4))
    ready += space.counter("held") + space.counter("capped") + space.counter("parked")
    booked = sum(map(len, space.books.values()))
    stored = ready + booked + len(space.ids("dl")) + len(space.ids("dead"))
    assert len(space.hash("j")) == stored, "I2: the law of conservation is broken"


def check_places(space: Space) -> None:
    """I4: a job is in one place; what else stands in a lane is the mark of a cancelled job."""
    jobs, marks = set(space.hash("j")), set(space.hash("cx"))
    lanes = [i for lane in (*space.lanes.values(), *space.gates.values()) for i in lane]
    booked = [i for book in space.books.values() for i, _ in book]
    places = Counter([*lanes, *booked, *space.ids("dl"), *space.ids("dead")])

    assert not [i for i, n in places.items() if n > 1], f"I4: in two places: {places}"
    assert set(places) - marks == jobs, f"I4: {set(places) ^ jobs} without a body, or without place"
    assert marks <= set(lanes), f"I4: marks {marks - set(lanes)} stand in no lane"
    assert not marks & jobs, f"I4: {marks & jobs} are marked and alive"


def check_seats(space: Space) -> None:
    """I3, I17: a lane with ids has one seat, or is out, as nothing of it may run; never both."""
    tops = [(int(seat[:1]), seat[12:]) for ring in space.rings for seat in ring]
    tenants = Counter((tier - 4, name) for tier, name in tops if tier > 3)
    shut = [
        (t, name) for name, f in space.records.items() for t in range(4) if b"o%d" % (t + 4) in f
    ]
    tenants.update(shut)
    assert tenants == Counter(list(space.tenants)), f"I17: {tenants} sit, not {space.tenants}"
    for _, name in shut:
        fields = space.records[name]
        full = int(fields.get(b"max", 10**9)) <= int(fields.get(b"run", 0))
        assert b"hold" in fields or full, f"I17: {name!r} is out for no reason: {fields}"
    rings = [*space.rings, *space.tenants.values()]
    lanes = [s for ring in rings for s in ring if s[:1] < b"4" and counts(space, s)]
    seats = Counter((int(s[:1]), s[12:]) for s in lanes)
    managed = {
        name: fields
        for name, fields in space.groups.items()
        if fields.keys() & {b"hold", b"max", b"serial", b"weight", b"moved", b"moving"}
        and int(fields.get(b"left", 0)) > 0
    }
    out = [
        (t, name) for name, fields in space.groups.items() for t in range(4) if b"o%d" % t in fields
    ]
    seats.update(out)

    assert set(space.hash("mg")) == set(managed), f"I17: {space.hash('mg')}, not {managed}"
    closed = {name for name, room in space.hash("mg").items() if room == b"0"}
    assert {name for _, name in out} <= closed, f"I17: {out} are out for no reason"

    assert seats == Counter(list(space.lanes)), f"I3: seats {seats}, lanes {list(space.lanes)}"


def counts(space: Space, seat: bytes) -> bool:
    """Return whether a seat is not one from before its group changed its tier."""
    return int(seat[1:12], 16) >= int(space.groups.get(seat[12:], {}).get(b"moved", 0))


def place(space: Space, tier: int, group: bytes) -> int:
    """Return the tier whose turns a lane of a group has."""
    return int(space.groups[group].get(b"tier", tier))


def waiting_in(space: Space, tier: int) -> dict[bytes, int]:
    """Return how many ready jobs of a tier each managed group has."""
    marks = set(space.hash("cx"))
    return {
        group: jobs
        for (t, group), ids in space.lanes.items()
        if t == tier and group in space.hash("mg") and (jobs := len(set(ids) - marks))
    }


def check_counters(space: Space) -> None:
    """I8: counters are not negative and equal a recount."""
    jobs, marks = space.hash("j"), set(space.hash("cx"))
    counted = {k.decode(): int(v) for k, v in space.hash("c").items() if k[:1] != b"k"}
    dead, managed = space.ids("dead"), space.hash("mg")
    bounded = {name for name, fields in space.records.items() if b"state" in fields}

    assert not [k for k, v in counted.items() if v < 0], f"I8: below 0: {counted}"
    for tier in range(4):
        lanes = [
            ids
            for (t, g), ids in space.lanes.items()
            if t == tier and g not in managed and tenant_of(g) not in bounded
        ]
        ready = sum(i not in marks for ids in lanes for i in ids)
        free = [name for name in managed if tenant_of(name) not in bounded]
        homes = [(n, t) for n in free for t in range(4) if place(space, t, n) == tier]
        ready += sum(int(space.groups[n][b"c%d" % t]) for n, t in homes)
        ready += sum(int(space.records[name][b"c%d" % tier]) for name in bounded)
        assert counted.get(f"r{tier}", 0) == ready, f"I8: r{tier} is not {ready}: {counted}"
        told = {n: int(fields.get(b"w%d" % tier, 0)) for n, fields in space.groups.items()}
        kept = {group: jobs for group, jobs in told.items() if jobs}
        assert kept == waiting_in(space, tier), f"I8: managed in tier {tier}: {kept}"
    able: Counter[tuple[int, bytes]] = Counter()
    for (tier, group), ids in space.lanes.items():
        if (tenant := tenant_of(group)) and group not in managed:
            able[tier, tenant] += sum(i not in marks for i in ids)
    for name in managed:
        if tenant := tenant_of(name):
            for tier in range(4):
                able[place(space, tier, name), tenant] += int(space.groups[name][b"c%d" % tier])
    said = {
        (int(field[1:]), name): int(n)
        for name, fields in space.records.items()
        for field, n in fields.items()
        if field[:1] == b"e"
    }
    assert said == {lane: n for lane, n in able.items() if n}, f"I8: of tenants: {said}, {able}"
    for kind in ("held", "capped"):
        records = [*space.groups.values(), *space.records.values()]
        states = [f for f in records if f.get(b"state") == kind.encode()]
        apart = sum(int(fields[b"apart"]) for fields in states)
        assert counted.get(kind, 0) == apart, f"I8: {kind} is not {apart}: {counted}"
    assert counted.get("bytes", 0) == sum(map(len, jobs.values())), f"I8: bytes: {counted}"
    assert counted.get("dead_bytes", 0) == sum(len(jobs[i]) for i in dead), f"I8: {counted}"
    asleep = {*dead, *space.ids("dl")}
    awake = max((len(body) for i, body in jobs.items() if i not in asleep), default=0)
    assert counted.get("largest", 0) >= awake, f"I8: a body of {awake} bytes: {counted}"
    for name, fields in space.groups.items():
        mine = {i for i, body in jobs.items() if body[18 : 18 + int(body[16:18], 16)] == name}
        texts = (b"state", b"rt")
        number = {k.decode(): int(v) for k, v in fields.items() if k not in texts}
        recount = {
            "left": len(mine - set(dead)),
            "dead": len(mine & set(dead)),
            "delayed": len(mine & set(space.ids("dl"))),
        }
        stored = {k: number.get(k, 0) for k in recount}
        assert stored == recount, f"I8: group {name!r} says {stored}, recounted {recount}"


def check_notes(space: Space) -> None:
    """Nothing is noted of jobs that are gone, and at most one wake token of a kind waits."""
    jobs = set(space.hash("j"))
    booked = {i for book in space.books.values() for i, _ in book}

    for name in ("at", "cr", "er"):
        assert set(space.hash(name)) <= jobs, f"{name} remembers jobs that are gone"
    for name in ("pr", "cn"):
        assert set(space.hash(name)) <= booked, f"{name} remembers jobs that do not run"
    tokens = space.list("wk")
    assert len(tokens) == len(set(tokens)), f"wake tokens pile up: {tokens}"


def check_unique(space: Space) -> None:
    """I14: a unique key is held by exactly the job that has it and is neither ended nor dead."""
    keys, dead = space.hash("uk"), space.ids("dead")

    assert set(keys) <= set(space.hash("j")), "I14: unique keys of jobs that are gone"
    alive = sorted((s[1:], i) for i, s in keys.items() if i not in dead and s[:1] != b"S")
    assert sorted(space.hash("u").items()) == alive, f"I14: {space.hash('u')} held, not {alive}"
    late = {i for i in space.hash("ex") if i in dead or i not in space.hash("j")}
    assert not late, f"{late} ended or died, and expire"


def check_expiry(space: Space) -> None:
    """What is remembered for a time expires; a group with work or dead jobs does not."""
    forever = [k for k in space.lasting if k.startswith(b"r:")]

    assert not forever, f"kept forever: {forever}"
    for name, fields in space.groups.items():
        needed = int(fields.get(b"left", 0)) > 0 or int(fields.get(b"dead", 0)) > 0
        assert (b"g:" + name in space.lasting) == needed, f"expiry of group {name!r}: {fields}"


def check_same(space: Space, state: State) -> None:
    """Fail unless the server holds what the model holds. I5: so a refused call changed nothing."""
    marks = set(space.hash("cx"))
    lanes = {
        k: left for k, ids in space.lanes.items() if (left := [i for i in ids if i not in marks])
    }
    dead = {i: job.died for i, job in state.jobs.items() if job.place is Place.DEAD}

    assert set(space.hash("j")) == set(state.jobs), "the jobs differ"
    assert lanes == state.lanes, f"the lanes differ {lanes} {state.lanes}"
    assert marks == state.marks, "the marks differ"
    late = set(state.at(Place.DELAYED))
    assert set(space.ids("dl")) == late, "the delayed differ"
    assert space.indexed == {
        group: {i for i in late if state.jobs[i].group == group}
        for group in {state.jobs[i].group for i in late}
    }, "the index of delayed jobs differs"
    urgent = {i for i in late if state.jobs[i].tier < 2}
    assert urgent <= set(space.ids("du")) <= late, "the index of urgent delayed jobs differs"
    assert space.ids("dead") == sorted(dead, key=lambda i: (dead[i], i)), "the dead differ"
    check_same_notes(space, state)
    check_same_tenants(space, state)
    check_same_books(space, state)
    check_same_totals(space, state)
    check_same_control(space, state)
    check_same_batches(space, state)
    gate_laws.check_same(space, state)


def check_same_notes(space: Space, state: State) -> None:
    """Attempts, crashes, errors and requests to cancel, job by job."""
    jobs = state.jobs.items()

    assert {i: int(n) for i, n in space.hash("at").items()} == {
        i: job.attempts for i, job in jobs if job.attempts
    }, "attempts differ"
    assert {i: int(n) for i, n in space.hash("cr").items()} == {
        i: job.crashes for i, job in jobs if job.crashes is not None
    }, "crashes differ"
    assert space.hash("er") == {i: job.error for i, job in jobs if job.error}, "errors differ"
    assert space.hash("ua") == {i: job.aside for i, job in jobs if job.aside}, "asides differ"
    held = {i for i, job in jobs if job.place is Place.DELAYED and holding.waits(state, job)}
    assert space.held() == held, "what waits for the release of its task differs"
    recorded = {task.decode(): how for task, how in space.hash("ht").items()}
    found = {t: holding.HELD if b"[" in how else how.decode() for t, how in recorded.items()}
    assert found == state.tasks, "held tasks differ"
    assert space.hash("uk") == {i: job.key for i, job in jobs if job.key}, "unique keys differ"
    expiring = {i for i, job in jobs if job.expires_s is not None}
    assert set(space.hash("ex")) == expiring, "what expires differs"
    assert space.hash("u") == state.holders, "the holders of unique keys differ"
    assert set(space.hash("cn")) == {i for i, job in jobs if job.asked}, "requests differ"
    for i, body in space.hash("j").items():
        job = state.jobs[i]
        assert (int(body[1:2]), len(body)) == (job.tier, job.size), f"the body of {i!r}"


def check_same_tenants(space: Space, state: State) -> None:
    """How tenants may run, how many of their jobs are in flight, and how others ended."""
    for name in {*space.records, *state.names(), *state.tenants}:
        fields, bounds = space.records.get(name, {}), state.tenants.get(name, Bounds())
        books = (i for book in state.books.values() for i in book.order())
        running = sum(tenant_of(state.jobs[i].group) == name for i in books)
        told = (b"hold" in fields, int(fields.get(b"max", 0)), int(fields.get(b"weight", 1)))
        assert told == (bounds.held, bounds.most, bounds.weight), f"the bounds of {name!r}"
        assert int(fields.get(b"run", 0)) == running, f"running jobs of {name!r}: {fields}"
    assert not [key for key in space.lasting if key.startswith(b"tt:")], "totals kept forever"


def check_same_books(space: Space, state: State) -> None:
    """Who claimed what, in which order, and what of it has started."""
    for epoch, book in space.books.items():
        known = state.books.get(epoch)
        assert known is not None, f"book {epoch} should be empty: {book}"
        assert [i for i, _ in book] == known.order(), f"book {epoch} differs"
        assert [i for i, s in book if s >= STARTED] == known.started, f"starts of {epoch} differ"
    assert set(state.books) == set(space.books), "a book is missing"


def check_same_totals(space: Space, state: State) -> None:
    """Counters and group totals."""
    stored = {n: space.counter(n) for n in GROWING}

    assert stored == {n: state.counters[n] for n in GROWING}, "the counters differ"
    names = (
        *("total", "left", "dead", "cancelled", "delayed"),
        *("done", "evicted", "discarded", "expired"),
    )
    assert {
        name: {k: int(fields.get(k.encode(), 0)) for k in names}
        for name, fields in space.groups.items()
    } == {name: {k: getattr(group, k) for k in names} for name, group in state.groups.items()}, (
        "the groups differ"
    )
    assert {name for name, fields in space.groups.items() if b"hold" in fields} == {
        name for name, group in state.groups.items() if group.held
    }, "the held groups differ"
    for name, room in space.hash("mg").items():
        assert int(room) == state.room(name), f"room of {name!r} is not {state.room(name)}"
        able = [int(space.groups[name][b"c%d" % tier]) for tier in range(4)]
        assert able == state.able(name), f"{name!r} may run {state.able(name)}, not {able}"
    assert (b"hold" in space.hash("c")) == state.held, "the hold of the partition differs"
    check_same_moves(space, state)
    assert space.ended == state.ends.sets, f"remembered: {space.ended}, not {state.ends.sets}"


def check_same_moves(space: Space, state: State) -> None:
    """Which groups are on their way, and which version of the route is accepted."""
    assert int(space.hash("c").get(b"route", 1)) == state.route, "the least version differs"
    check_closings(space, state)
    assert (b"shut" in space.hash("c")) == state.shut, "whether slots move differs"
    assert set(space.list("mn")) == state.configured, "the configured groups differ"
    assert set(space.list("mv")) == state.frozen, "the frozen groups differ"
    for name, group in state.groups.items():
        fields = space.groups[name]
        told = [int(fields.get(field, 0)) or None for field in (b"moving", b"arrived")]
        assert told == [group.moving, group.arrived], f"M1: {name!r} is on its way: {told}"
        assert (b"closed" in fields) == group.closed, f"M2: {name!r} is closed, or is not"


def check_same_control(space: Space, state: State) -> None:
    """Owner, draining lives, books to recover, commands and checkpoint."""
    owner, stored = state.owner, space.hash("o")
    held = (owner.nonce.encode(), owner.epoch, owner.beat, owner.applied) if owner else None

    assert held == (
        (
            stored[b"nonce"],
            int(stored[b"epoch"]),
            int(stored[b"beat"]),
            stored.get(b"applied", b"0-0").decode(),
        )
        if stored
        else None
    ), "the owner differs"
    assert {int(e): v.rpartition(b":")[0].decode() for e, v in space.hash("dr").items()} == {
        e: nonce for e, (nonce, _) in state.draining.items()
    }, "draining lives differ"
    assert [int(e) for e in space.list("rec")] == state.to_recover, "books to recover differ"
    ids = [i.decode() for i, _ in space.commands]
    assert ids == [f"{e}-{s}" for e, s in state.commands], "the commands differ"
    ck = space.hash("ck")
    assert state.checkpoint == ((int(ck[b"target"]), int(ck[b"leader"])) if ck else None)


def check_same_batches(space: Space, state: State) -> None:
    """What batches are to hear, and which there are."""
    told = [fields[0] for _entry, fields in space.plain.get("fo", [])]
    assert Counter(told) == Counter(note.job_id for note in state.told), "what is told differs"
    assert set(space.ids("bd")) == set(state.batches), "the batches differ"


def check_closings(space: Space, state: State) -> None:
    """Which slots have closed, and by which version."""
    known, fields = state.closings, dict[bytes, int]()
    if known is not None:
        fields = {b"from": known.since, b"to": known.until}
        fields |= {b"%03x" % slot: version for slot, version in known.slots.items()}
    assert {name: int(text) for name, text in space.hash("mr").items()} == fields, "slots closed"
