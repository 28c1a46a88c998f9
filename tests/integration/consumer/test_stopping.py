"""SIGTERM: what runs finishes, nothing runs twice, the partition is free at once."""

import signal
import time
from pathlib import Path

from queuepool import Job
from queuepool.client.pool import QueuePool
from queuepool.models import JobState
from queuepool.partitions.partition import Partition
from tests.integration.consumer.conftest import StartConsumer
from tests.integration.consumer.processes import Records, done, drained
from tests.waiting import wait_until


def test_on_sigterm_nothing_is_lost_and_nothing_runs_twice(
    pool: QueuePool,
    partition: Partition,
    consume: StartConsumer,
    records: Records,
    tmp_path: Path,
) -> None:
    # Jobs so short that some wait in memory: those are handed back.
    jobs = [Job({"ms": 2}, task="work")] * 6000
    jobs[3000:3008] = [Job({"gate": "open"}, task="wait_for")] * 8  # all workers come that far
    results = pool.enqueue_many(jobs, partition_key="g")
    first = consume(lease_s=30)
    wait_until(lambda: done(partition) > 500)

    first.signal(signal.SIGTERM)
    first.says("draining")
    (tmp_path / "open").touch()
    assert first.ends() == 0

    state = partition.observe()
    assert state.owner is None
    assert (state.in_flight, state.books, state.draining) == (0, 0, 0)
    runs = records.runs()
    assert 500 < len(runs) == done(partition) < 6000
    assert all(run.ended_ns is not None for run in runs)
    # A lease of 30 s would be in the way, had it not been released.
    consume(lease_s=30)
    drained(partition, 6000)
    assert records.begun() == dict.fromkeys((r.job_id for r in results), 1)


def test_the_order_of_a_group_survives_a_handover(
    pool: QueuePool,
    partition: Partition,
    consume: StartConsumer,
    records: Records,
    tmp_path: Path,
) -> None:
    jobs = [Job({"ms": 0.3}, task="work")] * 1500
    jobs[800] = Job({"gate": "open"}, task="wait_for")  # the signal comes before the end of all
    results = pool.enqueue_many(jobs, partition_key="g")
    first = consume(workers=1)
    wait_until(lambda: done(partition) > 100)
    first.signal(signal.SIGTERM)
    first.says("draining")
    (tmp_path / "open").touch()
    assert first.ends() == 0
    assert done(partition) < 1500
    consume(workers=1)
    drained(partition, 1500)

    assert [run.job_id for run in records.runs()] == [r.job_id for r in results]


def test_a_job_that_does_not_end_goes_back_uncharged_at_the_deadline(
    pool: QueuePool, partition: Partition, consume: StartConsumer, records: Records
) -> None:
    job = pool.enqueue("wait_for", {"gate": "never"}, partition_key="g")
    process = consume(drain_s=1.0)
    wait_until(lambda: records.begun()[job.job_id] == 1)

    began = time.monotonic()
    assert process.stop() == 0
    took_s = time.monotonic() - began

    assert 0.9 < took_s < 30.0  # the default
    status = pool.status(job.job_id, partition_key="g")
    assert status.state is JobState.READY
    assert (status.attempts, status.crashes) == (0, 0)
    assert partition.observe().owner is None
    assert "1 jobs did not finish in time" in process.log


def test_a_second_signal_stops_hard(
    pool: QueuePool, consume: StartConsumer, records: Records
) -> None:
    job = pool.enqueue("wait_for", {"gate": "never"}, partition_key="g")
    process = consume(drain_s=600)
    wait_until(lambda: records.begun()[job.job_id] == 1)
    process.signal(signal.SIGTERM)
    process.says("draining")

    process.signal(signal.SIGTERM)

    assert process.ends() == 128 + signal.SIGTERM


def test_a_successor_works_while_its_predecessor_finishes(
    pool: QueuePool,
    partition: Partition,
    consume: StartConsumer,
    records: Records,
    tmp_path: Path,
) -> None:
    slow = pool.enqueue("wait_for", {"gate": "open"}, partition_key="slow")
    first = consume(drain_s=60, lease_s=60)
    wait_until(lambda: records.begun()[slow.job_id] == 1)
    second = consume(lease_s=60)
    second.says("standing by")

    first.signal(signal.SIGTERM)
    second.owns(partition)
    others = pool.enqueue_many("work", ({"ms": 1} for _ in range(20)), partition_key="g")
    wait_until(lambda: done(partition) == 20)
    assert first.is_running()
    (tmp_path / "open").touch()

    assert first.ends() == 0
    drained(partition, 21)
    assert records.begun() == dict.fromkeys((slow.job_id, *(r.job_id for r in others)), 1)
    assert {r.pid for r in records.runs() if r.job_id == slow.job_id} == {first.pid}


def test_a_draining_owner_takes_no_wake_tokens_from_its_successor(
    pool: QueuePool,
    partition: Partition,
    consume: StartConsumer,
    records: Records,
    tmp_path: Path,
) -> None:
    slow = pool.enqueue("wait_for", {"gate": "open"}, partition_key="slow")
    first = consume(drain_s=60, poll_s=10, lease_s=60)
    wait_until(lambda: records.begun()[slow.job_id] == 1)
    first.signal(signal.SIGTERM)
    first.says("draining")
    second = consume(poll_s=10, lease_s=60)
    second.owns(partition)

    for n in range(5):  # each wakes an owner that would look by itself only after 10 s
        pool.enqueue("work", partition_key="g")
        wait_until(lambda n=n: done(partition) == n + 1, 9.0)  # type: ignore[misc]
    (tmp_path / "open").touch()
    assert first.ends() == 0


def test_one_that_stands_by_stops_at_once(partition: Partition, consume: StartConsumer) -> None:
    first = consume(lease_s=60)
    first.owns(partition)
    second = consume(lease_s=60)
    second.says("standing by")

    began = time.monotonic()
    assert second.stop() == 0

    assert time.monotonic() - began < 30  # it does not wait for the lease
    assert first.is_running()
