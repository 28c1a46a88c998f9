"""Enqueues over a network that fails: nothing twice, nothing unreported, in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuepool import EnqueueStatus, InvalidInputError, Job, QueueFullError, UnavailableError
from queuepool.client.pipeline import _MAX_PIPES
from tests.unit.client.faulty import faulty_pool, stored

pytestmark = pytest.mark.thorough

Rows = list[dict[str, int]]


def rows(n: int) -> Rows:
    return [{"i": i} for i in range(n)]


@pytest.mark.parametrize("n", [0, 1, 199, 200, 201, 401, 2_000])
def test_every_job_has_one_result_in_order(n: int) -> None:
    pool, server = faulty_pool()

    results = pool.enqueue_many("t", rows(n), partition_key="g")

    assert len(results) == results.accepted == n
    assert [r.job_id for r in results] == stored(server)


@settings(max_examples=20)
@given(st.lists(st.sampled_from(["ok", "ok", "ok", "cut", "lost"]), max_size=5))
def test_a_network_that_fails_neither_loses_nor_doubles_nor_reorders(plan: list[str]) -> None:
    pool, server = faulty_pool(plan, retry_for_s=30.0)  # pauses are real: a plan must be short

    results = pool.enqueue_many("t", rows(1_100), partition_key="g")

    assert [r.job_id for r in results] == stored(server)
    assert results.unknown == results.rejected == 0
    assert pool.group("g").status().total == 1_100


@settings(max_examples=20)
@given(st.lists(st.sampled_from(["ok", "ok", "cut", "lost", "oom"]), max_size=5))
def test_a_server_that_refuses_neither_loses_nor_doubles(plan: list[str]) -> None:
    pool, server = faulty_pool(plan, retry_for_s=30.0)

    results = pool.enqueue_many("t", rows(1_100), partition_key="g")

    there = stored(server)
    assert sorted(r.job_id for r in results) == sorted(there)
    assert results.unknown == results.rejected == 0
    if "oom" not in plan:
        assert [r.job_id for r in results] == there


def test_after_a_refusal_no_chunk_is_sent_ahead() -> None:
    # What was on the way when the first was refused may be in before it; nothing later is.
    pool, server = faulty_pool(["oom", *["ok"] * 6, "oom"])

    results = pool.enqueue_many("t", rows(3_000), partition_key="g")

    ids = [r.job_id for r in results]
    assert stored(server) == ids[200:1200] + ids[:200] + ids[1200:]


def test_a_single_job_whose_answer_was_lost_is_in_once() -> None:
    pool, server = faulty_pool(["lost", "cut"])

    enqueued = pool.enqueue("t", {}, partition_key="g")

    assert enqueued.status is EnqueueStatus.ACCEPTED  # by the call that was not answered
    assert stored(server) == [enqueued.job_id]


@pytest.mark.parametrize("plan", [["lost"], ["ok"] * 3 + ["lost"], ["lost", "cut", "lost"]])
def test_jobs_that_a_call_without_an_answer_stored_are_accepted(plan: list[str]) -> None:
    pool, server = faulty_pool(plan)

    results = pool.enqueue_many("t", rows(1_000), partition_key="g")

    assert (results.accepted, results.duplicates) == (1_000, 0)
    assert [r.job_id for r in results] == stored(server)


@pytest.mark.parametrize("was_there", [True, False])
def test_under_an_id_of_the_application_a_lost_answer_is_a_duplicate(was_there: bool) -> None:
    # No one can tell whether it was there before the call that was not answered.
    pool, server = faulty_pool()
    if was_there:
        pool.enqueue("t", {}, partition_key="g", job_id="mine")
    server.plan.append("lost")

    assert pool.enqueue("t", {}, partition_key="g", job_id="mine").status == "duplicate"


def test_in_a_chunk_only_ids_of_the_application_are_duplicates_after_a_lost_answer() -> None:
    pool, server = faulty_pool(["lost"])
    jobs: list[Any] = [
        Job({}),
        Job({}, job_id="mine"),
        {"i": 1},
        Job({}, tier="high"),
        Job({}, job_id="own"),
    ]

    results = pool.enqueue_many("t", jobs, partition_key="g")

    found = [r.status.value for r in results]
    assert found == ["accepted", "duplicate", "accepted", "accepted", "duplicate"]
    assert len(stored(server)) == 5


def test_a_duplicate_without_a_lost_answer_is_one() -> None:
    pool, _ = faulty_pool()

    results = pool.enqueue_many("t", [Job({}, job_id="mine")] * 2, partition_key="g")

    assert [r.status.value for r in results] == ["accepted", "duplicate"]


def test_a_job_that_ended_before_the_retry_is_not_enqueued_again() -> None:
    pool, server = faulty_pool(["lost and drained"])

    pool.enqueue("t", {}, partition_key="g")

    assert stored(server) == []
    assert pool.group("g").status().total == 1


def test_without_an_answer_the_error_tells_the_ids() -> None:
    pool, server = faulty_pool(["lost"], retry_for_s=0.0)

    with pytest.raises(UnavailableError) as caught:
        pool.enqueue("t", {}, partition_key="g")

    (unknown,) = caught.value.results
    assert unknown.status is EnqueueStatus.UNKNOWN
    again = pool.enqueue("t", {}, partition_key="g", job_id=unknown.job_id)
    assert again.status is EnqueueStatus.DUPLICATE
    assert stored(server) == [unknown.job_id]


def test_a_bulk_call_that_fails_tells_of_every_job_taken() -> None:
    plan = ["ok", "lost"] + ["cut"] * 50
    pool, server = faulty_pool(plan, retry_for_s=0.0)
    taken = []

    def items() -> Iterator[dict[str, int]]:
        for row in rows(5_000):
            taken.append(row)
            yield row

    with pytest.raises(UnavailableError) as caught:
        pool.enqueue_many("t", items(), partition_key="g")

    results = caught.value.results
    server.plan.clear()
    assert len(results) == len(taken) == len({r.job_id for r in results})
    assert results.accepted == 200
    accepted = {r.job_id for r in results if r.status is EnqueueStatus.ACCEPTED}
    maybe = {r.job_id for r in results if r.status is EnqueueStatus.UNKNOWN}
    there = set(stored(server))
    assert accepted < there
    assert there - accepted <= maybe


def test_a_full_partition_reports_what_is_in_and_what_is_not() -> None:
    # The last, smaller chunk fits where the one before it did not.
    pool, server = faulty_pool(max_depth=250)

    with pytest.raises(QueueFullError) as caught:
        pool.enqueue_many("t", rows(450), partition_key="g")

    results = caught.value.results
    there = set(stored(server))
    assert len(results) == 450
    assert {r.job_id for r in results if r.status is EnqueueStatus.ACCEPTED} == there
    assert results.accepted == 250
    assert results.rejected == 200
    assert caught.value.rejected == 200


def test_jobs_held_back_for_other_partitions_are_reported_too() -> None:
    pool, server = faulty_pool(partitions=4, max_depth=150)
    keys = {pool.producer.route(f"k{i}").partition: f"k{i}" for i in range(40)}
    jobs = [{"key": keys[p]} for p in (1, 2, 3) for _ in range(90)] + [{"key": keys[0]}] * 3_000

    with pytest.raises(QueueFullError) as caught:
        pool.enqueue_many("t", jobs, partition_key=lambda row: row["key"])

    results = caught.value.results
    assert 270 + 200 < len(results) == results.rejected < 3_000
    assert len({r.job_id for r in results}) == len(results)
    assert all(r.job_id for r in results)
    assert not any(stored(server, p) for p in range(4))


def test_waiting_for_room_ends_when_workers_make_some() -> None:
    pool, _ = faulty_pool(["ok", "ok"] + ["drain"] * 20, max_depth=400)

    results = pool.enqueue_many("t", rows(900), partition_key="g", wait_when_full_s=5.0)

    assert results.accepted == 900


def test_an_outage_while_waiting_for_room_does_not_end_the_wait() -> None:
    pool, _ = faulty_pool(["ok", *["oom"] * 2, "ok", "ok", "cut", "drain"], max_depth=200)
    pool.enqueue_many("t", rows(200), partition_key="g")

    results = pool.enqueue_many("t", rows(100), partition_key="g", wait_when_full_s=20.0)

    assert results.accepted == 100


def test_a_chunk_that_may_be_in_and_finds_no_room_is_unknown_not_rejected() -> None:
    pool, server = faulty_pool(["lost"], max_depth=200)

    with pytest.raises(QueueFullError) as caught:
        pool.enqueue_many("t", rows(200), partition_key="g")

    results = caught.value.results
    assert results.unknown == 200
    assert set(stored(server)) == {r.job_id for r in results}


def test_a_bad_item_leaves_everything_before_it_enqueued() -> None:
    pool, server = faulty_pool(partitions=4)
    jobs: list[dict[str, object]] = [{"i": i} for i in range(3_333)]
    jobs[3_000] = {"i": object()}

    with pytest.raises(InvalidInputError) as caught:
        pool.enqueue_many("t", jobs, partition_key=lambda row: f"k{row['i']}"[:2])

    assert caught.value.__notes__ == ["3,000 jobs before it were enqueued"]
    assert sum(len(stored(server, p)) for p in range(4)) == 3_000


def test_an_iterable_that_breaks_leaves_everything_before_it_enqueued() -> None:
    pool, server = faulty_pool()

    def items() -> Iterator[dict[str, int]]:
        yield from rows(321)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone") as caught:
        pool.enqueue_many("t", items(), partition_key="g")

    assert caught.value.__notes__ == ["321 jobs before it were enqueued"]
    assert len(stored(server)) == 321


def test_many_partitions_share_a_few_connections() -> None:
    pool, server = faulty_pool(partitions=64)

    results = pool.enqueue_many("t", rows(30_000), partition_key=lambda row: f"k{row['i'] % 500}")

    assert results.accepted == 30_000
    assert server.most_streams <= _MAX_PIPES + 1
    assert server.streams == 0


@pytest.mark.parametrize("wait_s", [-1.0, float("nan"), "1", None, True])
def test_a_wait_that_is_none_is_refused(wait_s: object) -> None:
    pool, server = faulty_pool()

    with pytest.raises(InvalidInputError, match="wait_when_full_s"):
        pool.enqueue_many("t", rows(1), partition_key="g", wait_when_full_s=wait_s)  # type: ignore[call-overload]

    assert server.calls == []


def test_questions_are_asked_again_until_answered() -> None:
    pool, server = faulty_pool()
    job = pool.enqueue("t", {}, partition_key="g")
    server.plan.extend(["cut", "lost", "cut"])

    assert pool.status(job.job_id, partition_key="g").state == "ready"
    assert pool.group("g").status().total == 1
    assert pool.cancel(job.job_id, partition_key="g") == "ready"


def test_a_question_without_an_answer_ends_in_an_error() -> None:
    pool, _ = faulty_pool(["cut"] * 3, retry_for_s=0.0)

    with pytest.raises(UnavailableError):
        pool.status("a", partition_key="g")
