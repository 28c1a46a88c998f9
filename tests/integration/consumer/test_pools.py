"""Consumers whose pool is of another kind: the whole way of a job, with real processes."""

import os
import signal
from pathlib import Path

import pytest

from queuepool.client.pool import QueuePool
from queuepool.models import JobState
from queuepool.partitions.partition import Partition
from tests.integration.consumer.conftest import StartConsumer
from tests.integration.consumer.processes import ConsumerProcess, done, drained, scale
from tests.waiting import wait_until

APP = "tests.apps.dangerous"
GROUP = "album"


def children(consumer: ConsumerProcess) -> list[int]:
    """Return the child processes that a consumer has."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == consumer.pid and fields[0] not in "ZX":
            found.append(int(stat.parent.name))
    return found


def exists(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def workers(partition: Partition) -> tuple[int, int]:
    owner = partition.observe().owner
    return (owner.workers, owner.target) if owner else (0, 0)


def test_harm_in_a_process_pool_costs_that_job_alone(
    pool: QueuePool, partition: Partition, consume: StartConsumer
) -> None:
    consumer = consume(app=APP, pools="default=process:2..4")
    consumer.owns(partition)
    harm = [
        pool.enqueue(task, payload, partition_key=GROUP, max_attempts=1)
        for task, payload in (
            ("harm.segfault", {}),
            ("harm.endless_in_c", {}),
            ("harm.leave", {"status": 9}),
            ("harm.raises", {"what": "SystemExit"}),
        )
    ]
    pool.enqueue_many("harm.double", [{"n": n} for n in range(200)], partition_key=GROUP)

    state = drained(partition, 200)

    assert state.dead == 4
    seen = [pool.status(job.job_id, partition_key=GROUP) for job in harm]
    assert [status.state for status in seen] == [JobState.DEAD] * 4
    reasons = [status.error.reason if status.error else "" for status in seen]
    assert reasons == ["crashed", "timeout", "crashed", "failed"]
    assert consumer.is_running()
    assert workers(partition)[1] == 2
    status, text = consumer.get("/metrics")
    assert status == 200
    assert (
        'queuepool_executions_total{end="crashed",partition="0",task="harm.segfault"} 1.0' in text
    )
    assert 'queuepool_pool_processes_ended_total{cause="crashed",partition="0"} 2.0' in text
    assert 'queuepool_pool_processes_ended_total{cause="timeout",partition="0"} 1.0' in text
    assert consumer.stop() == 0
    assert "all jobs finished" in consumer.log


def test_a_process_pool_obeys_commands(partition: Partition, consume: StartConsumer) -> None:
    consumer = consume(app=APP, pools="default=process:1..3")
    consumer.owns(partition)
    wait_until(lambda: workers(partition) == (1, 1))

    scale(partition, 3, leader=1)
    wait_until(lambda: workers(partition) == (3, 3))
    wait_until(lambda: len(children(consumer)) == 3)
    scale(partition, 1, leader=2)

    wait_until(lambda: workers(partition) == (1, 1) and len(children(consumer)) == 1)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_consumer_that_ends_leaves_no_child_behind(
    pool: QueuePool,
    partition: Partition,
    consume: StartConsumer,
    number: int,
) -> None:
    consumer = consume(app=APP, pools="default=process:2", drain_s=0.2)
    consumer.owns(partition)
    # One holds the interpreter, so that no thread of its process hears of anything.
    pool.enqueue("harm.endless_in_c", {}, partition_key=GROUP, timeout_s=600)
    pool.enqueue("harm.wait_for", {"gate": "/there/is/none"}, partition_key=GROUP)
    wait_until(lambda: partition.observe().in_flight == 2)
    wait_until(lambda: len(children(consumer)) == 2)
    pids = children(consumer)

    os.kill(consumer.pid, number)
    consumer.ends()

    wait_until(lambda: not any(map(exists, pids)))


def test_jobs_that_run_may_finish_before_a_process_pool_is_stopped(
    pool: QueuePool, partition: Partition, consume: StartConsumer, tmp_path: Path
) -> None:
    consumer = consume(app=APP, pools="default=process:1")
    consumer.owns(partition)
    gate = tmp_path / "gate"
    job = pool.enqueue("harm.wait_for", {"gate": str(gate)}, partition_key=GROUP)
    wait_until(lambda: pool.status(job.job_id, partition_key=GROUP).progress == "began")

    consumer.signal(signal.SIGTERM)
    consumer.says("draining: 1 running job")
    gate.touch()

    assert consumer.ends() == 0
    assert done(partition) == 1


def test_a_cancel_request_reaches_a_child(
    pool: QueuePool, partition: Partition, consume: StartConsumer
) -> None:
    consume(app=APP, pools="default=process:1")
    job = pool.enqueue("harm.wait_for", {"gate": "/there/is/none"}, partition_key=GROUP)
    wait_until(lambda: pool.status(job.job_id, partition_key=GROUP).progress == "began")

    pool.cancel(job.job_id, partition_key=GROUP)

    wait_until(lambda: pool.status(job.job_id, partition_key=GROUP).state is JobState.CANCELLED)


def test_an_async_pool_runs_two_thousand_sleepers_at_once(
    pool: QueuePool, partition: Partition, consume: StartConsumer, tmp_path: Path
) -> None:
    consumer = consume(app="tests.apps.sleepers", pools="default=async:2000")
    consumer.owns(partition)
    gate = tmp_path / "gate"
    pool.enqueue_many("sleepers.wait", [{"gate": str(gate)}] * 2000, partition_key=GROUP)

    wait_until(lambda: partition.observe().in_flight == 2000)
    threads = len(list(Path(f"/proc/{consumer.pid}/task").iterdir()))
    gate.touch()
    drained(partition, 2000)

    assert threads < 30


def test_a_heavy_job_takes_its_places_and_nobody_passes_it(
    pool: QueuePool, partition: Partition, consume: StartConsumer
) -> None:
    consumer = consume(app="tests.apps.sleepers", pools="default=4")
    consumer.owns(partition)
    jobs = [
        pool.enqueue(
            "sleepers.heavy" if n % 6 == 0 else "sleepers.light",
            {"seconds": 0.02},
            partition_key=GROUP,
        )
        for n in range(60)
    ]

    drained(partition, 60)

    assert max(job.result() for job in jobs) == 4


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"pools": "default=async:8", "app": APP}, "task 'harm.double' is a plain function"),
        ({"pools": "default=2", "app": "tests.apps.sleepers"}, "takes slots=3"),
        ({"pools": "default=fast:2"}, "kind 'fast' is unknown; use one of threads, async, process"),
        ({"pools": "default=4..2"}, "must come first"),
        ({"pools": "default=4,default=2"}, "pool 'default' is given twice"),
    ],
)
def test_pools_that_cannot_be_had_are_refused_at_the_start(
    consume: StartConsumer, settings: dict[str, str], why: str
) -> None:
    consumer = consume(**settings)

    assert consumer.ends() == 2
    assert why in consumer.log
