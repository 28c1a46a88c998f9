"""A batch is defined, sealed, grown, cancelled, listed and forgotten."""

from __future__ import annotations

import pytest

from queuepool.models import JobState
from queuepool.models.flows import BatchState, EndOf
from queuepool.verbs import Verb
from queuepool.verbs.flows import telling
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.operator.editing import hasten
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.batches import (
    BATCH,
    DAY_MS,
    finish,
    has_started,
    ids_of,
    notes,
    open_batch,
    relay,
    results,
    status,
    tell,
)
from tests.contract.snapshot import snapshot
from tests.contract.test_wakeups import forget_tokens
from tests.contract.world import World


def test_a_batch_whose_jobs_end_before_it_is_sealed_is_complete_then(world: World) -> None:
    owned = world.own()
    open_batch(world, 2, seal=False)
    finish(owned, w.claim(owned))
    relay(owned)
    assert not has_started(owned)

    assert world.partition.run(_defined_again()).jobs is None
    assert world.partition.run(flow.seal_batch(BATCH, 2)) == 1
    assert world.partition.run(flow.seal_batch(BATCH, 2)) == 0
    assert world.partition.run(flow.seal_batch(BATCH, 3)) == -1
    owned.run(telling.tend_batches(owned.ownership))

    assert has_started(owned)
    assert world.partition.run(flow.seal_batch(BATCH, 2)) is BatchState.FIRED


def test_a_batch_without_jobs_is_complete(world: World) -> None:
    owned = world.own()
    open_batch(world, 0)
    owned.run(telling.tend_batches(owned.ownership))

    assert has_started(owned)


def test_a_batch_grows_from_inside_and_repeats_add_nothing(world: World) -> None:
    owned = world.own()
    open_batch(world, 1, seal=False)
    grow = flow.grow_batch(BATCH, "0:1", 2)
    assert world.partition.run(grow).refused == "OPEN"
    world.partition.run(flow.seal_batch(BATCH, 1))

    grown = [world.partition.run(grow) for _ in range(2)]
    other = world.partition.run(flow.grow_batch(BATCH, "0:2", 1, inner="AAcccccccccccc"))

    assert grown == [flow.Grown(1, 2), flow.Grown(1, 2)]
    assert other == flow.Grown(3, 1)
    assert (status(world).total, status(world).inner) == (4, ("AAcccccccccccc",))
    finish(owned, w.claim(owned))
    relay(owned)
    assert not has_started(owned)
    w.enqueue(world, ids_of(4)[1:])
    finish(owned, w.claim(owned))
    relay(owned)
    assert has_started(owned)
    repeated = world.partition.run(grow)
    assert (repeated.first, repeated.count) == (1, 2)
    over = world.partition.run(flow.grow_batch(BATCH, "0:3", 1))
    assert (over.refused, over.state) == ("OVER", BatchState.FIRED)


def _defined_again() -> Verb[flow.Opened]:
    return flow.open_batch(
        BATCH, BATCH, on_failure="fail", on_deadline="fail", deadline_ms=1, keep_ms=1
    )


@pytest.mark.parametrize("first", [1, 8, 13])
def test_who_adds_jobs_again_is_told_which_have_ended(world: World, first: int) -> None:
    owned = world.own()
    open_batch(world, first)
    grow = flow.grow_batch(BATCH, "0:1", 20)
    assert world.partition.run(grow) == flow.Grown(first, 20)
    w.enqueue(world, ids_of(first + 20)[first:])
    finish(owned, w.claim(owned), 0, first, first + 7, first + 19)
    assert not world.partition.run(grow).ended
    relay(owned)

    grown, again = world.partition.run(grow), world.partition.run(_defined_again())

    assert again.jobs == first
    assert [n - first for n in range(first, first + 20) if n in grown.ended] == [0, 7, 19]
    assert [n for n in range(40) if n in again.ended] == [0, first, first + 7, first + 19]
    world.partition.run(flow.cancel_batch(BATCH))
    assert world.partition.run(grow) == grown
    assert world.partition.run(_defined_again()) == flow.Opened(state=BatchState.CANCELLED)


def test_no_batch_has_more_jobs_than_its_bits_allow(world: World) -> None:
    world.own()
    open_batch(world, 1)

    assert world.partition.run(flow.grow_batch(BATCH, "0:1", 2**24)).refused == "FULL"


