"""What a history of executions costs the drain: without one, with one, and with all that it takes.

The kinds take turns, there and back, so that a machine whose speed changes changes all alike. CPU
is that of the consumer, once it owns its partition, and of the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic

from benchmarks.peers.processes import cpu_s
from benchmarks.rig import payloads, rig

_BYTES = 64 * 1024**2
_KINDS: dict[str, dict[str, str]] = {
    "off": {},
    "on": {"CONSUMER_HISTORY_KEEP_BYTES": str(_BYTES)},
    "most": {"CONSUMER_HISTORY_KEEP_BYTES": str(_BYTES), "CONSUMER_HISTORY_RATE": "10000"},
}
_TURNS = [*_KINDS, *reversed(_KINDS)] * 2


def history(jobs: int) -> dict[str, float]:
    """Drain no-op jobs with 8 workers: seconds and CPU with a history, against without."""
    took_s, used_s = dict.fromkeys(_KINDS, 0.0), dict.fromkeys(_KINDS, 0.0)
    halves_s = [0.0, 0.0]  # of CPU without a history: how much one and the same differs
    for turn, kind in enumerate(_TURNS):
        seconds, cpu = _drained(jobs, _KINDS[kind])
        took_s[kind] += seconds
        used_s[kind] += cpu
        if kind == "off":
            halves_s[2 * turn // len(_TURNS)] += cpu
    figures = {"history_off_per_s": 4 * jobs / took_s["off"]}
    for kind in ("on", "most"):
        figures[f"history_{kind}_time_to_off"] = took_s[kind] / took_s["off"]
        figures[f"history_{kind}_cpu_to_off"] = used_s[kind] / used_s["off"]
    return figures | {"history_off_cpu_to_itself": halves_s[1] / halves_s[0]}


def _drained(jobs: int, settings: Mapping[str, str]) -> tuple[float, float]:
    """Return the seconds of a drain, and the CPU seconds."""
    with rig() as r:
        r.pool.enqueue_many("noop", payloads(jobs), partition_key="bulk", results="failures")
        with r.consumer(8, **settings):
            began, cpu = monotonic(), sum(map(cpu_s, r.pids))
            r.drain_per_s("bulk")
            return monotonic() - began, sum(map(cpu_s, r.pids)) - cpu
