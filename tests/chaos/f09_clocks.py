"""F9: clocks that are wrong.

The server's jumps by an hour, either way, while jobs run; processes live ten minutes in the past
and in the future. libfaketime moves them, where it is installed (Debian: `apt-get install
faketime`); it reads the server's offset from a file, so that a running server jumps. Monotonic
clocks are left alone, as an administrator would. The server is always the bundled one: the memory
allocator of others clashes with libfaketime.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic_ns, time

import redis

from queuepool import Job
from queuepool.process.embedded import find_server_binary
from tests.chaos.actions import admin, enqueue
from tests.chaos.checker import Strike, Verdict
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import LEASE_S, Rig, pause

_HOUR_S, _OFF_S = 3600, 600
_DELAY_S = 2.0
_LATE_S = 10.0  # of a delayed job; a takeover comes between, and a busy machine. It is no hour
_HEARS_S = LEASE_S + 2.5  # libfaketime reads its file once a second
NOT_RUN = Result(verdict=Verdict(jobs=0), sums={"NOT RUN: needs `apt-get install faketime`:": 1})


def library() -> Path | None:
    """Return libfaketime, if it is there."""
    return next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)


def _fake(offset: str) -> dict[str, str]:
    return {"LD_PRELOAD": str(library()), "DONT_FAKE_MONOTONIC": "1", "FAKETIME": offset}


@contextmanager
def _clock(offset_s: int) -> Iterator[None]:
    """Start processes inside under another clock."""
    fake = _fake(f"{offset_s:+d}")
    os.environ.update(fake)
    try:
        yield
    finally:
        for name in fake:
            del os.environ[name]


class JumpingServer:
    """A program that runs the server under a clock which a file says."""

    def __init__(self, directory: Path, binary: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._offset = directory / "offset"
        self.jump(0)
        fake = _fake("") | {
            "FAKETIME_TIMESTAMP_FILE": str(self._offset),
            "FAKETIME_CACHE_DURATION": "1",
        }
        del fake["FAKETIME"]
        words = " ".join(f"{name}={shlex.quote(value)}" for name, value in fake.items())
        self.program = directory / "server"
        self.program.write_text(f'#!/bin/sh\nexec env {words} {binary} "$@"\n')
        self.program.chmod(0o700)

    def jump(self, offset_s: int) -> None:
        """Move its clock to so far from the right time."""
        new = self._offset.with_suffix(".new")
        new.write_text(f"{offset_s:+d}\n")
        new.rename(self._offset)


def _run(trial: Trial) -> Result:
    if library() is None:
        return NOT_RUN
    jobs, delayed = (300, 20) if trial.quick else (1500, 100)
    jumps = trial.random.choice([(_HOUR_S, 0), (-_HOUR_S, 0), (_HOUR_S, -_HOUR_S, _HOUR_S)])
    said: list[str] = []
    late_s: list[float] = []
    server = JumpingServer(trial.directory, find_server_binary())
    with Rig(trial.directory, binary=server.program) as rig, admin(rig) as client:
        for offset_s in (-_OFF_S, _OFF_S):
            with _clock(offset_s):
                rig.consumer()
        with _clock(_OFF_S):
            producer = rig.producer(jobs=jobs, ms=20, batch=10, pause_s=0.05)
        rig.until(lambda: rig.count("done") > jobs / 20, "some jobs done")
        for n, jump_s in enumerate(jumps):
            before = enqueue(rig, "chaos_work", _jobs(f"before-{n}", delayed), delay_s=_DELAY_S)
            jump(rig, client, server, jump_s)
            enqueue(rig, "chaos_work", _jobs(f"after-{n}", delayed), delay_s=_DELAY_S)
            assert before == delayed
            rig.until(lambda n=n: _began(rig, f"after-{n}-") == delayed, "delayed jobs begin")  # type: ignore[misc]
            late_s.append(_latest(rig, f"after-{n}-"))
            if late_s[-1] > _DELAY_S + _LATE_S:
                said.append(f"a job delayed after the jump began {late_s[-1]:.1f} s after its time")
            settle(rig)
        producer.ends()
        server.jump(2 * _HOUR_S)  # whatever a jump back put off is due by now
        total = jobs + 2 * delayed * len(jumps)
        rig.drained(total)
        return Result(
            verdict=rig.verdict().also(said),
            sums={"jumps": len(jumps)},
            peaks={"delay of 2 s after a jump, s,": max(late_s)},
        )


def jump(rig: Rig, client: redis.Redis, server: JumpingServer, offset_s: int) -> None:
    """Move the server's clock, and wait for it to be so. What consumers run may run again."""

    def off_s() -> float:
        seconds, _ = client.time()
        return float(seconds) - _now_s()

    rig.strikes += [_strike(process.pid) for process in rig.consumers]
    server.jump(offset_s)
    rig.until(lambda: abs(off_s() - offset_s) < 5, f"a clock off by {offset_s} s")


def settle(rig: Rig) -> None:
    """Wait for an owner after a jump, and replace the consumers that lost their lease by it."""
    pause(LEASE_S)
    rig.until(rig.owners, "an owner")
    for process in [p for p in rig.consumers if not p.is_running()]:
        rig.consumers.remove(process)
        rig.consumer()


def _strike(pid: int) -> Strike:
    now_ns = monotonic_ns()
    return Strike(pid=pid, at_ns=now_ns, lease_s=_HEARS_S, over_ns=now_ns)  # it may continue


def _now_s() -> float:
    return time()


def _jobs(prefix: str, count: int) -> list[Job]:
    return [Job({}, partition_key=f"d-{n % 3}", job_id=f"{prefix}-{n}") for n in range(count)]


def _began(rig: Rig, prefix: str) -> int:
    return len({run.job_id for run in rig.events().runs if run.job_id.startswith(prefix)})


def _latest(rig: Rig, prefix: str) -> float:
    events = rig.events()
    return max(
        (run.began_ns - events.accepted[run.job_id]) / 1e9
        for run in events.runs
        if run.job_id.startswith(prefix)
    )


FAULTS = [
    Fault(
        number="F9",
        name="clocks: the server's +-1 h, consumers' and producers' +-10 min",
        expected="nothing lost or stuck; delays off by the jump at most once",
        procedure=_run,
        runs=6,
        quick=False,
    )
]
