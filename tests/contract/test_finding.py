"""Looking for jobs: by kind, task, group, error and time, in bounded parts; errors counted."""

from collections.abc import Iterator
from typing import Any

import pytest

from queuepool.models import ErrorRecord, JobState
from queuepool.models.finding import JobFilter, fingerprint
from queuepool.protocol import codec
from queuepool.verbs.operator import editing, finding
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.test_wakeups import forget_tokens
from tests.contract.world import World


def error(kind: str, message: str = "no", traceback: str = "") -> bytes:
    record = ErrorRecord(reason="failed", type=kind, message=message, traceback=traceback)
    return codec.encode_error(record)


def pages(world: World, where: JobFilter, **options: int) -> Iterator[finding.Page]:
    cursor = b""
    for _ in range(1000):
        page = world.partition.run(finding.find(0, where, cursor, **options))  # type: ignore[arg-type]
        yield page
        cursor = page.cursor
        if not cursor:
            return
    raise AssertionError("it never ends")


def found(world: World, where: JobFilter, **options: int) -> list[str]:
    return [job.job_id for page in pages(world, where, **options) for job in page.jobs]


def die(world: World, *dying: tuple[str, bytes], group: bytes = b"g") -> None:
    """Let jobs die one after the other, a second apart."""
    owned = world.own()
    for name, why in dying:
        w.enqueue(world, [name], group)
        w.claim(owned)
        owned.run(own.bury(owned.ownership, [(name.encode(), why)], [b""], **w.KEEP))
        world.advance(1)
    owned.run(own.release(owned.ownership, drain_lease_ms=0))


@pytest.mark.parametrize("most", [1, 2, 200])
@pytest.mark.parametrize("newest", [True, False])
def test_dead_jobs_are_found_in_the_order_of_time(world: World, most: int, newest: bool) -> None:
    names = [f"d{n}" for n in range(5)]
    die(world, *((name, error("E")) for name in names))

    where = JobFilter(state=JobState.DEAD, newest=newest)
    assert found(world, where, most=most) == (names[::-1] if newest else names)
    assert found(world, where, most=most, look=1) == (names[::-1] if newest else names)


@pytest.mark.parametrize("newest", [True, False])
def test_dead_jobs_are_found_by_time(world: World, newest: bool) -> None:
    die(world, *((f"d{n}", error("E")) for n in range(5)))
    times = {str(dead.job_id): dead.died_ms for dead in world.partition.dead()}

    where = JobFilter(
        state=JobState.DEAD, newest=newest, since_ms=times["d1"], until_ms=times["d3"]
    )
    assert sorted(found(world, where, most=2)) == ["d1", "d2", "d3"]
    nothing = JobFilter(state=JobState.DEAD, newest=newest, since_ms=times["d4"] + 1)
    assert found(world, nothing) == []


@pytest.mark.parametrize("newest", [True, False])
def test_a_walk_goes_on_when_what_it_has_seen_is_replayed(world: World, newest: bool) -> None:
    owned = world.own()
    names = w.names("j", 9)
    w.enqueue(world, names)
    w.claim(owned)
    w.bury(owned, [name.encode() for name in names])  # all at the same time, or nearly

    where, seen = JobFilter(state=JobState.DEAD, newest=newest), list[str]()
    for page in pages(world, where, most=2):
        seen += [job.job_id for job in page.jobs]
        world.partition.replay([job.job_id for job in page.jobs])

    assert sorted(seen) == sorted(names)
    assert world.partition.observe().dead == 0


@pytest.mark.parametrize("newest", [True, False])
def test_a_walk_goes_on_behind_the_last_one_that_it_has_seen_when_that_is_gone(
    world: World, newest: bool
) -> None:
    names = [f"d{n}" for n in range(6)]
    die(world, *((name, error("E")) for name in names))

    where, seen = JobFilter(state=JobState.DEAD, newest=newest), list[str]()
    for page in pages(world, where, most=2):
        seen += [job.job_id for job in page.jobs]
        world.partition.replay(seen[-1:])

    assert seen == (names[::-1] if newest else names)


@pytest.mark.parametrize("most", [1, 2])
def test_a_walk_through_the_lanes_of_a_group_goes_on_in_the_lane_that_it_is_in(
    world: World, most: int
) -> None:
    names = [[f"t{tier}-{n}" for n in range(3)] for tier in range(4)]
    for tier in (0, 2, 3):
        w.enqueue(world, names[tier], tier=tier)

    where = JobFilter(state=JobState.READY, group=b"g")
    parts = [[job.job_id for job in page.jobs] for page in pages(world, where, most=most)]

    assert [name for part in parts for name in part] == names[0] + names[2] + names[3]
    assert max(map(len, parts)) == most


