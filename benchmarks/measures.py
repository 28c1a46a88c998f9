"""The measures of `make bench`. Each returns figures by name; units are in the names."""

from __future__ import annotations

import random
from collections.abc import Callable
from time import monotonic, sleep

from benchmarks import latency
from benchmarks.floor import Floor
from benchmarks.rig import Rig, payloads, quantile, rig
from queuepool.partition import OwnedPartition
from queuepool.verbs import own

Figures = dict[str, float]
_WEIGHTS = (6, 3, 2, 1)


def enqueue(jobs: int) -> Figures:
    """Enqueue one at a time and in bulk, the floor's bulk beside it; memory per queued job."""
    rows = payloads(jobs)
    with rig() as r:
        one = min(jobs, 5000)
        r.pool.enqueue("noop", rows[0], partition_key="warm")
        began = monotonic()
        for row in rows[:one]:
            r.pool.enqueue("noop", row, partition_key="single")
        one_s = monotonic() - began
    with rig() as r:
        r.pool.enqueue("noop", {"pad": ""}, partition_key="warm")
        before, began = r.used_memory(), monotonic()
        r.pool.enqueue_many("noop", rows, partition_key="bulk")
        bulk_s = monotonic() - began
        size = (r.used_memory() - before) / jobs
        floor = Floor(r.server.url)
        began = monotonic()
        for i in range(0, jobs, 1000):
            floor.enqueue(rows[i : i + 1000], i)
        floor_s = monotonic() - began
        floor.close()
    return {
        "enqueue_one_per_s": one / one_s,
        "enqueue_many_per_s": jobs / bulk_s,
        "floor_bulk_per_s": jobs / floor_s,
        "enqueue_many_to_floor": floor_s / bulk_s,
        "bytes_per_queued_job": size,
    }


def drain(jobs: int) -> Figures:
    """Drain no-op jobs with 8 workers in one consumer process, and the floor with 8 threads."""
    rows = payloads(jobs)
    with rig() as r:
        r.pool.enqueue_many("noop", rows, partition_key="bulk")
        with r.consumer(8):
            ours = jobs / r.drain_s("bulk")
        floor = Floor(r.server.url)
        for i in range(0, jobs, 1000):
            floor.enqueue(rows[i : i + 1000], i)
        bare = jobs / floor.drain(lambda _: None, 8, jobs)
        floor.close()
    return {"drain_per_s": ours, "floor_drain_per_s": bare, "drain_to_floor": ours / bare}


def sleeping(jobs: int) -> Figures:
    """Drain jobs that sleep 10 ms on 64 workers; the ideal is 6,400 a second."""
    with rig() as r:
        r.pool.enqueue_many("nap", ({"ms": 10} for _ in range(jobs)), partition_key="naps")
        with r.consumer(64):
            rate = jobs / r.drain_s("naps")
    return {"sleeping_per_s": rate, "sleeping_share_of_ideal": rate / 6400}


def idle_latency(jobs: int) -> Figures:
    """Enqueue call to handler start on an idle system, one job every 20 ms; the floor beside it."""
    with rig() as r:
        ours = latency.measure(r, jobs)
        floor = Floor(r.server.url)
        bare = floor.latencies(jobs, 0.02)
        floor.close()
    return {
        "start_p50_ms": quantile(ours, 0.5),
        "start_p99_ms": quantile(ours, 0.99),
        "floor_start_p50_ms": quantile(bare, 0.5),
        "start_to_floor": quantile(ours, 0.5) / quantile(bare, 0.5),
    }


def claim_cost(jobs: int) -> Figures:
    """Server microseconds per claimed job: one group of all jobs, and groups of 10."""
    figures: Figures = {}
    for name, size in (("one_group", jobs), ("groups_of_10", 10)):
        with rig() as r:
            r.pool.enqueue_many(
                "noop",
                payloads(jobs),
                partition_key=lambda row, size=size: f"g{int(row['i']) // size}",
            )
            owned = r.pool.partition(0).acquire(lease_s=60)
            if not isinstance(owned, OwnedPartition):
                raise RuntimeError("a fresh partition has an owner")
            r.script_us("evalsha")
            left = jobs
            while left > 0:
                verb = own.claim(owned.life, 100, starting=8, promote_after_ms=0, weights=_WEIGHTS)
                left -= len(owned.run(verb).ids)
            figures[f"claim_us_{name}"] = r.script_us("evalsha") / jobs
    figures["claim_groups_to_one"] = (
        figures["claim_us_groups_of_10"] / figures["claim_us_one_group"]
    )
    return figures


def small_group_wait(jobs: int) -> Figures:
    """Wait of 10-item groups behind a giant group in the same partition, in job times of 20 ms."""
    job_ms, groups = 20.0, 20
    with rig() as r:
        r.pool.enqueue_many("nap", ({"ms": job_ms} for _ in range(jobs)), partition_key="giant")
        with r.consumer(8):
            waits = _small_waits(r, groups, job_ms)
            r.pool.group("giant").cancel()
    return {
        "small_group_wait_p50_job_times": quantile(waits, 0.5),
        "small_group_wait_p99_job_times": quantile(waits, 0.99),
    }


def _small_waits(r: Rig, groups: int, job_ms: float) -> list[float]:
    waits = []
    chance = random.Random(1)
    for g in range(groups):
        sleep(chance.uniform(0.05, 0.15))
        key = f"small-{g}"
        began = monotonic()
        r.pool.enqueue_many("nap", [{"ms": job_ms}] * 10, partition_key=key)
        group = r.pool.group(key)
        while group.status().ready:
            sleep(0.001)
        waits.append((monotonic() - began) * 1000 / job_ms)
    return waits


MEASURES: dict[str, tuple[Callable[[int], Figures], int]] = {
    "enqueue": (enqueue, 100_000),
    "drain": (drain, 100_000),
    "sleeping": (sleeping, 20_000),
    "latency": (idle_latency, 300),
    "claim": (claim_cost, 100_000),
    "small-groups": (small_group_wait, 100_000),
}
