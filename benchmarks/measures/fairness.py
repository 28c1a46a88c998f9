"""What a small group waits behind a giant one in the same partition."""

from __future__ import annotations

import random
from time import monotonic, sleep

from benchmarks.rig import Rig, quantile, rig


def small_groups(jobs: int) -> dict[str, float]:
    """Wait of 10-item groups behind a giant group in the same partition, in job times of 20 ms."""
    job_ms, groups = 20.0, 20
    with rig() as r:
        r.pool.enqueue_many("nap", ({"ms": job_ms} for _ in range(jobs)), partition_key="giant")
        with r.consumer(8):
            waits = _waits(r, groups, job_ms)
            r.pool.group("giant").cancel()
    return {
        "small_group_wait_p50_job_times": quantile(waits, 0.5),
        "small_group_wait_p99_job_times": quantile(waits, 0.99),
    }


def _waits(r: Rig, groups: int, job_ms: float) -> list[float]:
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
