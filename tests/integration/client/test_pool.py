"""What applications do with a pool, on a real server, sync and with asyncio."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from queuepool import (
    ConfigurationError,
    EnqueueStatus,
    GroupStatus,
    InvalidInputError,
    Job,
    JobCancelled,
    JobDiedError,
    JobState,
    PayloadTooLargeError,
    QueueFullError,
    Tier,
    WaitTimeoutError,
)
from queuepool.partitions.partition import OwnedPartition, Partition
from tests.contract import world as w
from tests.integration.client.conftest import MakePool, run_all
from tests.waiting import wait_until

MakePartition = Callable[..., Partition]

GROUPS = [
    b"\x00", b"*", b"}{", b"{}", b"\r\n", b"a:b", b"\xff\xfe", b"\x00" * 64, "🦆".encode(),
    b"q:2:x", b"g", b" ", b"x" * 65, b"-1", b"\\",
]  # fmt: skip


@pytest.fixture
def pool(make_pool: MakePool, redis_url: str) -> Any:
    return make_pool(redis_url)


@pytest.fixture
def partition(make_partition: MakePartition, redis_url: str) -> Partition:
    return make_partition(redis_url)


def own(partition: Partition) -> OwnedPartition:
    owned = partition.acquire(lease_s=60, nonce="test")
    assert isinstance(owned, OwnedPartition)
    return owned


def test_a_job_is_followed_from_ready_to_its_result(pool: Any, partition: Partition) -> None:
    job = pool.enqueue("t", {"a": 1}, partition_key="k", tier="high", max_attempts=3, timeout_s=9)
    assert job.status is EnqueueStatus.ACCEPTED

    status = pool.status(job.job_id, partition_key="k")
    assert (status.state, status.task, status.tier) == (JobState.READY, "t", Tier.HIGH)
    assert status.group == b"k"

    owned = own(partition)
    claims = w.claim(owned)
    assert pool.status(job.job_id, partition_key="k").state is JobState.IN_FLIGHT
    w.finish(owned, claims, results=True)
    assert pool.status(job.job_id, partition_key="k").state is JobState.DONE
    assert pool.result(job.job_id, partition_key="k") == f"r-{job.job_id}"
    assert pool.group("k").wait(timeout_s=5).done == 1


def test_a_job_is_cancelled_while_it_waits(pool: Any, partition: Partition) -> None:
    job = pool.enqueue("t", partition_key="k")

    assert pool.cancel(job.job_id, partition_key="k") is JobState.READY
    assert pool.cancel("never", partition_key="k") is JobState.UNKNOWN
    assert run_all(partition) == []
    with pytest.raises(JobCancelled):
        pool.result(job.job_id, partition_key="k", timeout_s=5)


def test_a_dead_job_raises_its_error(pool: Any, partition: Partition) -> None:
    job = pool.enqueue("t", partition_key="k")
    owned = own(partition)
    w.bury(owned, list(w.claim(owned).ids))

    with pytest.raises(JobDiedError, match="permanent"):
        pool.result(job.job_id, partition_key="k", timeout_s=5)


def test_waiting_has_an_end(pool: Any) -> None:
    job = pool.enqueue("t", partition_key="k")

    with pytest.raises(WaitTimeoutError, match="ready"):
        pool.result(job.job_id, partition_key="k", timeout_s=0.05)
    with pytest.raises(WaitTimeoutError, match="1 of 1 jobs"):
        pool.group("k").wait(timeout_s=0.05)
    for wait in (float("nan"), -1):
        with pytest.raises(InvalidInputError, match="timeout_s"):
            pool.result(job.job_id, partition_key="k", timeout_s=wait)
        with pytest.raises(InvalidInputError, match="timeout_s"):
            pool.group("k").wait(timeout_s=wait)


def test_an_own_id_is_accepted_once_even_after_its_job_ended(
    pool: Any, partition: Partition
) -> None:
    def enqueue() -> EnqueueStatus:
        found = pool.enqueue("t", partition_key="k", job_id="mine").status
        assert isinstance(found, EnqueueStatus)
        return found

    assert [enqueue(), enqueue()] == [EnqueueStatus.ACCEPTED, EnqueueStatus.DUPLICATE]
    assert run_all(partition) == ["mine"]
    assert enqueue() is EnqueueStatus.DUPLICATE
    assert run_all(partition) == []


def test_own_ids_in_bulk_are_accepted_once(pool: Any, partition: Partition) -> None:
    jobs = [Job({}, job_id=f"own-{i % 250}") for i in range(600)]

    first = pool.enqueue_many("t", jobs, partition_key="k")
    second = pool.enqueue_many("t", jobs, partition_key="k")

    assert (first.accepted, first.duplicates) == (250, 350)
    assert (second.accepted, second.duplicates) == (0, 600)
    assert [r.job_id for r in first] == [job.job_id for job in jobs]
    assert run_all(partition) == [f"own-{i}" for i in range(250)]


@pytest.mark.parametrize("n", [0, 1, 200, 201, 5_000])
def test_a_bulk_call_has_one_result_a_job_and_keeps_their_order(
    pool: Any, partition: Partition, n: int
) -> None:
    results = pool.enqueue_many("t", ({"i": i} for i in range(n)), partition_key="k")

    assert len(results) == results.accepted == n
    assert run_all(partition) == [r.job_id for r in results]
    assert partition.audit().clean


@pytest.mark.parametrize("group", GROUPS, ids=repr)
def test_a_key_of_any_bytes_touches_no_other_group(
    pool: Any, partition: Partition, group: bytes
) -> None:
    others = [g for g in GROUPS if g != group]
    for other in others:
        pool.enqueue("t", partition_key=other)
    jobs = [pool.enqueue("t", partition_key=group) for _ in range(3)]

    assert pool.status(jobs[0].job_id, partition_key=group).state is JobState.READY
    assert pool.group(group).cancel() == (3, 0)
    assert all(pool.group(other).status().ready == 1 for other in others)
    assert len(run_all(partition)) == len(others)
    assert partition.audit().clean


def test_delays_are_kept(pool: Any, partition: Partition) -> None:
    job = pool.enqueue("t", partition_key="k", delay_s=60)
    moment = datetime.now(UTC) + timedelta(seconds=90)
    later = pool.enqueue("t", partition_key="k", run_at=moment)

    first, second = (pool.status(j.job_id, partition_key="k") for j in (job, later))
    assert first.state is second.state is JobState.DELAYED
    assert first.at_ms - first.enqueued_ms == 60_000
    assert abs(second.at_ms - moment.timestamp() * 1000) < 25_000
    assert pool.group("k").status().delayed == 2


def test_a_group_counts_and_reports_progress(pool: Any, partition: Partition) -> None:
    pool.enqueue_many("t", [{}] * 300, partition_key="k")
    pool.enqueue("t", partition_key="k", delay_s=60)
    owned = own(partition)
    w.claim(owned, 20)

    status = pool.group("k").status()
    assert (status.total, status.ready, status.in_flight, status.delayed) == (301, 280, 20, 1)
    assert pool.group("k").cancel() == (281, 20)
    seen: list[GroupStatus] = []
    with pytest.raises(WaitTimeoutError):
        pool.group("k").wait(timeout_s=0.05, show=False, on_progress=seen.append)
    assert seen
    assert seen[-1].cancelled == 281


def test_a_group_is_held_and_released(pool: Any, partition: Partition) -> None:
    pool.enqueue_many("t", [{}] * 3, partition_key="k")
    group, owned = pool.group("k"), own(partition)

    assert (group.hold(), group.hold()) == (True, False)
    assert group.status().held_ms
    assert w.claim(owned).taken == 0
    assert (group.release(), group.release()) == (True, False)
    assert group.status().held_ms is None
    assert w.claim(owned).taken == 3


def test_a_group_is_configured(pool: Any, partition: Partition) -> None:
    pool.enqueue_many("t", [{}] * 5, partition_key="k")
    group, owned = pool.group("k"), own(partition)

    assert (group.configure(max_running=2), group.configure(max_running=2)) == (True, False)
    assert w.claim(owned).taken == 2
    assert w.claim(owned).taken == 0
    assert group.configure(serial=True)
    assert (group.status().max_running, group.status().serial) == (2, True)
    assert (group.configure(weight=3), group.status().weight) == (True, 3)
    assert (group.configure(tier="high"), group.status().tier) == (True, Tier.HIGH)
    assert (group.configure(tier="own"), group.status().tier) == (True, None)
    assert group.configure(max_running=0, serial=False, weight=1)
    assert (group.status().max_running, group.status().serial) == (None, False)
    assert w.claim(owned).taken == 3


@pytest.mark.parametrize("most", [-1, 1.5, "3", True, 10**6])
def test_a_number_of_jobs_that_is_none_is_refused(pool: Any, most: Any) -> None:
    with pytest.raises(InvalidInputError, match="max_running="):
        pool.group("k").configure(max_running=most)


@pytest.mark.parametrize("weight", [0, 101, 1.5, "3", True])
def test_a_weight_that_is_none_is_refused(pool: Any, weight: Any) -> None:
    with pytest.raises(InvalidInputError, match="weight="):
        pool.group("k").configure(weight=weight)


@pytest.mark.parametrize("tier", ["urgent", 4, -1, 1.5, True])
def test_a_tier_that_is_none_is_refused(pool: Any, tier: Any) -> None:
    with pytest.raises(InvalidInputError, match="tier="):
        pool.group("k").configure(tier=tier)


def test_a_group_without_jobs_is_not_held(pool: Any) -> None:
    for act in (pool.group("never").hold, pool.group("never").release):
        with pytest.raises(InvalidInputError, match="group 'never' has no jobs"):
            act()


def test_one_partition_or_all_are_held_and_released(pool: Any, partition: Partition) -> None:
    pool.enqueue("t", partition_key="k")
    owned = own(partition)

    assert pool.hold(partition=partition.number) == 1
    assert pool.hold(partition=partition.number) == 0
    assert w.claim(owned).taken == 0
    assert pool.release() == 1
    assert pool.hold() == pool.config.topology.partitions
    assert w.claim(owned).taken == 0
    assert pool.release(partition=partition.number) == 1
    assert w.claim(owned).taken == 1
    with pytest.raises(ConfigurationError, match="no partition 99"):
        pool.hold(partition=99)


def test_the_limit_of_a_payload_is_that_of_the_pool(make_pool: MakePool, redis_url: str) -> None:
    pool = make_pool(redis_url, max_payload_bytes=1000)
    fits = {"x": "a" * (1000 - len('["t",{"x":""}]'))}

    pool.enqueue("t", {}, partition_key="k")
    pool.enqueue("t", fits, partition_key="k")
    for payload in ({"x": fits["x"] + "a"}, {"x": "a" * 10**7}):
        with pytest.raises(PayloadTooLargeError, match="1,000"):
            pool.enqueue("t", payload, partition_key="k")
        with pytest.raises(PayloadTooLargeError):
            pool.enqueue_many("t", [{}, payload], partition_key="k")

    assert pool.group("k").status().total == 4


@pytest.mark.parametrize("payload", [[], 0, "", [1], "x", 7])
def test_a_payload_is_a_mapping(pool: Any, payload: Any) -> None:
    with pytest.raises(InvalidInputError, match="payload"):
        pool.enqueue("t", payload, partition_key="k")

    assert pool.group("k").status().total == 0


def test_a_full_partition_tells_of_every_job(
    make_pool: MakePool, partition: Partition, redis_url: str
) -> None:
    pool = make_pool(redis_url, max_depth=450)

    with pytest.raises(QueueFullError, match="QUEUEPOOL_MAX_DEPTH") as caught:
        pool.enqueue_many("t", [{}] * 1_000, partition_key="k")

    results = caught.value.results
    accepted = [r.job_id for r in results if r.status is EnqueueStatus.ACCEPTED]
    assert (caught.value.partition, caught.value.depth) == (0, 400)
    assert results.accepted + results.rejected == len(results)
    assert all(r.job_id for r in results)
    assert run_all(partition) == accepted
    with pytest.raises(QueueFullError):
        pool.enqueue_many("t", [{}] * 1_000, partition_key="k")


def test_a_partition_is_full_by_bytes_too(make_pool: MakePool, redis_url: str) -> None:
    pool = make_pool(redis_url, max_bytes=10_000)

    jobs = [{"x": "a" * 1_000}] * 9
    pool.enqueue_many("t", jobs, partition_key="k")
    with pytest.raises(QueueFullError) as caught:
        pool.enqueue("t", jobs[0], partition_key="k")

    assert 8_000 < caught.value.size_bytes <= 10_000
    assert [r.status for r in caught.value.results] == [EnqueueStatus.REJECTED]


def test_with_time_to_wait_a_full_partition_is_waited_for(
    make_pool: MakePool, partition: Partition, redis_url: str
) -> None:
    pool = make_pool(redis_url, max_depth=500)
    ran: list[str] = []
    done = threading.Event()

    def work() -> None:
        while not done.is_set() or partition.observe().backlog:
            ran.extend(run_all(partition))
            done.wait(0.02)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        results = pool.enqueue_many("t", [{}] * 3_000, partition_key="k", wait_when_full_s=30)
    finally:
        done.set()
        worker.join(timeout=30)

    assert results.accepted == 3_000
    assert sorted(ran) == sorted(r.job_id for r in results)
    wait_until(lambda: pool.group("k").status().left == 0)
