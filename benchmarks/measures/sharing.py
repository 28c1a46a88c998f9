"""Processes and partitions: one group spread over several, and one process for many partitions."""

from __future__ import annotations

from time import monotonic, sleep

from benchmarks import starts
from benchmarks.rig import Rig, quantile, rig

_SPREAD = 4
_NAP_MS = 10.0
_MANY, _BUSY = 16, 8
_BUSY_MS = 50.0
_WORKERS = 8


def spread(jobs: int) -> dict[str, float]:
    """Drain one group whose jobs sleep, in one of four partitions, and spread over all of them."""
    rates = {}
    for slots, share in ((1, _SPREAD), (_SPREAD, 1)):
        with rig(partitions=_SPREAD) as r:
            rows = _naps(jobs // share, _NAP_MS)
            r.pool.enqueue_many("nap", rows, partition_key="bulk", spread=slots)
            with r.consumer(_WORKERS):
                rates[slots] = r.drain_per_s("bulk")
    return {
        "spread_per_s[slots=1]": rates[1],
        f"spread_per_s[slots={_SPREAD}]": rates[_SPREAD],
        "spread_to_one_partition": rates[_SPREAD] / rates[1],
    }


def trickle(per_partition_s: int) -> dict[str, float]:
    """Start a job a second in each of 16 partitions, which one process serves."""
    with rig(partitions=_MANY, roaming=1) as r:
        jobs = per_partition_s * _MANY
        waits = starts.measure(r, jobs, gap_s=lambda: 1 / _MANY, keys=_keys(r))
    return {
        "shared_start_p50_ms": quantile(waits, 0.5),
        "shared_start_p99_ms": quantile(waits, 0.99),
    }


def busy(jobs: int) -> dict[str, float]:
    """Let one process drain 8 partitions that are all busy.

    `of_ideal` is the share of its workers' time that ran jobs; `longest_stop_s` how long a
    partition with jobs had none that ended.
    """
    each = jobs // _BUSY
    with rig(partitions=_BUSY, roaming=1) as r:
        keys = _keys(r)
        for key in keys:
            r.pool.enqueue_many("nap", _naps(each, _BUSY_MS), partition_key=key)
        with r.consumer(_WORKERS):
            took_s, longest_s = _drained(r, keys)
    return {
        "shared_busy_of_ideal": _BUSY * each * _BUSY_MS / 1000 / _WORKERS / took_s,
        "shared_busy_longest_stop_s": longest_s,
    }


def _naps(jobs: int, ms: float) -> list[dict[str, float]]:
    return [{"ms": ms, "i": i} for i in range(jobs)]


def _drained(r: Rig, keys: list[str]) -> tuple[float, float]:
    began_s = monotonic()
    left = {key: r.pool.group(key).status().left for key in keys}
    moved_s, longest_s = dict.fromkeys(keys, began_s), 0.0
    while any(left.values()):
        sleep(0.05)
        for key in [key for key in keys if left[key]]:
            now, now_s = r.pool.group(key).status().left, monotonic()
            if now != left[key]:
                longest_s = max(longest_s, now_s - moved_s[key])
                left[key], moved_s[key] = now, now_s
    return monotonic() - began_s, longest_s


def _keys(r: Rig) -> list[str]:
    """Return a key of each partition."""
    count = len(r.pool.partitions())
    found: dict[int, str] = {}
    n = 0
    while len(found) < count:
        found.setdefault(r.pool.group(f"k{n}").partition.number, f"k{n}")
        n += 1
    return [found[number] for number in sorted(found)]
