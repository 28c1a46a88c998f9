"""Many dead jobs that a filter finds are counted, replayed and discarded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.rig import ALL_DEAD_KEPT, Rig, rig
from benchmarks.scale.rows import Row

_ERRORS = ("the gateway timed out", "there is no such account")  # of every other job each
_RATE_PER_S = 1_000
_PACED_S = 5
_CHANGE = """
import json, sys
from time import monotonic
from queuepool import QueuePool
from benchmarks.scale.measures import peak_mb
verb, error, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
with QueuePool.from_env() as pool:
    change = getattr(pool.inspect, verb)
    change(error=error, dry_run=True)
    before, began = peak_mb(), monotonic()
    done = change(error=error, **options)
    took_s = monotonic() - began
    print(json.dumps([done.matched, done.changed, took_s, peak_mb() - before]))
"""


def changes(scale: float) -> Iterator[Row]:
    """Measure the dry run, a paced replay, the replay of the rest, and a discard, by error."""
    half = max(2 * _PACED_S * _RATE_PER_S, int(150_000 * scale))
    with rig(1) as r:
        _bury(r, 2 * half)
        r.client.config_set("latency-tracking-info-percentiles", "100")
        (paced, lost), paced_jobs = _ERRORS, _PACED_S * _RATE_PER_S
        what = f"{half:,} of {2 * half:,} dead jobs, by error"
        for verb, error, expected, options in (
            ("replay", paced, (half, 0), {"dry_run": True}),
            ("replay", paced, (paced_jobs,) * 2, {"rate": _RATE_PER_S, "most": paced_jobs}),
            ("replay", paced, (half - paced_jobs,) * 2, {}),
            ("discard", lost, (half, half), {}),
        ):  # fmt: skip
            r.reset_stats()
            matched, changed, took_s, grown_mb = _changed(r, verb, error, options)
            if (matched, changed) != expected:
                raise RuntimeError(f"{verb} {options}: {matched}, {changed}, not {expected}")
            if "rate" in options:
                per_s = paced_jobs / took_s
                yield Row(f"a replay at {_RATE_PER_S:,}/s", per_s, 1.1 * _RATE_PER_S, "jobs/s")
                continue
            name = "dry run" if options else verb
            yield Row(f"{name} of {what}, each", took_s / matched * 1e6, 150, "us")
            yield Row(f"longest script, {name} of {what}", _longest_ms(r), 50, "ms")
            yield Row(f"growth of the client's memory, {name} of {what}", grown_mb, 5, "MB")
        _check_left(r, half)


def _bury(r: Rig, jobs: int) -> None:
    rows = ({"error": _ERRORS[i % 2]} for i in range(jobs))
    r.pool.enqueue_many("fails_with", rows, partition_key="bulk", results="failures")
    with r.consumer(8, **ALL_DEAD_KEPT):
        r.drain_per_s("bulk")


def _changed(r: Rig, verb: str, error: str, options: dict[str, Any]) -> list[Any]:
    """Change dead jobs in a process of its own; return matched, changed, seconds, MB grown."""
    done = subprocess.run(
        [sys.executable, "-c", _CHANGE, verb, error, json.dumps(options)],
        env=os.environ | {"QUEUEPOOL_URL": r.server.url, "QUEUEPOOL_PARTITIONS": "1"},
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return list(json.loads(done.stdout))


def _longest_ms(r: Rig) -> float:
    """Return the longest time of a script since the last reset."""
    seen = r.info("latencystats")["latency_percentiles_usec_evalsha"]
    return float(seen["p100"]) / 1000


def _check_left(r: Rig, replayed: int) -> None:
    state = r.pool.partitions()[0].observe()
    if (state.backlog, state.dead) != (replayed, 0):
        raise RuntimeError(f"{state.backlog} are ready and {state.dead} dead, not {replayed} and 0")
