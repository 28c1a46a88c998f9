"""Worker time is shared evenly, and child processes use the cores, with the figures set for them.

Slow, and meant for a quiet machine; `-rA` shows the figures.
"""

from __future__ import annotations

import os
import random
import sys
import time

import pytest

from queuepool.client.pool import QueuePool
from queuepool.client.results import EnqueueResults
from queuepool.partitions.partition import Partition
from tests.chaos.checker import Run
from tests.integration.consumer.conftest import StartConsumer
from tests.integration.consumer.processes import Records, done, drained
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.serial]
LONG_MS, SHORT_MS, SMALL_MS, WORKERS = 2_000, 20, 50, 8
MEASURED_S, SMALL, APART_S = 60.0, 15, 2.0
BURNS, ROUNDS = 48, 1_000_000


def show(line: str) -> None:
    """Tell a figure."""
    sys.stdout.write(f"\n{line}\n")


def busy_s(runs: list[Run], from_ns: int, to_ns: int) -> float:
    """Return the worker seconds of executions between two moments."""
    spans = ((max(run.began_ns, from_ns), min(run.ended_ns or to_ns, to_ns)) for run in runs)
    return sum(max(end - begin, 0) for begin, end in spans) / 1e9


def waits_s(records: Records, results: EnqueueResults, since_ns: int) -> list[float]:
    """Return how long each job of a group waited for its start."""
    ids = {r.job_id for r in results}
    return [(r.began_ns - since_ns) / 1e9 for r in records.runs() if r.job_id in ids]


def test_a_group_of_long_jobs_and_one_of_short_ones_get_equal_worker_time(
    pool: QueuePool, partition: Partition, consume: StartConsumer, records: Records
) -> None:
    """And a small group that arrives beside both waits less than three of its own job times."""
    consume(workers=WORKERS, max_workers=WORKERS).owns(partition)
    dice = random.Random(7)  # not all alike: else their ends fall together
    long = ({"ms": LONG_MS * dice.uniform(0.8, 1.2)} for _ in range(600))
    long_ids = {job.job_id for job in pool.enqueue_many("work", long, partition_key="long")}
    short = ({"ms": SHORT_MS * dice.uniform(0.8, 1.2)} for _ in range(40_000))
    short_ids = {job.job_id for job in pool.enqueue_many("work", short, partition_key="short")}
    wait_until(lambda: done(partition) > 1_500, 60)  # what jobs take is known

    from_ns = time.monotonic_ns()
    wait_until(lambda: time.monotonic_ns() - from_ns >= MEASURED_S * 1e9, 2 * MEASURED_S)
    to_ns, waited = time.monotonic_ns(), list[float]()
    for n in range(SMALL):
        since_ns = time.monotonic_ns()
        small = pool.enqueue_many("work", [{"ms": SMALL_MS}] * 10, partition_key=f"small-{n}")
        pool.group(f"small-{n}").wait(timeout_s=30)
        waited += waits_s(records, small, since_ns)
        wait_until(lambda at_ns=since_ns + APART_S * 1e9: time.monotonic_ns() >= at_ns, 30)  # type: ignore[misc]
    runs = records.runs()

    of_long = busy_s([run for run in runs if run.job_id in long_ids], from_ns, to_ns)
    of_short = busy_s([run for run in runs if run.job_id in short_ids], from_ns, to_ns)
    waited.sort()
    p99_s = waited[len(waited) * 99 // 100]
    show(f"long {of_long:.1f} s, short {of_short:.1f} s of workers in {MEASURED_S:.0f} s")
    show(f"{len(waited)} small jobs of {SMALL_MS} ms waited {1000 * p99_s:.0f} ms at p99")
    assert of_long == pytest.approx(of_short, rel=0.1)
    assert p99_s < 3 * SMALL_MS / 1000


def test_two_processes_do_cpu_bound_work_almost_twice_as_fast_as_one(
    pool: QueuePool, partition: Partition, consume: StartConsumer
) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one core")
    rates = []
    for round_, size in enumerate((1, 2)):
        plan = f"default=process:{size}..{size}"
        consumer = consume(app="tests.apps.dangerous", pools=plan)
        consumer.owns(partition)
        pool.enqueue("harm.burn", {"rounds": 1}, partition_key="warm")
        drained(partition, round_ * (BURNS + 1) + 1, 60)

        began_s = time.monotonic()
        pool.enqueue_many("harm.burn", [{"rounds": ROUNDS}] * BURNS, partition_key="g")
        drained(partition, (round_ + 1) * (BURNS + 1), 200)
        rates.append(BURNS / (time.monotonic() - began_s))
        assert consumer.stop() == 0

    show(f"one process {rates[0]:.1f} jobs/s, two {rates[1]:.1f}: {rates[1] / rates[0]:.2f} times")
    assert rates[1] >= 1.7 * rates[0]