def test_a_batch_that_is_cancelled_ends_with_all_its_jobs(world: World) -> None:
    owned = world.own()
    ids = open_batch(world, 3)
    w.enqueue(world, ["other"])
    claims = w.claim(owned, 1)

    was, job_id = world.partition.run(flow.cancel_batch(BATCH))
    world.partition.cancel(job_id)
    _cursor, gone, asked, _ = world.partition.run(flow.cancel_children([BATCH], b"0"))

    assert (was, job_id, gone, asked) == (BatchState.OPEN, BATCH, 2, 1)
    states = [world.partition.status(job_id).state for job_id in ids]
    assert states == [JobState.IN_FLIGHT, JobState.CANCELLED, JobState.CANCELLED]
    assert set(snapshot(world)["cancels"]) == {ids[0].encode()}
    assert b"c" in snapshot(world)["tokens"]  # the owner hears of it at once
    owned.run(own.end_cancelled(owned.ownership, claims.ids))
    relay(owned)
    assert not has_started(owned)
    assert world.partition.status(BATCH).state is JobState.CANCELLED
    assert status(world).state is BatchState.CANCELLED
    assert world.partition.run(flow.cancel_batch(BATCH))[0] is BatchState.CANCELLED


def test_a_running_job_that_is_asked_again_to_stop_is_counted_once(world: World) -> None:
    owned = world.own()
    [job] = open_batch(world, 1)
    w.claim(owned)
    verb = flow.cancel_children([BATCH], b"0")
    assert [world.partition.run(verb)[1:] for _ in range(3)] == [(0, 1, 0), (0, 0, 0), (0, 0, 0)]
    assert w.renew(owned).cancels == {job.encode()}


def test_delayed_and_dead_jobs_of_a_cancelled_batch(world: World) -> None:
    owned = world.own()
    ids = open_batch(world, 2)
    claims = w.claim(owned)
    w.bury(owned, claims.ids[:1])
    w.retry(owned, claims.ids[1:], delay_ms=60_000)

    _cursor, gone, asked, _ = world.partition.run(flow.cancel_children([BATCH], b"0"))

    assert (gone, asked) == (1, 0)
    states = [world.partition.status(job_id).state for job_id in ids]
    assert states == [JobState.DEAD, JobState.CANCELLED]


def test_a_job_that_waits_for_a_consumer_that_knows_it_waits_no_more(world: World) -> None:
    owned = world.own()
    open_batch(world, 1)
    claims = w.claim(owned)
    owned.run(own.retry(owned.ownership, [(claims.ids[0], 30_000, "new", b"{}")]))
    assert snapshot(world)["asides"]

    world.partition.run(flow.cancel_children([BATCH], b"0"))

    assert not snapshot(world)["asides"]


def test_cancelling_its_group_tells_the_batch(world: World) -> None:
    owned = world.own()
    open_batch(world, 3)
    world.partition.cancel_group(b"g")
    relay(owned)

    assert has_started(owned)
    assert [r.end for r in results(world)] == [EndOf.CANCELLED] * 3


def test_a_continuation_that_was_cancelled_is_not_let_go(world: World) -> None:
    owned = world.own()
    open_batch(world, 1)
    world.partition.cancel(BATCH)
    finish(owned, w.claim(owned))
    relay(owned)

    assert not has_started(owned)
    assert status(world).state is BatchState.FIRED


def test_a_batch_is_forgotten_with_its_results_once_its_continuation_has_ended(
    world: World,
) -> None:
    owned = world.own()
    open_batch(world, 300)
    for _ in range(2):
        finish(owned, w.claim(owned, 200))
        relay(owned)
    assert len(results(world)) == 300
    w.promote(owned)
    last = w.claim(owned)
    world.advance(2 * DAY_MS / 1000)
    tended = owned.run(telling.tend_batches(owned.ownership))
    assert (tended.forgotten, tended.next_due_ms) == (0, DAY_MS)  # its continuation still runs
    w.finish(owned, last)
    world.advance(2 * DAY_MS / 1000)

    assert owned.run(telling.tend_batches(owned.ownership)).forgotten == 1

    assert status(world).state is BatchState.UNKNOWN
    assert results(world) == []
    assert world.partition.run(flow.batches(0, 10)) == (0, ())
    if world.client is not None:
        assert world.client.keys(world.partition.key + b":b*") == []


def test_a_batch_that_grows_before_the_owner_looks_at_it_goes_on(world: World) -> None:
    owned = world.own()
    open_batch(world, 1)
    finish(owned, w.claim(owned))
    tell(owned, notes(owned))  # it is complete, and due
    world.partition.run(flow.grow_batch(BATCH, "0:1", 1))

    tended = owned.run(telling.tend_batches(owned.ownership))

    assert (tended.fired, status(world).state) == (0, BatchState.OPEN)
    assert tended.next_due_ms is not None
    assert tended.next_due_ms > DAY_MS - 60_000
    assert not has_started(owned)


