"""Extras: what operators and bad days do to a server that works, again and again, under load.

No one may lose a partition over it, and nothing may run twice.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace

import pytest
import redis

from tests.chaos.actions import admin
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import LEASE_S, Rig, engine, pause

_PARTITIONS = 2

Blow = Callable[[Rig, redis.Redis], None]


def _with(
    blow: Blow, name: str, times: int, every_s: float, *, arguments: tuple[str, ...] = ()
) -> Callable[[Trial], Result]:
    """Return a procedure that strikes the server so often while jobs run."""

    def run(trial: Trial) -> Result:
        blows = max(2, times // 5) if trial.quick else times
        jobs = int(max(200, 60 * blows * every_s))
        said: list[str] = []
        where = {"binary": engine(trial.number), "partitions": _PARTITIONS}
        with Rig(trial.directory, extra_args=arguments, **where) as rig:  # type: ignore[arg-type]
            for _ in range(_PARTITIONS + 1):
                rig.consumer()
            rig.until(lambda: len(rig.owners()) == _PARTITIONS, "owners")
            owners = rig.owners()
            # Twice as long as the blows take, as far as the producer goes.
            producer = rig.producer(jobs=jobs, ms=20, batch=10, pause_s=20 * blows * every_s / jobs)
            rig.until(lambda: rig.count("done") > jobs / 20, "some jobs done")
            with admin(rig) as server:
                for _ in range(blows):
                    blow(rig, server)
                    pause(every_s * trial.random.uniform(0.5, 1.5))
            if producer.popen.poll() is not None:
                said.append("the producer had ended before the last blow")
            producer.ends()
            rig.drained(jobs)
            if rig.owners() != owners:
                said.append(f"owners changed from {owners} to {rig.owners()}")
            ended = [p for p in rig.consumers if not p.is_running()]
            said += [f"consumer {p.pid} ended:\n{p.log[-600:]}" for p in ended]
            return Result(verdict=rig.verdict().also(said), sums={name: blows})

    return run


def _flush(_rig: Rig, server: redis.Redis) -> None:
    server.script_flush()


def _kill_clients(_rig: Rig, server: redis.Redis) -> None:
    server.client_kill_filter(_type="normal", skipme=True)


def _stop_for(seconds: float) -> Blow:
    def stop(rig: Rig, _server: redis.Redis) -> None:
        pid = rig.server.pid
        os.kill(pid, signal.SIGSTOP)
        pause(seconds)
        os.kill(pid, signal.SIGCONT)

    return stop


def _rewrite(rig: Rig, server: redis.Redis) -> None:
    server.bgrewriteaof()
    rig.until(lambda: not server.info("persistence")["aof_rewrite_in_progress"], "rewritten")
    assert server.info("persistence")["aof_last_bgrewrite_status"] == "ok"


def _misconf(rig: Rig, server: redis.Redis) -> None:
    """Have a snapshot fail, so that every write is refused; fix it after half a lease."""
    home, gone = str(server.config_get("dir")["dir"]), rig.directory / "gone"
    gone.mkdir()
    server.config_set("dir", str(gone))
    shutil.rmtree(gone)
    server.config_set("save", "3600 1000000")
    server.bgsave()
    rig.until(lambda: server.info("persistence")["rdb_last_bgsave_status"] == "err", "it fails")
    with pytest.raises(redis.ResponseError, match="MISCONF"):
        server.set("probe", 1)
    pause(2 * LEASE_S)
    server.config_set("dir", home)
    server.config_set("save", "")


_BASE = Fault(
    number="X",
    name="",
    expected="0 lost; no takeover; no duplicate",
    procedure=_with(_flush, "flushes", 100, 0.05),
    runs=3,
    quick=False,
)
FAULTS = [
    replace(_BASE, number="X1", name="SCRIPT FLUSH in flight"),
    replace(
        _BASE,
        number="X2",
        name="CLIENT KILL of every connection",
        procedure=_with(_kill_clients, "kills of all", 40, 0.2),
    ),
    replace(
        _BASE,
        number="X3",
        name="server stopped for half a lease",
        procedure=_with(_stop_for(LEASE_S / 2), "stops", 6, 1.0),
    ),
    replace(
        _BASE,
        number="X4",
        name="server stopped for two leases",
        procedure=_with(_stop_for(2 * LEASE_S), "stops", 3, 3.0),
    ),
    replace(
        _BASE,
        number="X5",
        name="BGREWRITEAOF under load",
        procedure=_with(_rewrite, "rewrites", 15, 0.3),
    ),
    replace(
        _BASE,
        number="X6",
        name="MISCONF: snapshots fail, all writes refused for 2 leases",
        procedure=_with(_misconf, "times", 2, 2.0, arguments=("--enable-protected-configs", "yes")),
    ),
]
