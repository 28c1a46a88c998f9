"""From the enqueue call to the handler's start: on an idle system, and under load."""

from __future__ import annotations

from benchmarks import starts
from benchmarks.floor import Floor
from benchmarks.rig import quantile, rig

_WORKERS, _JOB_MS = 8, 10.0


def idle(jobs: int) -> dict[str, float]:
    """Enqueue call to handler start on an idle system, one job every 20 ms; the floor beside it."""
    with rig() as r:
        ours = starts.measure(r, jobs, gap_s=lambda: 0.02)
        floor = Floor(r.server.url)
        bare = floor.latencies(jobs, 0.02)
        floor.close()
    return {
        "start_p50_ms": quantile(ours, 0.5),
        "start_p99_ms": quantile(ours, 0.99),
        "floor_start_p50_ms": quantile(bare, 0.5),
        "start_to_floor": quantile(ours, 0.5) / quantile(bare, 0.5),
    }


def loaded(jobs: int) -> dict[str, float]:
    """Measure it while 8 workers are busy half, and four fifths, of the time with jobs of 10 ms.

    Jobs arrive at random (exponential gaps), so at 80 % some wait for a worker whatever the queue.
    """
    figures = {}
    for share in (0.5, 0.8):
        rate = share * _WORKERS / (_JOB_MS / 1000)
        with rig() as r:
            gaps = starts.exponential(rate)
            waits = starts.measure(r, jobs, gap_s=gaps, ms=_JOB_MS, workers=_WORKERS)
        figures[f"start_p50_ms[load={share:g}]"] = quantile(waits, 0.5)
        figures[f"start_p99_ms[load={share:g}]"] = quantile(waits, 0.99)
    return figures