def test_results_are_kept_for_their_time_also_when_the_continuation_has_ended(
    world: World,
) -> None:
    owned = world.own()
    open_batch(world, 1)
    finish(owned, w.claim(owned))
    relay(owned)
    w.promote(owned)
    w.finish(owned, w.claim(owned))

    tended = owned.run(telling.tend_batches(owned.ownership))

    assert tended.next_due_ms is not None
    assert (tended.forgotten, tended.next_due_ms > DAY_MS - 60_000) == (0, True)
    assert [r.end for r in results(world)] == [EndOf.DONE]


def test_a_continuation_that_runs_already_is_not_let_go_again(world: World) -> None:
    owned = world.own()
    open_batch(world, 1)
    claims = w.claim(owned)
    world.partition.run(hasten(BATCH))
    assert has_started(owned)
    finish(owned, claims)
    tell(owned, notes(owned))

    assert owned.run(telling.tend_batches(owned.ownership)).fired == 0
    assert status(world).state is BatchState.FIRED
    assert w.book(owned) == [BATCH.encode()]
    assert world.partition.observe().delayed == 0


def test_a_very_large_batch_is_forgotten_bit_by_bit(server_world: World) -> None:
    owned, world = server_world.own(), server_world
    last = 128 * 201
    open_batch(world, 0, seal=False)
    world.partition.run(produce.cancel(BATCH))
    told = [(BATCH, 0, b"d", b"0" * 11, b"1"), (BATCH, 1, b"x", b"0" * 11, b"{}")]
    world.partition.run(telling.note_ends([*told, (BATCH, last, b"d", b"0" * 11, b"1")]))
    world.partition.run(flow.cancel_batch(BATCH))
    world.advance(DAY_MS / 1000 + 1)

    tended = [owned.run(telling.tend_batches(owned.ownership)) for _ in range(2)]

    assert [(each.forgotten, each.next_due_ms) for each in tended] == [(0, 0), (1, None)]
    assert world.client.keys(world.partition.key + b":b*") == []


def test_an_end_that_comes_while_a_batch_is_being_forgotten_leaves_nothing_behind(
    server_world: World,
) -> None:
    owned, world = server_world.own(), server_world
    open_batch(world, 0)
    world.partition.run(produce.cancel(BATCH))
    owned.run(telling.tend_batches(owned.ownership))
    assert status(world).state is BatchState.FIRED
    told = [(BATCH, n, b"d", b"0" * 11, b"1") for n in (0, 128 * 201)]
    assert world.partition.run(telling.note_ends(told)) == 2
    world.advance(DAY_MS / 1000 + 1)
    assert owned.run(telling.tend_batches(owned.ownership)).forgotten == 0

    assert world.partition.run(telling.note_ends([(BATCH, 1, b"d", b"0" * 11, b"1")])) == 0
    assert owned.run(telling.tend_batches(owned.ownership)).forgotten == 1
    assert world.client.keys(world.partition.key + b":b*") == []


def test_batches_are_listed_those_due_first_before_the_others(world: World) -> None:
    world.own()
    open_batch(world, 1, deadline_ms=60_000)
    open_batch(world, 2, batch="AAcccccccccccc", deadline_ms=30_000)

    total, found = world.partition.run(flow.batches(0, 10))

    assert (total, [(b.name, b.total) for b in found]) == (
        2,
        [("AAcccccccccccc", 2), (BATCH, 1)],
    )
    assert [b.next_ms for b in found] == [b.deadline_ms for b in found]
    assert [b.name for b in world.partition.run(flow.batches(1, 1))[1]] == [BATCH]
    world.partition.run(flow.cancel_batch(BATCH))
    _, (_, cancelled) = world.partition.run(flow.batches(0, 10))
    assert cancelled.next_ms > cancelled.deadline_ms


def test_a_batch_whose_record_is_foreign_or_gone_is_listed_without_one(server_world: World) -> None:
    world = server_world
    open_batch(world, 1, deadline_ms=90_000)
    for name in ("AAffffffffffff", "AAgggggggggggg"):
        world.client.zadd(world.partition.key + b":bd", {name: 1})
    world.client.set(world.partition.key + b":b:AAffffffffffff", "not ours")

    total, found = world.partition.run(flow.batches(0, 10))

    unknown = BatchState.UNKNOWN
    assert (total, [(b.name, b.state, b.total) for b in found]) == (
        3,
        [
            ("AAffffffffffff", unknown, 0),
            ("AAgggggggggggg", unknown, 0),
            (BATCH, BatchState.OPEN, 1),
        ],
    )


