"""What jobs and commands do to a running consumer process."""

import re
import time
from pathlib import Path

import pytest

from queuepool.client.pool import QueuePool
from queuepool.models import JobState
from queuepool.partitions.partition import Partition
from tests.integration.consumer.conftest import StartConsumer
from tests.integration.consumer.processes import Records, done, drained, scale
from tests.waiting import wait_until


def running(partition: Partition) -> int:
    owner = partition.observe().owner
    return owner.workers if owner else 0


def test_it_grows_and_shrinks_by_command_and_interrupts_nothing(
    pool: QueuePool, partition: Partition, consume: StartConsumer, records: Records
) -> None:
    process = consume(workers=8)
    process.owns(partition)
    jobs = 0

    def busy() -> None:
        """Let jobs wait all the time."""
        nonlocal jobs
        more = 600 - partition.observe().jobs
        if more > 300:
            jobs += more
            pool.enqueue_many("work", [{"ms": 60}] * more, partition_key="g")

    def begun_since(at_ns: int) -> bool:
        busy()
        return records.runs()[-1].began_ns > at_ns

    def peak() -> int:
        busy()
        return records.peak()

    busy()
    scale(partition, 64, leader=1)
    wait_until(lambda: running(partition) == 64)
    wait_until(lambda: peak() >= 60)
    scale(partition, 8, leader=2)
    wait_until(lambda: running(partition) == 8)
    shrunk_ns = time.monotonic_ns()
    wait_until(lambda: begun_since(shrunk_ns + 300_000_000))
    assert records.peak(since_ns=shrunk_ns) <= 8
    scale(partition, 64, leader=3)
    drained(partition, jobs)

    assert set(records.begun().values()) == {1}
    assert records.ended() == jobs
    assert records.peak() <= 64
    assert "workers 8 -> 64" in process.log


def test_a_worker_count_survives_a_restart(
    partition: Partition, consume: StartConsumer, records: Records
) -> None:
    first = consume(workers=8)
    first.owns(partition)
    scale(partition, 40, leader=1)
    wait_until(lambda: running(partition) == 40)
    assert first.stop() == 0

    second = consume(workers=8)

    second.owns(partition)
    second.says("with 40 workers")
    wait_until(lambda: running(partition) == 40)


def test_a_running_handler_sees_that_it_was_cancelled(
    pool: QueuePool, partition: Partition, consume: StartConsumer, records: Records
) -> None:
    job = pool.enqueue("until_cancelled", partition_key="g")
    consume()
    wait_until(lambda: records.begun()[job.job_id] == 1)

    assert pool.cancel(job.job_id, partition_key="g") is JobState.IN_FLIGHT

    wait_until(lambda: pool.status(job.job_id, partition_key="g").state is JobState.CANCELLED)
    assert partition.observe().in_flight == 0


def test_a_cancelled_group_stops_waiting_delayed_and_running_jobs(
    pool: QueuePool, partition: Partition, consume: StartConsumer, records: Records
) -> None:
    consume(workers=2)
    pool.enqueue_many("until_cancelled", [{}, {}], partition_key="g")
    wait_until(lambda: len(records.begun()) == 2)
    pool.enqueue_many("work", [{}] * 300, partition_key="g")
    pool.enqueue_many("work", [{}] * 10, partition_key="g", delay_s=0.3)
    kept = pool.enqueue("work", partition_key="other")

    pool.group("g").cancel()

    pool.result(kept.job_id, partition_key="other", timeout_s=60)
    wait_until(lambda: pool.group("g").status().cancelled == 312)
    assert pool.group("g").status().left == 0
    assert set(records.begun()) - {kept.job_id} == {r.job_id for r in records.runs()[:2]}


def test_progress_of_a_running_job_is_seen(
    pool: QueuePool, consume: StartConsumer, records: Records, tmp_path: Path
) -> None:
    job = pool.enqueue("wait_for", {"gate": "open", "progress": "half way"}, partition_key="g")
    consume()

    wait_until(lambda: pool.status(job.job_id, partition_key="g").progress == "half way")
    (tmp_path / "open").touch()
    pool.result(job.job_id, partition_key="g")
    assert pool.status(job.job_id, partition_key="g").progress is None


def test_asking_for_later_burns_no_attempt(
    pool: QueuePool, consume: StartConsumer, records: Records
) -> None:
    job = pool.enqueue("later", {"times": 5}, partition_key="g")  # two attempts at most
    consume()

    pool.result(job.job_id, partition_key="g", timeout_s=60)

    runs = [run for run in records.runs() if run.job_id == job.job_id]
    assert len(runs) == 6
    assert {run.attempt for run in runs} == {1}


def test_a_job_that_always_fails_dies_after_its_attempts(
    pool: QueuePool, partition: Partition, consume: StartConsumer, records: Records
) -> None:
    job = pool.enqueue("fail", partition_key="g")
    process = consume()

    wait_until(lambda: partition.observe().dead == 1)

    assert records.begun()[job.job_id] == 3
    assert [run.attempt for run in records.runs()] == [1, 2, 3]
    process.says(f"job {job.job_id} is dead (failed)")
    attempts = re.findall(rf"job {job.job_id} (.*?); next.* task=fail group=g ", process.log)
    assert attempts == [f"failed: ValueError at attempt {n} of 3" for n in (1, 2)]
    assert "always" not in process.log  # what a handler raises may hold its payload


def test_async_jobs_run_beside_each_other(
    pool: QueuePool, partition: Partition, consume: StartConsumer, records: Records
) -> None:
    pool.enqueue_many("work_async", ({"ms": 50} for _ in range(80)), partition_key="g")
    consume(workers=16)
    drained(partition, 80)
    assert 8 <= records.peak() <= 16
    assert set(records.begun().values()) == {1}


def test_metrics_hold_waits_and_durations_apart(
    pool: QueuePool, partition: Partition, consume: StartConsumer
) -> None:
    pool.enqueue_many("work", ({"ms": 5} for _ in range(20)), partition_key="g")
    process = consume()
    drained(partition, 20)

    def exposed() -> str:
        status, text = process.get("/metrics")
        assert status == 200
        return text

    labels = '{partition="0",task="work"}'
    wait_until(lambda: f"queuepool_job_process_seconds_count{labels} 20.0" in exposed())
    text = exposed()
    assert f"queuepool_job_wait_seconds_count{labels} 20.0" in text
    assert 'queuepool_workers{partition="0",state="running"} 8.0' in text
    assert 'queuepool_owner{partition="0"} 1.0' in text
    assert process.get("/nowhere")[0] == 404


@pytest.mark.serial
def test_a_delayed_job_starts_soon_after_it_is_due(
    pool: QueuePool, partition: Partition, consume: StartConsumer, records: Records
) -> None:
    process = consume(poll_s=10)
    process.owns(partition)
    late: list[float] = []
    for n in range(8):
        asked_ns = time.monotonic_ns()
        job = pool.enqueue("work", partition_key="g", delay_s=0.2)
        wait_until(lambda n=n: done(partition) == n + 1)  # type: ignore[misc]
        (run,) = [run for run in records.runs() if run.job_id == job.job_id]
        late.append((run.began_ns - asked_ns) / 1e9 - 0.2)

    assert min(late) > -0.002  # the server counts in whole milliseconds
    assert sorted(late)[len(late) // 2] < 0.5  # some ms; the rest is for a busy machine
    assert max(late) < 10 / 2  # it would look by itself after 10 s
