"""What lanes that wait promise, with the figures that were set for them, over kills: slow."""

from __future__ import annotations

import itertools
import random
import time
from collections import defaultdict
from pathlib import Path

import pytest

from queuepool.client.pool import QueuePool
from queuepool.partitions.partition import Partition
from tests.chaos.checker import Run
from tests.integration.consumer.conftest import StartConsumer
from tests.integration.consumer.processes import Records, done, drained, owners
from tests.waiting import wait_until

GROUPS, JOBS, KILLS = 1000, 100, 3
Where = dict[str, tuple[str, int]]  # id -> group, number


def enqueue(pool: QueuePool, **settings: int | bool) -> Where:
    """Enqueue the groups, a twentieth of whose jobs fail once."""
    chance, where = random.Random(13), Where()
    for name in (f"group-{n}" for n in range(GROUPS)):
        pool.group(name).configure(create=True, **settings)  # type: ignore[arg-type]
        rows = [{"fails": chance.random() < 0.05} for _ in range(JOBS)]
        for number, job in enumerate(pool.enqueue_many("flaky", rows, partition_key=name)):
            where[job.job_id] = name, number
    return where


def run_with_kills(partition: Partition, consume: StartConsumer) -> dict[int, int]:
    """Run all jobs while owners are killed; return when (ns) each of them was, by pid."""
    jobs, killed = GROUPS * JOBS, dict[int, int]()
    standing = [consume(partition="auto", lease_s=2.0) for _ in range(2)]
    for kill in range(1, KILLS + 1):
        wait_until(lambda part=kill: done(partition) > part * jobs / (KILLS + 2), 300)  # type: ignore[misc]
        (owner,) = [each for each in standing if each.pid in owners(partition)]
        owner.kill()
        killed[owner.pid] = time.monotonic_ns()
        standing = [each for each in standing if each is not owner]
        standing.append(consume(partition="auto", lease_s=2.0))
    drained(partition, jobs, 600)
    return killed


def by_group(runs: list[Run], where: Where) -> dict[str, list[Run]]:
    """Return the executions of each group, in the order in which they began."""
    found = defaultdict[str, list[Run]](list)
    for run in runs:
        found[where[run.job_id][0]].append(run)
    return found


def end_ns(run: Run, killed: dict[int, int]) -> int:
    """Return when an execution was over: its process may have been killed."""
    return killed[run.pid] if run.ended_ns is None else run.ended_ns


@pytest.mark.slow
def test_serial_groups_never_overlap_and_keep_their_order_through_failures_and_kills(
    pool: QueuePool, partition: Partition, consume: StartConsumer, records: Records
) -> None:
    where = enqueue(pool, serial=True)

    killed = run_with_kills(partition, consume)

    groups = by_group(records.runs(), where)
    assert len(groups) == GROUPS
    for name, runs in groups.items():
        numbers = [where[run.job_id][1] for run in runs]
        assert numbers == sorted(numbers), f"{name}: the order of {numbers}"
        assert set(numbers) == set(range(JOBS)), name
        for run, following in itertools.pairwise(runs):
            assert end_ns(run, killed) <= following.began_ns, f"{name}: {run} and {following}"


@pytest.mark.slow
def test_capped_groups_run_three_at_once_and_never_four(
    pool: QueuePool, partition: Partition, consume: StartConsumer, records: Records
) -> None:
    where = enqueue(pool, max_running=3)

    killed = run_with_kills(partition, consume)

    peaks = []
    for runs in by_group(records.runs(), where).values():
        moments = [(run.began_ns, 1) for run in runs]
        moments += [(end_ns(run, killed), -1) for run in runs]
        running = most = 0
        for _, change in sorted(moments):
            running += change
            most = max(most, running)
        peaks.append(most)
    assert len(peaks) == GROUPS
    assert max(peaks) == 3


@pytest.mark.slow
@pytest.mark.serial
def test_2_000_coroutines_that_sleep_a_second_are_done_in_two_and_a_half(
    pool: QueuePool, consume: StartConsumer
) -> None:
    place = pool.partition(0, "io")
    consumer = consume(app="tests.apps.pools", pools="default=1..1,io=async:2000")
    consumer.owns(place)
    wait_until(lambda: any(known.pool == "io" for known in pool.places()))
    pool.hold(pool="io")
    pool.enqueue_many("pools.wait", [{"seconds": 1.0}] * 2000, partition_key="k", pool="io")

    began_s = time.monotonic()
    pool.release(pool="io")
    wait_until(lambda: done(place) == 2000, 30, interval_s=0.01)
    took_s = time.monotonic() - began_s

    assert len(list(Path(f"/proc/{consumer.pid}/task").iterdir())) < 30
    assert took_s <= 2.5, f"{took_s:.2f} s"