def test_a_batch_names_a_hundred_inner_ones_at_most(server_world: World) -> None:
    world = server_world
    open_batch(world, 1)
    inner = {f"s:{n}": f"AA{n:012}" for n in range(700)}
    world.client.hset(world.partition.key + b":b:" + BATCH.encode(), mapping=inner)

    assert len(set(status(world).inner)) == 100


def test_all_inner_batches_of_a_batch_are_listed_page_by_page(world: World) -> None:
    open_batch(world, 1)
    names = {f"CC{n:012d}" for n in range(2500)}
    for n, name in enumerate(sorted(names)):
        world.partition.run(flow.grow_batch(BATCH, f"job:{n}", 1, inner=name))

    found, cursor, pages = set[str](), b"0", 0
    while pages == 0 or cursor != b"0":
        page, cursor = world.partition.run(flow.inner_batches(BATCH, cursor))
        found, pages = found | set(page), pages + 1

    assert found == names
    assert pages > 1


def test_opening_a_batch_wakes_the_owner_for_its_deadline(world: World) -> None:
    forget_tokens(world)
    open_batch(world, 0, seal=False)

    assert b"f" in snapshot(world)["tokens"]


def test_an_unknown_batch_cannot_be_cancelled_and_a_cancelled_one_is_forgotten_in_time(
    world: World,
) -> None:
    owned = world.own()
    assert world.partition.run(flow.cancel_batch(BATCH)) == (BatchState.UNKNOWN, "")
    open_batch(world, 0, deadline_ms=20 * DAY_MS, seal=False)
    world.partition.run(produce.cancel(BATCH))
    assert world.partition.run(flow.cancel_batch(BATCH))[0] is BatchState.OPEN

    world.advance(DAY_MS / 1000 - 60)
    assert owned.run(telling.tend_batches(owned.ownership)).forgotten == 0
    world.advance(120)
    assert owned.run(telling.tend_batches(owned.ownership)).forgotten == 1


def test_continuations_that_are_let_go_are_counted(world: World) -> None:
    owned = world.own()
    open_batch(world, 0)
    open_batch(world, 0, batch="AAcccccccccccc")

    assert owned.run(telling.tend_batches(owned.ownership)).fired == 2


def test_a_page_of_results_ends_with_the_one_that_exceeds_its_bytes(world: World) -> None:
    owned = world.own()
    open_batch(world, 5)
    finish(owned, w.claim(owned))
    tell(owned, notes(owned))

    first = world.partition.run(flow.batch_results(BATCH, 0, max_bytes=30))
    rest = world.partition.run(flow.batch_results(BATCH, first.next_number))

    assert (len(first.found), first.next_number) == (2, 2)
    assert [r.end for r in (*first.found, *rest.found)] == [EndOf.DONE] * 5


def test_a_batch_is_defined_once(world: World) -> None:
    owned = world.own()
    open_batch(world, 1)
    again = _defined_again()

    assert world.partition.run(again) == flow.Opened(jobs=1)
    assert status(world).on_failure == "partial"
    finish(owned, w.claim(owned))
    relay(owned)
    assert world.partition.run(again) == flow.Opened(state=BatchState.FIRED)


def test_what_is_told_of_unknown_batches_is_ignored(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ids_of(1))
    finish(owned, w.claim(owned))

    assert tell(owned, notes(owned)) == 0


def test_a_job_of_a_batch_may_be_the_continuation_of_another(world: World) -> None:
    owned = world.own()
    [inner_then] = open_batch(world, 1, seal=True)
    inner = "AAcccccccccccc"
    ways = {"on_failure": "fail", "on_deadline": "fail"}
    verb = flow.open_batch(inner, inner_then, deadline_ms=DAY_MS, keep_ms=1, within=BATCH, **ways)  # type: ignore[arg-type]
    w.claim(owned)
    w.retry(owned, [inner_then.encode()], delay_ms=DAY_MS)  # as if it had been enqueued so
    world.partition.run(verb)
    w.enqueue(world, ids_of(1, inner))
    world.partition.run(flow.seal_batch(inner, 1))
    assert status(world, inner).within == BATCH

    w.claim(owned)
    w.bury(owned, [i.encode() for i in ids_of(1, inner)])
    relay(owned)
    assert status(world, inner).state is BatchState.FAILED
    assert world.partition.status(inner_then).state is JobState.DEAD
    relay(owned)

    assert status(world).state is BatchState.FIRED
    assert [r.end for r in results(world)] == [EndOf.DEAD]
    assert isinstance(world.partition.run(produce.status(BATCH, 0)).state, JobState)
