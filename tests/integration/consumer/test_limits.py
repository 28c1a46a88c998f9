"""Limits of jobs, with real consumers and servers: their bounds hold, and what may run does."""

from __future__ import annotations

from pathlib import Path

import pytest

from queuepool import Job, Limit
from queuepool.client.pool import QueuePool
from queuepool.models import JobState, LimitStatus
from queuepool.partitions.partition import Partition
from queuepool.protocol.keys import Keyspace
from queuepool.routing.slots import home_of
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig
from queuepool.verbs.producer import verbs as produce
from tests.integration.consumer.conftest import StartConsumer
from tests.integration.consumer.processes import Records, done
from tests.waiting import wait_until

RATE, BURST = 50, 5
AHEAD = 2 * 6  # tokens that two owners may have in hand: those of 0.1 s, and one
LATE_S = 0.5  # a start that a busy machine delays comes nearer to the next ones


def _status(pool: QueuePool, name: str) -> LimitStatus:
    status = pool.limits.get(name)
    assert status is not None
    return status


def test_two_partitions_share_a_rate(
    redis_url: str, stage: str, consume: StartConsumer, records: Records
) -> None:
    config = PoolConfig(topology=single(redis_url, 2), keyspace=Keyspace(stage))
    with QueuePool(config=config) as pool:
        pool.limits.set(Limit("mail", rate=RATE, burst=BURST))
        for number in range(2):
            keys = (key for key in map(str, range(99)) if home_of(key, 2) == number)
            pool.enqueue_many("work", [{}] * 100, partition_key=next(keys), limit="mail")
            consume(partitions=2, partition=str(number))

        partitions = [pool.partition(number) for number in range(2)]
        wait_until(lambda: sum(map(done, partitions)) == 200)
        granted = _status(pool, "mail").granted

    begun = sorted(run.began_ns / 1e9 for run in records.runs())
    for first, from_s in enumerate(begun):
        for last in range(first, len(begun)):
            allowed = RATE * (begun[last] - from_s + LATE_S) + BURST + AHEAD
            assert last - first + 1 <= allowed, (first, last, begun)
    assert begun[-1] - begun[0] >= (200 - BURST - AHEAD) / RATE - LATE_S
    assert granted >= 200
    assert all(partition.audit().clean for partition in partitions)


def test_a_concurrency_holds_also_after_a_crash(
    pool: QueuePool,
    partition: Partition,
    consume: StartConsumer,
    records: Records,
    tmp_path: Path,
) -> None:
    pool.limits.set(Limit("db", concurrency=2))
    jobs = [Job({"ms": 100}, task="work")] * 30
    jobs[6:8] = [Job({"gate": "open"}, task="wait_for")] * 2
    pool.enqueue_many(jobs, partition_key="g", limit="db")
    first = consume(workers=8)
    wait_until(lambda: len(records.begun()) == 8)  # both permits are in use
    first.kill()
    ends = {run.job_id for run in records.runs() if run.ended_ns is None}
    killed_ns = max(run.began_ns for run in records.runs())

    (tmp_path / "open").touch()
    consume(workers=8)
    wait_until(lambda: done(partition) == 30)

    assert records.peak(killed_ns + 1) == 2
    assert len(ends) == 2
    wait_until(lambda: _status(pool, "db").running == 0)
    assert partition.audit().clean


def test_a_new_concurrency_counts_jobs_that_were_already_running(
    pool: QueuePool,
    partition: Partition,
    consume: StartConsumer,
    records: Records,
    tmp_path: Path,
) -> None:
    consume(workers=4)
    jobs = [Job({"gate": "open"}, task="wait_for")] * 3
    pool.enqueue_many(jobs, partition_key="g", limit="late")
    wait_until(lambda: len(records.begun()) == 3)

    pool.limits.set(Limit("late", concurrency=3))

    wait_until(lambda: _status(pool, "late").running == 3)
    (tmp_path / "open").touch()
    wait_until(lambda: done(partition) == 3)
    wait_until(lambda: _status(pool, "late").running == 0)


def test_parked_jobs_take_no_worker_and_are_no_backlog(
    pool: QueuePool, partition: Partition, consume: StartConsumer
) -> None:
    pool.limits.set(Limit("mail", rate=1000))
    pool.limits.pause("mail")
    parked = pool.enqueue_many("work", [{}] * 50, partition_key="limited", limit="mail")
    consume(workers=2)
    pool.enqueue_many("work", [{}] * 100, partition_key="free")

    wait_until(lambda: done(partition) == 100)
    state = partition.observe()
    assert (state.parked, state.backlog) == (50, 0)
    assert pool.status(parked[0].job_id, partition_key="limited").state is JobState.PARKED
    pool.limits.resume("mail")

    wait_until(lambda: done(partition) == 150)
    assert partition.observe().parked == 0


def _admit_behind_another(pool: QueuePool, partition: Partition, key: str) -> str:
    """Let a limited job be admitted while the only worker waits for a gate; return its id."""
    pool.enqueue("wait_for", {"gate": "open"}, partition_key=key)
    wait_until(lambda: partition.observe().in_flight == 1)
    job = pool.enqueue("work", {}, partition_key=key, limit="db")
    wait_until(lambda: pool.status(job.job_id, partition_key=key).state is JobState.READY)
    return job.job_id


def test_a_job_cancelled_after_its_admission_keeps_no_permit(
    pool: QueuePool, partition: Partition, consume: StartConsumer, tmp_path: Path
) -> None:
    pool.limits.set(Limit("db", concurrency=1))
    consume(workers=1, max_workers=1, prefetch=0)
    first = _admit_behind_another(pool, partition, "g")
    assert pool.cancel(first, partition_key="g")
    (tmp_path / "open").touch()

    pool.enqueue("work", {}, partition_key="g", limit="db")

    wait_until(lambda: done(partition) == 2)


@pytest.mark.parametrize("held", [b"g", None])  # None: the partition
def test_a_job_held_after_its_admission_leaves_its_permit_to_others(
    redis_url: str,
    stage: str,
    consume: StartConsumer,
    records: Records,
    tmp_path: Path,
    held: bytes | None,
) -> None:
    config = PoolConfig(topology=single(redis_url, 2), keyspace=Keyspace(stage))
    keys = [next(k for k in map(str, range(99)) if home_of(k, 2) == n) for n in range(2)]
    with QueuePool(config=config) as pool:
        pool.limits.set(Limit("db", concurrency=1))
        for number in range(2):
            consume(partitions=2, partition=str(number), workers=1, max_workers=1, prefetch=0)
        first, second = (pool.partition(number) for number in range(2))
        job_id = _admit_behind_another(pool, first, keys[0])
        first.run(produce.configure(held and keys[0].encode(), hold=True))
        (tmp_path / "open").touch()
        wait_until(lambda: first.observe().in_flight == 0)

        pool.enqueue_many("work", [{}] * 5, partition_key=keys[1], limit="db")

        wait_until(lambda: done(second) == 5)
        assert pool.status(job_id, partition_key=keys[0]).state is JobState.READY
        first.run(produce.configure(held and keys[0].encode(), hold=False))
        wait_until(lambda: pool.status(job_id, partition_key=keys[0]).state is JobState.DONE)
        wait_until(lambda: _status(pool, "db").running == 0)
        assert records.peak(0) <= 2  # one of them names the limit
        assert all(partition.audit().clean for partition in (first, second))
