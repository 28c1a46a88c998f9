"""Steady load with one random fault a minute: nothing may grow, and the checker must be content.

    python -m tests.chaos.soak [--minutes 30] [--seed 0]          `make soak`

Two partitions, three consumers, two coordinators. Every two seconds: memory of the server, its
keys, threads and memory of all processes. Slopes are fitted over the second half. Exit code 1 when
something grew or was violated; then the files are kept, and named.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression, mean
from time import monotonic

import redis

from tests.chaos.actions import admin
from tests.chaos.rig import LEASE_S, Rig, engine, pause
from tools.tables import markdown

_PARTITIONS, _STEP_S, _FAULT_EVERY_S = 2, 2.0, 60.0
_BATCH, _EVERY_S = 10, 0.1
# How much of its mean a figure may grow in an hour, as the fitted line says, before it counts; and
# at least so much in all, for the noise of short runs.
_SHARE_AN_HOUR, _NOISE = 0.10, 0.10


@dataclass(frozen=True, slots=True)
class Sample:
    """What there was at one moment, seconds after the start."""

    at_s: float
    server_bytes: float
    keys: float
    threads: float
    process_bytes: float


def growths(samples: Sequence[Sample]) -> dict[str, tuple[float, float]]:
    """Return figure -> (mean, growth from the first minute to the last, as a share of the mean).

    A line is fitted through the means of the minutes, in which a wave of a minute is flat.
    """
    minutes: defaultdict[int, list[Sample]] = defaultdict(list)
    for sample in samples:
        minutes[int((sample.at_s - samples[0].at_s) // 60)].append(sample)
    found = {}
    for name in ("server_bytes", "keys", "threads", "process_bytes"):
        means = [mean(float(getattr(s, name)) for s in minutes[m]) for m in sorted(minutes)]
        slope = linear_regression(range(len(means)), means).slope
        found[name] = mean(means), slope * (len(means) - 1) / mean(means)
    return found


def grown(samples: Sequence[Sample]) -> list[str]:
    """Return the figures that grew by more than noise and what an hour allows."""
    hours = (samples[-1].at_s - samples[0].at_s) / 3600
    allowed = max(_NOISE, _SHARE_AN_HOUR * hours)
    return [
        f"{name} grew by {growth:.0%} of {average:,.0f}"
        for name, (average, growth) in growths(samples).items()
        if growth > allowed
    ]


def main() -> int:
    """Soak for so many minutes; returns 0 when nothing grew and nothing was violated."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.soak")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="queuepool-soak-"))
    problems = _soak(directory, options.minutes * 60, random.Random(options.seed))
    for problem in problems:
        _say(f"VIOLATION  {problem}")
    if problems:
        _say(f"its files are in {directory}")
        return 1
    shutil.rmtree(directory, ignore_errors=True)
    return 0


def _soak(directory: Path, seconds: float, chance: random.Random) -> list[str]:
    jobs = int(seconds / _EVERY_S) * _BATCH
    samples: list[Sample] = []
    # With everysec a server that is killed while its disk is slow forgets what it acknowledged.
    always = {"binary": engine(0), "extra_args": ("--appendfsync", "always")}
    with (
        Rig(directory, partitions=_PARTITIONS, **always) as rig,  # type: ignore[arg-type]
        admin(rig) as server,
    ):
        for _ in range(_PARTITIONS + 1):
            rig.consumer()
        coordinators = [rig.coordinator() for _ in range(2)]
        rig.until(lambda: len(rig.owners()) == _PARTITIONS, "owners", 60)
        producer = rig.producer(jobs=jobs, ms=5, batch=_BATCH, pause_s=_EVERY_S, groups=40)
        began_s = monotonic()
        fault_s = began_s + _FAULT_EVERY_S / 2
        while (at_s := monotonic() - began_s) < seconds:
            pids = [p.pid for p in rig.consumers] + [c.popen.pid for c in coordinators]
            samples.append(_sample(at_s, server, pids))
            if monotonic() > fault_s:
                fault_s += _FAULT_EVERY_S
                fault = chance.choice(_FAULTS)
                _say(f"{at_s:5.0f} s  {(fault.__doc__ or '').strip()}")
                fault(rig, server)
            for process in [p for p in rig.consumers if not p.is_running()]:
                rig.consumers.remove(process)
                rig.consumer()
            pause(_STEP_S)
        producer.ends(seconds)  # a slow machine or an outage puts it behind its plan
        rig.drained(jobs, timeout_s=120)
        minutes = max(2, int(seconds / 2 // 60))
        judged = [s for s in samples if s.at_s > samples[-1].at_s - 60 * minutes]
        heads = ("figure", "mean", f"growth in the last {minutes} minutes")
        rows = [(n, f"{m:,.0f}", f"{g:+.1%}") for n, (m, g) in growths(judged).items()]
        _say(f"\n{markdown(heads, rows)}\n")
        verdict = rig.verdict()
    _say(
        f"{verdict.jobs:,} jobs, {len(verdict.lost)} lost, {verdict.starts} duplicate starts of "
        f"{verdict.starts_allowed} allowed, {verdict.terminals} duplicate ends"
    )
    return [*verdict.violations, *grown(judged)]


def _sample(at_s: float, server: redis.Redis, pids: Sequence[int]) -> Sample:
    memory = int(server.info("memory")["used_memory"])
    threads = resident = 0
    for pid in pids:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:  # it ended just now
            continue
        known = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        threads += int(known["Threads"])
        resident += int(known.get("VmRSS", "0 kB").split()[0]) * 1024
    return Sample(at_s, memory, server.dbsize(), threads, resident)


def _kill_owner(rig: Rig, _server: redis.Redis) -> None:
    """Kill an owner."""
    rig.strike(rig.owner(0), signal.SIGKILL, takeover_s=None)


def _stop_owner(rig: Rig, _server: redis.Redis) -> None:
    """Stop an owner for three leases."""
    owner = rig.owner(1)
    rig.strike(owner, signal.SIGSTOP, takeover_s=None, lease_s=LEASE_S)
    pause(3 * LEASE_S)
    owner.signal(signal.SIGCONT)


def _deploy(rig: Rig, _server: redis.Redis) -> None:
    """Replace an owner, by SIGTERM."""
    rig.owner(0).signal(signal.SIGTERM)


def _stop_server(rig: Rig, _server: redis.Redis) -> None:
    """Stop the server for half a lease."""
    os.kill(rig.server.pid, signal.SIGSTOP)
    pause(LEASE_S / 2)
    os.kill(rig.server.pid, signal.SIGCONT)


def _restart_server(rig: Rig, _server: redis.Redis) -> None:
    """Kill the server and restart it."""
    rig.server.kill()
    rig.server.start()


def _flush(_rig: Rig, server: redis.Redis) -> None:
    """Make the server forget all scripts."""
    server.script_flush()


def _cut(_rig: Rig, server: redis.Redis) -> None:
    """Close every connection."""
    server.client_kill_filter(_type="normal", skipme=True)


def _rewrite(_rig: Rig, server: redis.Redis) -> None:
    """Have the server rewrite its file."""
    server.bgrewriteaof()


_FAULTS: tuple[Callable[[Rig, redis.Redis], None], ...] = (
    _kill_owner, _stop_owner, _deploy, _stop_server, _restart_server, _flush, _cut, _rewrite,
)  # fmt: skip


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
