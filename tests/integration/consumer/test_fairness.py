"""A small group behind a large one, in one partition of a real consumer: it does not wait long."""

import itertools
import random
import time

import pytest

from queuepool import Job
from queuepool.client.pool import QueuePool
from queuepool.client.results import EnqueueResults
from queuepool.partitions.partition import Partition
from tests.integration.consumer.conftest import StartConsumer
from tests.integration.consumer.processes import Records, done
from tests.waiting import wait_until

pytestmark = pytest.mark.serial
WORKERS = 8
SMALL = 10
JOB_MS = 50
# One of theirs between each two of ours, and what the consumer had claimed before ours came.
FAIR = 2 * SMALL + WORKERS


def passed_by(records: Records, results: EnqueueResults, since_ns: int) -> list[int]:
    """Return for each job how many jobs, its own group's included, began before it since a moment.

    Starts are counted, and no time: where a machine stands still, all wait alike.
    """
    ids = {r.job_id for r in results}
    runs = sorted(records.runs(), key=lambda run: run.began_ns)
    before = [0, *itertools.accumulate(run.began_ns > since_ns for run in runs)]
    return [n for n, run in zip(before, runs, strict=False) if run.job_id in ids]


def test_small_groups_pass_a_large_one(
    pool: QueuePool, partition: Partition, consume: StartConsumer, records: Records
) -> None:
    consume(workers=WORKERS)
    # Not all alike: else the workers end in step, and the wait is how their steps happen to fall.
    dice = random.Random(7)
    large = ({"ms": JOB_MS * dice.uniform(0.5, 1.5)} for _ in range(3000))
    pool.enqueue_many("work", large, partition_key="large")
    wait_until(lambda: done(partition) > 40)

    passed: list[int] = []
    for n in range(12):
        small = pool.enqueue_many("work", [{"ms": JOB_MS}] * SMALL, partition_key=f"small-{n}")
        enqueued_ns = time.monotonic_ns()
        pool.group(f"small-{n}").wait(timeout_s=20)
        passed += passed_by(records, small, enqueued_ns)
    pool.group("large").cancel()

    assert len(passed) == 12 * SMALL
    passed.sort()
    assert passed[118] <= FAIR  # p99


@pytest.mark.parametrize("groups", [20_000, pytest.param(150_000, marks=pytest.mark.slow)])
def test_a_tenant_with_few_jobs_passes_one_with_many_groups(
    pool: QueuePool, partition: Partition, consume: StartConsumer, records: Records, groups: int
) -> None:
    dice = random.Random(7)
    theirs = (
        Job({"ms": JOB_MS * dice.uniform(0.5, 1.5)}, partition_key=f"row-{n}")
        for n in range(groups)
    )
    pool.enqueue_many("work", theirs, tenant="large")
    consume(workers=WORKERS)
    wait_until(lambda: done(partition) > 40)

    passed: list[int] = []
    for n in range(12):
        mine = [Job({"ms": JOB_MS}, partition_key=f"row-{k}") for k in range(SMALL)]
        small = pool.enqueue_many("work", mine, tenant=f"small-{n}")
        enqueued_ns = time.monotonic_ns()
        for k in range(SMALL):
            pool.group(f"row-{k}", tenant=f"small-{n}").wait(timeout_s=20)
        passed += passed_by(records, small, enqueued_ns)

    assert len(passed) == 12 * SMALL
    passed.sort()
    assert passed[118] <= FAIR  # p99


def test_jobs_that_turn_long_do_not_keep_others_waiting_in_memory(
    pool: QueuePool, partition: Partition, consume: StartConsumer, records: Records
) -> None:
    # No-op jobs make the consumer look ahead as far as it may; then each job takes 300 ms.
    consume(workers=WORKERS)
    items = [{"ms": 0}] * 4000 + [{"ms": 300}] * 400
    pool.enqueue_many("work", items, partition_key="large")
    wait_until(lambda: done(partition) >= 4000)

    small = pool.enqueue_many("work", [{"ms": 1}] * SMALL, partition_key="small")
    enqueued_ns = time.monotonic_ns()
    pool.group("small").wait(timeout_s=20)
    passed = passed_by(records, small, enqueued_ns)
    held = partition.observe().in_flight
    pool.group("large").cancel()

    assert len(passed) == SMALL
    assert max(passed) <= FAIR
    assert held <= 2 * WORKERS  # the jobs in memory went back