def test_a_walk_through_many_jobs_comes_to_all_of_them(world: World) -> None:
    names = w.names("j", 600)  # more than a server keeps in one piece
    w.enqueue(world, names)

    assert sorted(found(world, JobFilter(), look=100)) == names


def test_jobs_are_found_by_task_group_and_error(world: World) -> None:
    die(world, ("a", error("ValueError", "no such account")), group=b"one")
    die(world, ("b", error("KeyError", "ACCOUNT", traceback="ValueError")), group=b"two")
    dead = JobState.DEAD

    assert found(world, JobFilter(state=dead, group=b"one")) == ["a"]
    assert found(world, JobFilter(state=dead, task="t")) == ["b", "a"]
    assert found(world, JobFilter(state=dead, task="other")) == []
    assert found(world, JobFilter(state=dead, error="valueerror")) == ["a"]
    assert found(world, JobFilter(state=dead, error="account")) == ["b", "a"]
    assert found(world, JobFilter(state=dead, error="no: match")) == []


def test_each_state_is_found(world: World) -> None:
    die(world, ("died", error("E")))
    owned = world.own()
    w.enqueue(world, ["runs", "claimed"])
    w.claim(owned, starting=0)
    owned.run(own.start(owned.ownership, [b"runs"]))
    w.enqueue(world, ["waits"], b"g")
    w.enqueue(world, ["elsewhere"], b"other", tier=0)
    w.enqueue(world, ["later"], delay_ms=60_000)
    w.enqueue(world, ["parked"], limits=b"mail")

    expected = {
        JobState.DEAD: ["died"],
        JobState.IN_FLIGHT: ["claimed", "runs"],
        JobState.READY: ["elsewhere", "waits"],
        JobState.DELAYED: ["later"],
        JobState.PARKED: ["parked"],
    }
    for state, names in expected.items():
        assert sorted(found(world, JobFilter(state=state))) == names, state
    assert found(world, JobFilter(state=JobState.READY, group=b"g")) == ["waits"]
    everything = sorted(name for names in expected.values() for name in names)
    assert sorted(found(world, JobFilter(), look=2)) == everything
    [running] = [
        job
        for page in pages(world, JobFilter(state=JobState.IN_FLIGHT), most=1)
        for job in page.jobs
        if job.at_ms is not None
    ]
    assert (running.job_id, running.task, running.state) == ("runs", "t", JobState.IN_FLIGHT)


def test_matches_are_counted_without_being_sent(world: World) -> None:
    die(world, ("a", error("E")), ("b", error("E")), ("c", error("F")))

    [page] = pages(world, JobFilter(state=JobState.DEAD), most=0)

    assert (page.looked, page.matching, page.jobs) == (0, 3, [])
    [page] = pages(world, JobFilter(state=JobState.DEAD, error="e"), most=0)
    assert (page.looked, page.matching, page.jobs) == (3, 3, [])


