"""A small group behind a large one, in one partition of a real consumer: it does not wait long."""

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
JOB_MS = 50


def waits_s(records: Records, results: EnqueueResults, since_ns: int) -> list[float]:
    """Return how long each job of a group waited for its start."""
    ids = {r.job_id for r in results}
    return [(r.began_ns - since_ns) / 1e9 for r in records.runs() if r.job_id in ids]


def test_small_groups_pass_a_large_one(
    pool: QueuePool, partition: Partition, consume: StartConsumer, records: Records
) -> None:
    consume(workers=8)
    # Not all alike: else the workers end in step, and the wait is how their steps happen to fall.
    dice = random.Random(7)
    large = ({"ms": JOB_MS * dice.uniform(0.5, 1.5)} for _ in range(3000))
    pool.enqueue_many("work", large, partition_key="large")
    wait_until(lambda: done(partition) > 40)

    waited: list[float] = []
    for n in range(12):
        enqueued_ns = time.monotonic_ns()
        small = pool.enqueue_many("work", [{"ms": JOB_MS}] * 10, partition_key=f"small-{n}")
        pool.group(f"small-{n}").wait(timeout_s=20)
        waited += waits_s(records, small, enqueued_ns)
    pool.group("large").cancel()

    assert len(waited) == 120
    waited.sort()
    assert waited[118] < 3 * JOB_MS / 1000  # p99


@pytest.mark.parametrize("groups", [20_000, pytest.param(150_000, marks=pytest.mark.slow)])
def test_a_tenant_with_few_jobs_passes_one_with_many_groups(
    pool: QueuePool, partition: Partition, consume: StartConsumer, records: Records, groups: int
) -> None:
    job_ms = 2 * JOB_MS  # so that what a busy machine adds to each wait counts less
    dice = random.Random(7)
    theirs = (
        Job({"ms": job_ms * dice.uniform(0.5, 1.5)}, partition_key=f"row-{n}")
        for n in range(groups)
    )
    pool.enqueue_many("work", theirs, tenant="large")
    consume(workers=8)
    wait_until(lambda: done(partition) > 40)

    waited: list[float] = []
    for n in range(12):
        mine = [Job({"ms": job_ms}, partition_key=f"row-{k}") for k in range(10)]
        enqueued_ns = time.monotonic_ns()
        small = pool.enqueue_many("work", mine, tenant=f"small-{n}")
        for k in range(10):
            pool.group(f"row-{k}", tenant=f"small-{n}").wait(timeout_s=20)
        waited += waits_s(records, small, enqueued_ns)

    assert len(waited) == 120
    waited.sort()
    assert waited[118] < 3 * job_ms / 1000  # p99


def test_jobs_that_turn_long_do_not_keep_others_waiting_in_memory(
    pool: QueuePool, partition: Partition, consume: StartConsumer, records: Records
) -> None:
    # No-op jobs make the consumer look ahead as far as it may; then each job takes 300 ms.
    consume(workers=8)
    items = [{"ms": 0}] * 4000 + [{"ms": 300}] * 400
    pool.enqueue_many("work", items, partition_key="large")
    wait_until(lambda: done(partition) >= 4000)

    enqueued_ns = time.monotonic_ns()
    small = pool.enqueue_many("work", [{"ms": 1}] * 10, partition_key="small")
    pool.group("small").wait(timeout_s=20)
    waited = waits_s(records, small, enqueued_ns)
    held = partition.observe().in_flight
    pool.group("large").cancel()

    assert len(waited) == 10
    assert max(waited) < 3 * 0.3
    assert held <= 2 * 8  # the jobs in memory went back
