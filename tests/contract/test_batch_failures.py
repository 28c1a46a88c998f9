"""What failures of its jobs, and its deadline, do to the continuation of a batch."""

from __future__ import annotations

import pytest

from queuepool.models import JobState
from queuepool.models.flows import BatchState, EndOf, OnFailure
from queuepool.verbs.flows import telling
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.operator.editing import edit, hasten
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.batches import (
    BATCH,
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
from tests.contract.world import World


def message(world: World) -> str:
    """Return the error of the continuation, which has died."""
    dead = world.partition.status(BATCH)
    assert dead.state is JobState.DEAD
    assert dead.error is not None
    return dead.error.message


def test_partial_runs_with_results_and_failures(world: World) -> None:
    owned = world.own()
    open_batch(world, 2, "partial")
    claims = w.claim(owned)
    finish(owned, claims, 1)
    w.bury(owned, [claims.ids[0]])
    relay(owned)

    assert has_started(owned)
    failed, done = results(world)
    assert (failed.end, failed.ok, done.ok) == (EndOf.DEAD, False, True)
    assert failed.error is not None
    assert failed.error.reason == "permanent"


def test_fail_buries_the_continuation_with_the_list_of_what_failed(world: World) -> None:
    owned = world.own()
    open_batch(world, 3, "fail")
    claims = w.claim(owned)
    finish(owned, claims, 1)
    w.bury(owned, [claims.ids[0]])
    relay(owned)
    assert not has_started(owned)
    assert status(world).state is BatchState.OPEN  # until all have ended

    owned.run(own.end_cancelled(owned.ownership, [claims.ids[2]]))
    tell(owned, notes(owned))
    tended = owned.run(telling.tend_batches(owned.ownership))

    assert (tended.fired, tended.failed) == (0, 1)
    assert not has_started(owned)
    dead = world.partition.status(BATCH)
    assert (dead.state, status(world).state) == (JobState.DEAD, BatchState.FAILED)
    assert dead.error is not None
    assert (dead.error.reason, dead.error.message) == (
        "batch-failed",
        "of 3 jobs of its batch, 1 are done, 1 dead, 1 cancelled, expired or deleted, and 0 have "
        "not ended; numbers 0, 2",
    )


def test_the_list_of_what_failed_is_in_order_whatever_failed_first(world: World) -> None:
    owned = world.own()
    open_batch(world, 3, "fail")
    claims = w.claim(owned)
    for place in (2, 0, 1):
        w.bury(owned, [claims.ids[place]])
        relay(owned)

    assert message(world).endswith("; numbers 0, 1, 2")


def test_the_list_of_what_failed_ends_with_the_twentieth(world: World) -> None:
    owned = world.own()
    open_batch(world, 25, "fail")
    w.bury(owned, w.claim(owned).ids)
    relay(owned)

    listed = message(world).partition("; numbers ")[2]
    assert listed.endswith(" and others")
    assert len(listed.removesuffix(" and others").split(", ")) == 20


def test_errors_of_the_first_thousand_that_fail_are_kept(world: World) -> None:
    world.own()
    open_batch(world, 0, seal=False)
    told = [(BATCH, n, b"x", b"%011x" % n, b'{"reason":"failed"}') for n in range(1001)]
    assert world.partition.run(telling.note_ends(told)) == 1001
    world.partition.run(flow.seal_batch(BATCH, 1001))

    found = results(world)
    assert {r.end for r in found} == {EndOf.DEAD}
    assert [r.number for r in found if r.error is None or r.error.reason != "failed"] == [1000]


def test_a_continuation_that_waits_for_a_consumer_that_knows_it_dies_all_the_same(
    world: World,
) -> None:
    owned = world.own()
    open_batch(world, 1, "fail")
    [child] = w.claim(owned).ids
    world.partition.run(hasten(BATCH))
    assert has_started(owned)
    owned.run(own.retry(owned.ownership, [(BATCH.encode(), 30_000, "new", b"{}")]))
    w.bury(owned, [child])
    relay(owned)

    assert message(world).endswith("; numbers 0")
    assert not snapshot(world)["asides"]


def test_a_dead_continuation_that_is_replayed_sees_what_its_jobs_became_since(world: World) -> None:
    owned = world.own()
    ids = open_batch(world, 1, "fail")
    w.claim(owned)
    w.bury(owned, [i.encode() for i in ids])
    relay(owned)
    world.partition.run(operate.replay([*ids, BATCH]))
    claims = w.claim(owned)
    finish(owned, claims, claims.ids.index(ids[0].encode()))
    relay(owned)

    assert BATCH.encode() in claims.ids
    assert [r.end for r in results(world)] == [EndOf.DONE]


def test_wait_waits_until_the_dead_are_replayed(world: World) -> None:
    owned = world.own()
    ids = open_batch(world, 2, "wait")
    claims = w.claim(owned)
    finish(owned, claims, 0)
    w.bury(owned, [claims.ids[1]])
    relay(owned)
    assert not has_started(owned)
    assert (status(world).dead, status(world).left) == (1, 0)

    world.partition.run(operate.replay(ids[1:]))
    relay(owned)
    assert (status(world).dead, status(world).left) == (0, 1)
    again = w.claim(owned)
    finish(owned, again)
    relay(owned)

    assert has_started(owned)
    assert [r.ok for r in results(world)] == [True, True]


def test_wait_waits_until_the_dead_are_discarded(world: World) -> None:
    owned = world.own()
    ids = open_batch(world, 1, "wait")
    w.claim(owned)
    w.bury(owned, [i.encode() for i in ids])
    relay(owned)
    assert not has_started(owned)

    world.partition.run(operate.discard(ids))
    relay(owned)

    assert has_started(owned)
    assert [r.end for r in results(world)] == [EndOf.DISCARDED]


def test_one_that_was_evicted_counts_as_lost(world: World) -> None:
    owned = world.own()
    open_batch(world, 2, "wait")
    claims = w.claim(owned)
    w.bury(owned, claims.ids, keep_jobs=1)
    relay(owned)

    assert (status(world).dead, status(world).lost) == (1, 1)
    assert [r.end for r in results(world)] == [EndOf.EVICTED, EndOf.DEAD]


def test_a_death_that_is_told_again_after_the_replay_is_old_news(world: World) -> None:
    owned = world.own()
    ids = open_batch(world, 1, "partial", seal=False)
    w.claim(owned)
    w.bury(owned, [i.encode() for i in ids])
    world.advance(1)
    world.partition.run(operate.replay(ids))
    told = notes(owned)
    assert [note.end for note in told] == [b"x", b"r"]
    tell(owned, told)

    assert tell(owned, told) == 0
    assert (status(world).dead, [r.end for r in results(world)]) == (0, [EndOf.OPEN])
    w.claim(owned)
    w.bury(owned, [i.encode() for i in ids])
    assert tell(owned, notes(owned)) == 1
    assert tell(owned, notes(owned)) == 0
    assert status(world).dead == 1


def test_a_job_that_expires_is_lost(world: World) -> None:
    owned = world.own()
    open_batch(world, 0, seal=False)
    w.enqueue(world, ids_of(1), expires_ms=1000)
    world.partition.run(flow.seal_batch(BATCH, 1))
    world.advance(2)
    w.claim(owned)
    relay(owned)

    assert has_started(owned)
    assert [r.end for r in results(world)] == [EndOf.EXPIRED]


@pytest.mark.parametrize("on_failure", ["partial", "wait"])
def test_the_deadline_lets_it_run_with_what_there_is(world: World, on_failure: OnFailure) -> None:
    owned = world.own()
    open_batch(world, 2, on_failure, deadline_ms=60_000)
    finish(owned, w.claim(owned), 0)
    relay(owned)
    assert not has_started(owned)

    world.advance(61)
    relay(owned)

    assert has_started(owned)
    assert [r.end for r in results(world)] == [EndOf.DONE, EndOf.OPEN]
    assert (status(world).state, status(world).by_deadline) == (BatchState.FIRED, True)


def test_what_ends_after_the_deadline_is_seen_by_a_continuation_that_runs_again(
    world: World,
) -> None:
    owned = world.own()
    open_batch(world, 2, "partial", deadline_ms=60_000)
    claims = w.claim(owned)
    w.bury(owned, [claims.ids[0]])
    relay(owned)
    world.advance(61)
    relay(owned)
    assert has_started(owned)
    w.bury(owned, [BATCH.encode()])

    world.partition.run(operate.replay([claims.ids[0].decode(), BATCH]))
    again = w.claim(owned)
    finish(owned, claims, 1)
    finish(owned, again, again.ids.index(claims.ids[0]))
    relay(owned)

    assert BATCH.encode() in again.ids
    assert [r.end for r in results(world)] == [EndOf.DONE, EndOf.DONE]
    found = status(world)
    assert (found.state, found.done, found.dead) == (BatchState.FIRED, 2, 0)
    assert not has_started(owned)


def test_the_deadline_of_one_that_fails_buries_it(world: World) -> None:
    owned = world.own()
    open_batch(world, 1, "fail", deadline_ms=60_000)
    world.advance(61)
    relay(owned)

    dead = world.partition.status(BATCH)
    assert dead.state is JobState.DEAD
    assert dead.error is not None
    assert "1 have not ended by the deadline" in dead.error.message


def test_one_that_came_back_from_the_dead_is_not_listed_as_failed(world: World) -> None:
    owned = world.own()
    ids = open_batch(world, 2, "fail", deadline_ms=60_000)
    w.claim(owned)
    w.bury(owned, [i.encode() for i in ids])
    world.partition.run(operate.replay(ids[:1]))
    relay(owned)
    world.advance(61)
    relay(owned)

    assert message(world) == (
        "of 2 jobs of its batch, 0 are done, 1 dead, 0 cancelled, expired or deleted, and 1 have "
        "not ended by the deadline; numbers 1"
    )


def test_a_batch_that_is_never_sealed_ends_by_its_deadline_only(world: World) -> None:
    owned = world.own()
    open_batch(world, 1, deadline_ms=60_000, seal=False)
    finish(owned, w.claim(owned))
    relay(owned)
    assert not has_started(owned)
    assert not status(world).sealed

    world.advance(61)
    relay(owned)

    assert has_started(owned)


@pytest.mark.parametrize("on_failure", ["partial", "fail"])
def test_a_batch_that_is_enqueued_in_part_has_the_results_so_far(
    world: World, on_failure: OnFailure
) -> None:
    owned = world.own()
    open_batch(world, 150, on_failure, deadline_ms=60_000, seal=False)
    claims = w.claim(owned, 200)
    w.bury(owned, claims.ids[129:130])
    finish(owned, claims, *range(129), 131)
    relay(owned)
    world.advance(61)
    relay(owned)

    ends = [EndOf.DONE] * 129 + [EndOf.DEAD, EndOf.OPEN, EndOf.DONE]
    assert [r.end for r in results(world)] == ends
    if on_failure == "partial":
        assert has_started(owned)
    else:
        assert message(world).startswith(
            "of 132 jobs of its batch, 130 are done, 1 dead, 0 cancelled, expired or deleted, and "
            "1 have not ended by the deadline"
        )


def test_the_owner_knows_when_the_next_batch_is_due(world: World) -> None:
    owned = world.own()
    assert owned.run(telling.tend_batches(owned.ownership)).next_due_ms is None
    open_batch(world, 1, deadline_ms=60_000)

    due_ms = owned.run(telling.tend_batches(owned.ownership)).next_due_ms

    assert due_ms is not None
    assert 50_000 < due_ms <= 60_000


def test_a_job_that_dies_again_after_an_edit_is_dead_again(world: World) -> None:
    owned = world.own()
    ids = open_batch(world, 1, "wait")
    w.claim(owned)
    w.bury(owned, [i.encode() for i in ids])
    world.advance(1)
    world.partition.run(operate.replay(ids))
    _, body = world.partition.run(edit(ids[0]))
    assert world.partition.run(edit(ids[0], body, b'["t",{}]'))[0] == "edited"
    w.claim(owned)
    w.bury(owned, [i.encode() for i in ids])
    told = notes(owned)

    tell(owned, told)
    assert status(world).dead == 1
    assert tell(owned, told) == 0
    assert status(world).dead == 1
