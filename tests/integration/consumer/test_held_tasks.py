"""No job of a held task starts, whoever owns the partition, and all run after the release."""

import time
from collections.abc import Sequence
from pathlib import Path

from queuepool import Job
from queuepool.client.pool import QueuePool
from queuepool.partitions.partition import Partition
from queuepool.tasks.job import Enqueued
from tests.integration.consumer.conftest import StartConsumer
from tests.integration.consumer.processes import Records, done, drained
from tests.waiting import wait_until


def test_a_held_task_starts_no_job_through_a_kill_and_all_of_them_once_it_is_released(
    pool: QueuePool,
    partition: Partition,
    consume: StartConsumer,
    records: Records,
    tmp_path: Path,
) -> None:
    def ran(jobs: Sequence[Enqueued]) -> int:
        ended = {run.job_id for run in records.runs() if run.ended_ns is not None}
        return sum(str(job.job_id) in ended for job in jobs)

    consumer = consume(workers=4, lease_s=1)
    jobs = [Job({"ms": 2}, task="work")] * 1500
    jobs[700:700] = [Job({"gate": "open"}, task="wait_for")] * 4  # no worker passes them
    enqueued = pool.enqueue_many(jobs, partition_key="g")
    held = [*enqueued[:700], *enqueued[704:]]
    others = pool.enqueue_many("work_async", ({"ms": 1} for _ in range(300)), partition_key="g")
    wait_until(lambda: done(partition) > 100)

    pool.hold(task="work")
    claimed = partition.observe().in_flight
    at_ns = time.monotonic_ns()
    (tmp_path / "open").touch()
    wait_until(lambda: ran(others) == 300)
    consumer.kill()
    consume(workers=4, lease_s=1)
    later = pool.enqueue_many("work", ({"ms": 2} for _ in range(100)), partition_key="h")
    last = pool.enqueue("work_async", {}, partition_key="h")
    wait_until(lambda: ran([last]) == 1 and not partition.observe().in_flight)
    state = partition.observe()
    assert (state.delayed, state.backlog, state.in_flight) == (0, 0, 0)
    assert state.held == 1600 - ran([*held, *later]) > 100
    assert not state.has_work
    ids = {str(handle.job_id) for handle in (*held, *later)}
    began = [r.began_ns for r in records.runs() if r.job_id in ids]
    assert sum(each > at_ns for each in began) <= claimed < 700  # before the hold

    assert pool.release(task="work") == 1
    drained(partition, 1905)
    assert partition.observe().held_tasks == {}
    begun = records.begun()
    assert ids <= begun.keys()
    assert sum(begun[job] > 1 for job in ids) <= 4  # what ran at the kill
    assert partition.audit().clean
