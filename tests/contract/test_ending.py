"""How jobs leave a consumer: finished, retried, buried, handed back, abandoned."""

from collections.abc import Callable
from typing import Any

from queuepool.models import JobState
from queuepool.testing import MemoryServer
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.world import World


def test_a_finished_job_leaves_its_result_and_nothing_else(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"])
    claims = w.claim(owned)

    done = w.finish(owned, claims, results=True)

    assert done == own.Finished(2, 0, 0)
    status = world.partition.status("a")
    assert (status.state, status.result) == (JobState.DONE, "r-a")
    state = world.partition.observe()
    assert (state.jobs, state.bytes, state.in_flight, state.lanes) == (0, 0, 0, (0, 0, 0, 0))


def test_a_result_lives_for_its_time(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.finish(owned, w.claim(owned), results=True)

    world.advance(500)
    assert world.partition.status("a").result == "r-a"
    world.advance(101)

    assert world.partition.status("a").result is None


def test_finishing_twice_is_harmless(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"])
    claims = w.claim(owned)
    w.finish(owned, claims, 0)

    again = w.finish(owned, claims, results=True)
    once_more = w.finish(owned, claims)

    assert (again, once_more) == (own.Finished(1, 1, 0), own.Finished(0, 2, 0))
    assert world.partition.status("a").result is None  # the first finish decided
    assert world.counters()["duplicate_finish"] == 3
    assert world.partition.group(b"g").done == 2


def test_finishing_nothing_changes_nothing(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    before = world.counters()

    assert owned.run(own.finish(owned.ownership, {})) == own.Finished(0, 0, 0)

    assert world.counters() == before


def test_finishing_only_duplicates_while_jobs_remain_keeps_the_bytes(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"], payload=b"1" * 50)
    claims = w.claim(owned)
    w.finish(owned, claims)
    w.enqueue(world, ["b"])
    before = world.partition.observe().bytes

    assert w.finish(owned, claims) == own.Finished(0, 1, 0)

    assert world.partition.observe().bytes == before


def test_finish_records_several_groups_at_once(world: World) -> None:
    owned = world.own()
    for group in (b"x", b"y"):
        w.enqueue(world, [f"{group.decode()}{n}" for n in range(3)], group)
    claims = w.claim(owned)

    w.finish(owned, claims)

    assert [world.partition.group(g).done for g in (b"x", b"y")] == [3, 3]


def test_an_ended_group_is_kept_a_minute_a_job(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b", "c"])
    w.drain(owned)

    assert world.partition.group(b"g").finished_ms is not None
    world.advance(175)
    assert world.partition.group(b"g").total == 3
    world.advance(10)
    assert world.partition.group(b"g").total == 0


def test_a_job_that_ran_is_done_also_when_its_body_was_lost(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"], b"of-a")
    w.enqueue(world, ["b"], b"of-b")
    claims = w.claim(owned)
    server = world.partition.server
    if isinstance(server, MemoryServer):
        del server.data(world.partition.key).jobs[b"a"]
    else:
        world.client.hdel(world.partition.key + b":j", "a")

    done = w.finish(owned, claims, results=True)

    assert (done.finished, done.duplicates) == (2, 0)
    assert world.partition.group(b"of-a").done == world.partition.group(b"of-b").done == 1
    assert world.counters()["done"] == 2


def test_a_dead_job_is_not_finished_by_a_late_acknowledgement(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    claims = w.claim(owned)
    w.bury(owned, [b"a"])

    assert w.finish(owned, claims) == own.Finished(0, 1, 0)

    assert world.partition.status("a").state is JobState.DEAD


def test_a_retried_job_waits_and_remembers_its_failures(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.claim(owned)

    assert w.retry(owned, [b"a", b"never"], delay_ms=5_000) == b"r0"

    status = world.partition.status("a")
    assert (status.state, status.attempts) == (JobState.DELAYED, 1)
    assert status.error is not None
    assert status.error.reason == "failed"
    world.advance(6)
    w.promote(owned)
    assert list(w.claim(owned).attempts) == [b"1"]
    assert world.counters() == {"enqueued": 1, "failed": 1, "retried": 1}


def test_an_uncharged_retry_burns_no_attempt(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.claim(owned)

    w.retry(owned, [b"a"], charge=False)

    assert world.partition.status("a").attempts == 0
    assert "failed" not in world.counters()


def test_success_after_failures_forgets_them(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.claim(owned)
    w.retry(owned, [b"a"])
    w.promote(owned)

    w.finish(owned, w.claim(owned))

    state = snapshot(world)
    assert (state["attempts"], state["errors"]) == ({}, {})


def test_a_job_named_twice_in_one_call_counts_once(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b", "c", "d"])
    w.claim(owned)

    assert w.retry(owned, [b"a", b"a"]) == b"r0"
    assert w.bury(owned, [b"b", b"b"]) == b"b0"
    assert owned.run(own.hand_back(owned.ownership, [b"c", b"c"])) == 1
    assert owned.run(own.end_cancelled(owned.ownership, [b"d", b"d"])) == 1

    assert world.partition.group(b"g").left == 2


def test_a_buried_job_keeps_its_payload_and_error(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"], payload=b'{"n":1}')
    w.claim(owned)

    assert w.bury(owned, [b"a", b"other"]) == b"b0"

    [dead] = world.partition.dead()
    assert (dead.job_id, dead.payload, dead.error.reason, dead.attempts) == (
        "a", {"n": 1}, "permanent", 1,
    )  # fmt: skip
    assert world.partition.group(b"g").dead == 1


def test_jobs_that_died_with_others_keep_their_own_attempts_and_errors(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"], b"g")
    w.enqueue(world, ["c"], b"h")
    for ids in ([b"a", b"c"], [b"c"]):
        w.claim(owned)
        w.retry(owned, ids)
        owned.run(own.hand_back(owned.ownership, [i for i in (b"a", b"b") if i not in ids]))
        w.promote(owned)
    w.claim(owned)

    errors = [(i, b'{"reason":"failed","message":"%s"}' % i) for i in (b"c", b"gone", b"a", b"b")]
    assert owned.run(own.bury(owned.ownership, errors, **w.KEEP)).status == b"b0bb"

    dead = {job.job_id: job for job in world.partition.dead()}
    assert {i: (job.attempts, job.error.message) for i, job in dead.items()} == {
        "a": (2, "a"), "b": (1, "b"), "c": (3, "c"),
    }  # fmt: skip
    assert (w.bury(owned, []), w.bury(owned, [b"gone"])) == (b"", b"0")


def test_dead_jobs_are_bounded_by_number(world: World) -> None:
    owned = world.own()
    ids = w.names("j", 6)
    w.enqueue(world, ids)
    w.claim(owned)

    for job_id in ids:
        world.advance(1)
        w.bury(owned, [job_id.encode()], keep_jobs=3)

    assert [d.job_id for d in world.partition.dead()] == ids[3:]
    assert world.counters()["evicted"] == 3
    assert world.partition.group(b"g").dead == 3


def test_dead_jobs_are_bounded_by_bytes_and_age(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b", "c"], payload=b"1" * 100)
    w.claim(owned)
    body = 13 + len(w.tail(b"g", b"1" * 100))

    w.bury(owned, [b"a"])
    world.advance(1)
    w.bury(owned, [b"b"], keep_bytes=2 * body - 1)
    assert [d.job_id for d in world.partition.dead()] == ["b"]

    world.advance(100)
    w.bury(owned, [b"c"], keep_ms=50_000)
    assert [d.job_id for d in world.partition.dead()] == ["c"]
    assert world.partition.observe().bytes == body


def test_dead_may_keep_nothing(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.claim(owned)

    w.bury(owned, [b"a"], keep_jobs=0)

    assert world.partition.observe().jobs == 0


def test_each_bury_evicts_at_most_two(world: World) -> None:
    owned = world.own()
    ids = w.names("j", 6)
    w.enqueue(world, ids)
    w.claim(owned)
    w.bury(owned, [i.encode() for i in ids[:5]])
    world.advance(1)

    w.bury(owned, [ids[5].encode()], keep_jobs=1)

    assert [d.job_id for d in world.partition.dead()] == ids[2:]


def test_jobs_handed_back_come_first_and_in_order(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("j", 8))
    claims = w.claim(owned, 5)

    handed = owned.run(own.hand_back(owned.ownership, claims.ids[1:]))

    assert handed == 4
    assert w.drain(owned) == w.names("j", 8)[1:]
    assert world.counters() == {"enqueued": 8, "done": 7}
    w.finish(owned, claims, 0)


def test_handing_back_a_whole_lane_seats_it_again(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    claims = w.claim(owned)

    owned.run(own.hand_back(owned.ownership, claims.ids))

    assert world.partition.observe().lanes == (0, 0, 1, 0)
    assert w.drain(owned) == ["a"]


def test_starting_is_booked_once(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.claim(owned, starting=0)
    assert world.partition.status("a").at_ms is None

    assert owned.run(own.start(owned.ownership, [b"a", b"other"])) == 1
    began = world.partition.status("a").at_ms
    assert began is not None
    world.advance(5)
    owned.run(own.start(owned.ownership, [b"a"]))

    again = world.partition.status("a").at_ms
    assert again is not None
    shift = 0 if world.in_memory else 5000  # `advance` puts the first start back on a server
    assert abs(again + shift - began) <= 1


def test_progress_is_bounded_and_only_of_running_jobs(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"])
    w.claim(owned, 1)

    stored = owned.run(own.progress(owned.ownership, {b"a": b"x" * 300, b"b": b"no"}))

    assert stored == 1
    assert world.partition.status("a").progress == "x" * 256
    assert world.partition.status("b").progress is None


def test_progress_ends_with_the_execution(world: World) -> None:
    owned = world.own()
    ends: dict[str, Callable[[bytes], Any]] = {
        "retry": lambda i: w.retry(owned, [i]),
        "bury": lambda i: w.bury(owned, [i]),
        "back": lambda i: owned.run(own.hand_back(owned.ownership, [i])),
        "end_cancelled": lambda i: owned.run(own.end_cancelled(owned.ownership, [i])),
    }
    w.enqueue(world, list(ends))
    claims = w.claim(owned)
    owned.run(own.progress(owned.ownership, dict.fromkeys(claims.ids, b"half")))

    for name, end in ends.items():
        end(name.encode())

    assert snapshot(world)["progress"] == {}


def test_an_abandoned_job_is_cancelled(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.claim(owned)
    world.partition.cancel("a")

    assert owned.run(own.end_cancelled(owned.ownership, [b"a", b"other"])) == 1

    assert world.partition.status("a").state is JobState.CANCELLED
    group = world.partition.group(b"g")
    assert (group.cancelled, group.left) == (1, 0)
    assert group.finished_ms is not None


def test_the_book_lists_what_is_in_flight(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b", "c"])
    w.claim(owned, 2)

    assert w.book(owned) == [b"a", b"b"]


def test_a_job_that_was_asked_to_stop_may_die_instead(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["first", "second"])
    w.claim(owned)
    w.bury(owned, [b"first"])
    world.partition.cancel("second")

    error = b'{"reason":"failed"}'
    buried = owned.run(
        own.bury(owned.ownership, [(b"second", error)], **(w.KEEP | {"keep_jobs": 1}))
    )

    assert (buried.status, buried.evicted) == (b"b", 1)
    assert world.partition.status("second").state is JobState.DEAD
    assert world.counters()["failed"] == 2
    assert w.renew(owned).cancels == set()
