"""A batch: its continuation starts once, when all its jobs have ended, whatever is told twice."""

from __future__ import annotations

import pytest

from queuepool.errors import FencedError
from queuepool.models import JobState
from queuepool.models.flows import BatchState, EndOf
from queuepool.protocol import codec
from queuepool.verbs.flows import telling
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
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
from tests.contract.world import World


def test_the_continuation_waits_for_all_jobs_and_has_their_results(world: World) -> None:
    owned = world.own()
    ids = open_batch(world, 3)
    claims = w.claim(owned)
    finish(owned, claims, 2, 0)
    relay(owned)
    assert (status(world).done, status(world).left, status(world).state) == (2, 1, BatchState.OPEN)
    assert not has_started(owned)

    finish(owned, claims, 1)
    relay(owned)

    assert has_started(owned)
    assert [(r.number, r.end, r.result) for r in results(world)] == [
        (number, EndOf.DONE, f"r-{job_id}") for number, job_id in enumerate(ids)
    ]
    assert status(world).state is BatchState.FIRED


def test_the_end_of_a_job_is_told_by_the_script_that_ends_it(world: World) -> None:
    owned = world.own()
    ids = open_batch(world, 5)
    claims = w.claim(owned)
    finish(owned, claims, 0)
    w.bury(owned, [claims.ids[1]])
    owned.run(own.end_cancelled(owned.ownership, [claims.ids[2]]))
    w.retry(owned, [claims.ids[3]])
    owned.run(own.hand_back(owned.ownership, [claims.ids[4]]))
    world.partition.cancel(ids[4])

    told = {note.job_id: note.end for note in notes(owned)}

    assert told == dict(zip([*ids[:3], ids[4]], [b"d", b"x", b"c", b"c"], strict=True))


def test_the_ends_of_one_call_are_told_in_the_order_in_which_it_meets_the_jobs(
    world: World,
) -> None:
    owned = world.own()
    open_batch(world, 0, seal=False)
    for job_id, tier in zip(ids_of(3), (2, 0, 1), strict=True):
        w.enqueue(world, [job_id], tier=tier, expires_ms=1000)
    world.advance(2)
    w.claim(owned, weights=w.STRICT)
    assert [(note.job_id[-1], note.end) for note in notes(owned)] == [
        ("1", b"e"),
        ("2", b"e"),
        ("0", b"e"),
    ]


def test_a_job_that_waits_for_the_release_of_its_task_tells_its_end_once(world: World) -> None:
    owned = world.own()
    open_batch(world, 0, seal=False)
    w.enqueue(world, ids_of(1), task="mail")
    world.partition.run(produce.hold_task("mail", on=True))
    w.claim(owned)
    w.enqueue(world, ids_of(2)[1:], tier=0)
    assert notes(owned) == []

    world.partition.cancel_group(b"g")

    assert [(note.job_id[-1], note.end) for note in notes(owned)] == [("1", b"c"), ("0", b"c")]


def test_jobs_of_no_batch_tell_nothing(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b", "c"])
    claims = w.claim(owned)
    finish(owned, claims, 0)
    w.bury(owned, [b"b"])
    owned.run(own.end_cancelled(owned.ownership, [b"c"]))

    assert owned.run(telling.untold(owned.ownership)) == telling.Untold(0, ())


def test_an_end_that_is_told_again_counts_once(world: World) -> None:
    owned = world.own()
    open_batch(world, 2)
    finish(owned, w.claim(owned), 0)
    told = notes(owned)

    news = [tell(owned, told) for _ in range(3)]
    owned.run(telling.tend_batches(owned.ownership))

    assert news == [1, 0, 0]
    assert (status(world).done, status(world).left) == (1, 1)
    assert not has_started(owned)


def test_a_job_that_runs_twice_counts_once(world: World) -> None:
    owned = world.own()
    ids = open_batch(world, 2)
    claims = w.claim(owned)
    finish(owned, claims, 0)
    relay(owned)
    w.enqueue(world, ids[:1])  # by a producer that had no answer
    finish(owned, claims, 0)
    relay(owned)

    assert (status(world).done, status(world).left) == (1, 1)


def test_a_continuation_starts_once_however_often_its_batch_is_tended(world: World) -> None:
    owned = world.own()
    open_batch(world, 1)
    finish(owned, w.claim(owned))
    told = notes(owned)
    relay(owned)
    assert has_started(owned)

    tell(owned, told)
    tended = owned.run(telling.tend_batches(owned.ownership))

    assert (tended.fired, has_started(owned)) == (0, False)
    assert world.partition.status(BATCH).state is JobState.IN_FLIGHT


def test_the_result_is_there_before_the_job_counts(world: World) -> None:
    owned = world.own()
    open_batch(world, 1)
    finish(owned, w.claim(owned))
    tell(owned, notes(owned))

    assert status(world).done == 1
    assert [r.result for r in results(world)] == [f"r-{ids_of(1)[0]}"]


def test_an_end_stays_until_it_is_known_to_be_told(world: World) -> None:
    owned = world.own()
    open_batch(world, 3)
    finish(owned, w.claim(owned))
    first, second, third = notes(owned)

    page = owned.run(telling.untold(owned.ownership, after=first.entry, told=[second.entry]))

    assert (page.left, [note.entry for note in page.notes]) == (2, [third.entry])
    assert [note.entry for note in notes(owned)] == [first.entry, third.entry]


def test_a_page_of_ends_is_bounded_by_bytes(world: World) -> None:
    owned = world.own()
    open_batch(world, 3)
    claims = w.claim(owned)
    large = b'"%s"' % (b"x" * 700_000)
    stamps = [codec.read_stamp(body) for body in claims.bodies]
    jobs = [(i, stamp, 0, large) for i, stamp in zip(claims.ids, stamps, strict=True)]
    owned.run(own.finish_stray(owned.ownership, jobs))

    page = owned.run(telling.untold(owned.ownership))

    assert (page.left, len(page.notes)) == (3, 2)


def test_no_other_process_reads_or_forgets_ends(world: World) -> None:
    owned = world.own()
    open_batch(world, 1)
    finish(owned, w.claim(owned))
    stale = own.Ownership(0, "stale", 1)

    with pytest.raises(FencedError):
        world.partition.run(telling.untold(stale))
    with pytest.raises(FencedError):
        world.partition.run(telling.tend_batches(stale))

    assert len(notes(owned)) == 1
