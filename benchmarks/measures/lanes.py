"""Lanes that wait, beside plain ones, and kinds of worker pools: jobs a second, server CPU a job.

No bound here is ever reached, other than by `capped` and `serial`, whose groups have more jobs than
may run, and by the rate of `busy_rate`: what is measured is what the bounds themselves cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic, sleep
from typing import Any

from benchmarks.rig import Rig, payloads, rig
from queuepool import Limit

_GROUPS = 100
_PARKED = 10_000  # groups of one job, at a limit that is paused
_BUSY_RATE, _BUSY_S = 2_000, 5

_POOLS = {
    "threads": ("8", "benchmarks.tasks"),
    "async": ("async:200", "benchmarks.coroutines"),
    "process": ("process:2", "benchmarks.tasks"),
}


def lanes(jobs: int) -> dict[str, float]:
    """Drain no-op jobs of 100 groups with 8 workers: plain, then with each kind of bound."""
    kinds: dict[str, Callable[[Rig, int], None]] = {
        "plain": _plain,
        "plain_beside_parked": _beside_parked,
        "rate": lambda r, n: _limited(r, n, Limit("any", rate=1_000_000)),
        "concurrency": lambda r, n: _limited(r, n, Limit("any", concurrency=1_000)),
        "capped": lambda r, n: _managed(r, n, max_running=3),
        "serial": lambda r, n: _managed(r, n, serial=True),
    }
    figures: dict[str, float] = {}
    for kind, fill in kinds.items():
        with rig() as r:
            fill(r, jobs)
            per_s, server_us = _drained(r, jobs)
            figures |= {f"{kind}_lanes_per_s": per_s, f"{kind}_lanes_server_us": server_us}
    return figures | _busy_rate()


def pools(jobs: int) -> dict[str, float]:
    """Drain no-op jobs with 8 threads, with 200 coroutines, and with 2 child processes."""
    figures: dict[str, float] = {}
    for kind, (pool, app) in _POOLS.items():
        with rig() as r:
            _plain(r, jobs)
            per_s, server_us = _drained(r, jobs, pool=pool, app=app)
            figures |= {f"{kind}_pool_per_s": per_s, f"{kind}_pool_server_us": server_us}
    return figures


def _plain(r: Rig, jobs: int) -> None:
    r.pool.enqueue_many("noop", payloads(jobs), partition_key=_key)


def _limited(r: Rig, jobs: int, limit: Limit) -> None:
    r.pool.limits.set(limit)
    r.pool.enqueue_many("noop", payloads(jobs), partition_key=_key, limit=limit.name)


def _beside_parked(r: Rig, jobs: int) -> None:
    r.pool.limits.set(Limit("closed", rate=1))
    r.pool.limits.pause("closed")
    r.pool.enqueue_many(
        "noop", payloads(_PARKED), partition_key=lambda row: f"p{row['i']}", limit="closed"
    )
    _plain(r, jobs)


def _managed(r: Rig, jobs: int, **settings: int) -> None:
    for n in range(_GROUPS):
        r.pool.group(f"g{n}").configure(create=True, **settings)  # type: ignore[arg-type]
    _plain(r, jobs)


def _busy_rate() -> dict[str, float]:
    """Return how much of a rate is used while more jobs wait than it allows."""
    jobs = _BUSY_RATE * _BUSY_S
    with rig() as r:
        _limited(r, jobs, Limit("busy", rate=_BUSY_RATE, burst=1))
        per_s, server_us = _drained(r, jobs)
    return {"busy_rate_used": per_s / _BUSY_RATE, "busy_rate_server_us": server_us}


def _drained(
    r: Rig, jobs: int, *, pool: str = "8", app: str = "benchmarks.tasks"
) -> tuple[float, float]:
    """Run jobs until so many are done; return jobs a second, and server CPU microseconds a job."""
    partition = r.pool.partition(0)

    def done() -> int:
        return partition.observe().counters.get("done", 0)

    cpu_s = r.server_cpu_s()
    with r.consumer(None, app=app, CONSUMER_POOLS=f"default={pool}"):
        began, before = monotonic(), done()
        while (now := done()) < jobs:
            sleep(0.01)
        took_s = monotonic() - began
        cpu_s = r.server_cpu_s() - cpu_s
    return (now - before) / took_s, cpu_s / jobs * 1e6


def _key(row: Mapping[str, Any]) -> str:
    return f"g{row['i'] % _GROUPS}"