def test_a_large_body_and_a_traceback_are_sent_only_when_asked_for(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"], payload=b'{"x":"%s"}' % (b"y" * 5000))
    w.claim(owned)
    raw = error("E", traceback="line 1")
    owned.run(own.bury(owned.ownership, [(b"a", raw)], [b""], **w.KEEP))

    where = JobFilter(state=JobState.DEAD)
    brief = world.partition.run(finding.find(0, where))
    whole = world.partition.run(finding.find(0, where, whole=True))

    assert brief.jobs[0].task == whole.jobs[0].task == "t"
    assert (len(brief.bodies[0]), len(whole.bodies[0]) > 5000) == (256, True)
    assert brief.jobs[0].error is not None
    assert whole.jobs[0].error is not None
    assert (brief.jobs[0].error.traceback, whole.jobs[0].error.traceback) == ("", "line 1")


def test_errors_are_counted_of_dead_and_retrying_jobs(world: World) -> None:
    die(world, ("a", error("E", "row 1")), ("b", error("E", "row 2")), ("c", error("F")))
    owned = world.own()
    w.enqueue(world, ["r", "s"])
    w.claim(owned)
    owned.run(own.retry(owned.ownership, [(b"r", 60_000, True, error("F"))], [b""]))
    w.enqueue(world, ["later"], delay_ms=60_000)

    rank, size, dead = world.partition.run(finding.errors("dead", 0, 1))
    _, delayed, retrying = world.partition.run(finding.errors("delayed", 0, 1))

    assert (rank, size, delayed) == (-1, 3, 2)
    assert [(e.type, e.dead, e.retrying) for e in retrying] == [("F", 0, 1)]
    by_print = {e.fingerprint: e for e in (dead[0].plus(dead[1]), dead[2])}
    assert len({e.fingerprint for e in dead}) == 2, "a number makes no other error"
    [both, other] = by_print.values()
    assert (both.type, both.dead, both.example, both.task) == ("E", 2, "b", "t")
    assert (other.dead, other.is_exact) == (1, True)
    assert both.first_ms is not None
    assert both.last_ms is not None
    assert 900 <= both.last_ms - both.first_ms < 60_000


def test_errors_that_differ_in_their_tracebacks_only_are_counted_as_one(world: World) -> None:
    die(world, *((name, error("E", traceback=f"line {name}")) for name in ("a", "b", "c")))

    *_, [one] = world.partition.run(finding.errors("dead", 0, 1))

    assert (one.dead, one.example) == (3, "c")
    assert one.first_ms is not None
    assert one.last_ms is not None
    assert 1900 <= one.last_ms - one.first_ms < 60_000


def test_a_part_of_many_errors_stands_for_all(world: World) -> None:
    die(world, *((f"d{n}", error("E")) for n in range(10)))

    rank, size, counts = world.partition.run(finding.errors("dead", 0, 4))

    assert (rank, size) == (-1, 10)
    assert [(e.dead, e.is_exact) for e in counts] == [(8, False)]
    rank, _, _ = world.partition.run(finding.errors("dead", 0, 1, 4))
    assert rank == 4


def test_a_fingerprint_depends_on_task_type_and_message_without_its_numbers() -> None:
    def of(task: str, message: str, kind: str = "HTTPError") -> str:
        return fingerprint(task, ErrorRecord(reason="failed", type=kind, message=message))

    assert of("t", "row 17 of 'a'") == of("t", "row 9 of 'b'")
    assert of("t", "row 17").startswith("HTTPError-")
    assert len({of("t", "x"), of("u", "x"), of("t", "y"), of("t", "x", "OSError")}) == 4


def edited(world: World, job_id: str, payload: bytes) -> str:
    """Give a job other arguments; return the answer."""
    state, body = world.partition.run(editing.edit(job_id))
    if not body:
        return state
    return world.partition.run(editing.edit(job_id, body, b'["t",%s]' % payload))[0]


def test_a_job_that_does_not_run_gets_other_arguments(world: World) -> None:
    die(world, ("dead", error("E")))
    w.enqueue(world, ["ready", "next"], tier=1)
    w.enqueue(world, ["later"], delay_ms=60_000)
    w.enqueue(world, ["expires"], expires_ms=60_000)

    names = ["dead", "ready", "later", "expires"]
    assert [edited(world, name, b'{"n":12345}') for name in names] == ["edited"] * 4

    world.partition.replay(["dead"])
    owned = world.own()
    world.partition.run(editing.hasten("later"))
    w.promote(owned)
    claims = w.claim(owned)
    bodies = dict(zip(claims.ids, claims.bodies, strict=True))
    assert claims.ids[:2] == [b"ready", b"next"], "it keeps its place"
    for name in names:
        assert codec.decode_envelope(bodies[name.encode()]).payload == {"n": 12345}
    assert codec.decode_envelope(bodies[b"next"]).payload == {}
    w.finish(owned, claims)
    assert world.partition.observe().bytes == 0
    assert world.partition.audit().clean


def test_a_job_that_runs_was_cancelled_or_has_changed_is_not_edited(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["runs"])
    w.claim(owned)
    w.enqueue(world, ["cut"], b"gone")
    body = world.partition.run(editing.edit("cut"))[1]

    assert edited(world, "never", b"{}") == "unknown"
    assert edited(world, "runs", b"{}") == "in-flight"
    assert world.partition.run(editing.edit("cut", body + b" ", b"[]")) == ("changed", b"")
    owned.run(own.release(owned.ownership, drain_lease_ms=60_000))
    assert edited(world, "runs", b"{}") == "in-flight"


def test_an_edited_job_is_another_than_before(world: World) -> None:
    w.enqueue(world, ["a"])
    before = world.partition.run(editing.edit("a"))[1]
    assert edited(world, "a", b"{}") == "edited"
    after = world.partition.run(editing.edit("a"))[1]

    assert codec.read_stamp(after) != codec.read_stamp(before)


def test_jobs_that_do_not_match_are_looked_at_all_the_same(world: World) -> None:
    w.enqueue(world, w.names("j", 50))

    assert sum(page.looked for page in pages(world, JobFilter(state=JobState.PARKED))) >= 50


def test_a_large_edited_job_is_claimed_by_itself(world: World) -> None:
    w.enqueue(world, ["small", "other"])
    assert edited(world, "small", b'{"x":"%s"}' % (b"y" * 5000)) == "edited"
    if not world.in_memory:  # the next claim knows before it reads the body
        largest: Any = world.client.hget(world.partition.key + b":c", "largest")
        assert int(largest) > 5000
    owned = world.own()

    assert w.claim(owned, 2, max_bytes=1000).ids == [b"small"]
    assert w.claim(owned, 2, max_bytes=1000).ids == [b"other"]


def test_a_foreign_value_in_place_of_the_tokens_hinders_no_job_that_is_hastened(
    server_world: World,
) -> None:
    w.enqueue(server_world, ["later"], delay_ms=60_000)
    owned = server_world.own()
    server_world.client.delete(server_world.partition.key + b":wk")
    server_world.client.set(server_world.partition.key + b":wk", "not ours")

    assert server_world.partition.run(editing.hasten("later")) is True
    assert w.promote(owned).promoted == 1


def test_an_expiring_job_that_was_edited_still_expires(world: World) -> None:
    w.enqueue(world, ["expires"], expires_ms=60_000)
    assert edited(world, "expires", b"{}") == "edited"
    world.advance(61)

    assert w.claim(world.own()).ids == []
    assert world.partition.status("expires").state is JobState.EXPIRED


def test_the_owner_is_woken_for_a_job_that_is_hastened(world: World) -> None:
    w.enqueue(world, ["later"], delay_ms=60_000)
    forget_tokens(world)

    assert world.partition.run(editing.hasten("later")) is True
    assert snapshot(world)["tokens"] == [b"d"]


LARGE, BUDGET = 2 * 2**20, 4 * 2**20  # bytes


def test_pages_end_when_they_have_looked_at_many_bytes(server_world: World) -> None:
    owned = server_world.own()
    names = w.names("j", 8)
    for name in names:
        w.enqueue(server_world, [name], payload=b'"%s"' % (b"x" * LARGE))
    while w.claim(owned, 2).ids:
        pass
    w.bury(owned, [name.encode() for name in names])

    page = server_world.partition.run(finding.find(0, JobFilter(state=JobState.DEAD)))
    rank, total, _ = server_world.partition.run(finding.errors("dead", 0, 2))

    assert len(page.jobs) <= BUDGET // LARGE + 1 < len(names)
    assert (rank, total) == (2 * BUDGET // LARGE, 8)


def test_a_delayed_job_is_hastened(world: World) -> None:
    w.enqueue(world, ["later", "last"], delay_ms=60_000)
    owned = world.own()

    assert world.partition.run(editing.hasten("later")) is True
    assert world.partition.run(editing.hasten("never")) is False
    w.promote(owned)
    assert w.claim(owned).ids == [b"later"]


def test_the_job_with_an_id_is_found_without_a_look_at_others(world: World) -> None:
    die(world, *((f"job-{n}", error("ValueError", f"no {n}")) for n in range(5)))
    w.enqueue(world, ["ready"])

    def one(job_id: str, **where: Any) -> finding.Page:
        verb = finding.find_one(0, JobFilter(**where), job_id, whole=True)
        return world.partition.run(verb)

    page = one("job-3", state=JobState.DEAD)
    assert [job.job_id for job in page.jobs] == ["job-3"]
    assert (page.cursor, page.looked, page.matching) == (b"", 1, 1)
    assert page.jobs[0].error is not None
    assert page.jobs[0].error.message == "no 3"
    assert codec.read_group(page.bodies[0]) == b"g"
    assert [job.state for job in one("ready").jobs] == [JobState.READY]
    for other in (
        one("ready", state=JobState.DEAD),
        one("job-3", state=JobState.DEAD, error="other"),
        one("job-3", state=JobState.DEAD, until_ms=1),
        one("never"),
    ):
        assert (other.jobs, other.cursor) == ([], b"")
