"""F6c: what each durability saves and costs; writes the table "durability" of docs/reliability.md.

For each durability and each way to lose a primary that has one replica: threads enqueue, the
primary is lost during that, and what was acknowledged and is not there afterwards is lost. Nothing
runs the jobs, so nothing else can take them away.

SIGKILL ends the server's process alone: what it has written to its file is in the kernel's memory
and survives. A crash of the machine is not among the ways.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median
from textwrap import fill
from time import monotonic

import redis

from queuepool import EnqueueStatus, Job, PoolConfig, QueuePool, UnconfirmableError
from queuepool.client.results import EnqueueResults
from queuepool.errors import UnavailableError
from queuepool.models import Durability
from queuepool.process.embedded import EmbeddedServer
from queuepool.routing.topology import single
from tests.chaos.checker import Verdict
from tests.chaos.proxy import Proxy
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import pause
from tests.replicas import PROMPT, replica_arguments, wait_until_replicating
from tools.tables import markdown

FAILOVER = "failover, link cut 300 ms before"
EVERYSEC, ALWAYS, NO_FILE = "SIGKILL, AOF everysec", "SIGKILL, AOF always", "SIGKILL, no AOF"
FSYNC = {EVERYSEC: "everysec", ALWAYS: "always", NO_FILE: ""}
WAYS = (FAILOVER, *FSYNC)
HEADS = ("durability", "primary lost by", "acknowledged", "lost", "singly", "in bulk")
CUT_S, RATE_S, LOAD_S = 0.3, 1.0, 1.5
_BULK, _CALL, _THREADS = 20_000, 200, 2
_INTRODUCTION = (
    "Sums of {runs} runs of each line: {server}, its primary, one replica and all clients on one "
    "machine of {cores} cores. {threads} threads enqueue {jobs} jobs a call when the primary is "
    "lost; nothing runs the jobs. After SIGKILL the primary is started again with what it has on "
    "its disk; a failover promotes the replica, and the file is then synced every second, for "
    "`fsynced` always. *Singly* and *in bulk*: acknowledgements a second before the loss, of one "
    "job a call, and of one call with {bulk:,} jobs; medians.",
    "With `everysec` a server holds new writes back from its file while it syncs: what SIGKILL "
    "meets then is lost, whatever its replicas have, if that server comes back and no replica is "
    "promoted. A crash of the whole machine, from which `fsynced` protects, was not tried.",
)
_KNOWN = (EnqueueStatus.ACCEPTED, EnqueueStatus.DUPLICATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """One primary lost. singly, bulk: acknowledgements a second before that; None: refused."""

    durability: Durability
    way: str
    acknowledged: int = 0
    lost: int = 0
    singly: float | None = None
    bulk: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured(Result):
    """A result that also holds what the table shows. server: what was measured."""

    losses: Sequence[Loss] = ()
    server: str = ""


class Load:
    """Threads that enqueue until they are stopped; `acknowledged` are the ids that were."""

    def __init__(self, pool: QueuePool) -> None:
        self.acknowledged: list[str] = []
        self._pool, self._over, self._numbers = pool, threading.Event(), count()
        self._threads = [threading.Thread(target=self._enqueue) for _ in range(_THREADS)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Return when no thread enqueues any more."""
        self._over.set()
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()

    def _enqueue(self) -> None:
        while not self._over.is_set():
            ids = [f"job-{next(self._numbers)}" for _ in range(_CALL)]
            results: EnqueueResults | None
            try:
                results = self._pool.enqueue_many(
                    "t", [Job({}, job_id=i) for i in ids], partition_key="load"
                )
            except UnavailableError as error:
                results = error.results
            self.acknowledged += [r.job_id for r in results or () if r.status in _KNOWN]


def _lose(durability: Durability, way: str, directory: Path, load_s: float) -> Loss:
    asks_much = durability is Durability.FSYNCED
    fsync = FSYNC.get(way, "always" if asks_much else "everysec")
    arguments = (*PROMPT, *(("--appendfsync", fsync) if fsync else ()))
    with ExitStack() as ending:
        primary = ending.enter_context(
            EmbeddedServer(directory, appendonly=bool(fsync), extra_args=arguments)
        )
        link = ending.enter_context(Proxy(primary.port))
        arguments = replica_arguments(link.port)
        replica = ending.enter_context(EmbeddedServer(extra_args=arguments))
        wait_until_replicating(primary)
        config = PoolConfig(topology=single(primary.url, 1), retry_for_s=0.0, durability=durability)
        pool = ending.enter_context(QueuePool(config=config))
        try:
            rates = {"singly": _singly(pool), "bulk": _bulk(pool)}
        except UnconfirmableError:
            return Loss(durability=durability, way=way)
        load = Load(pool)
        try:
            pause(load_s)
            if way == FAILOVER:
                link.half_open()
                pause(CUT_S)
            primary.kill()
        finally:
            load.stop()
        if way == FAILOVER:
            link.cut()
            survivor = replica
        else:
            primary.start()
            survivor = primary
        there = _there(survivor, config.keyspace.partition(0), load.acknowledged)
    return Loss(
        durability=durability,
        way=way,
        acknowledged=len(load.acknowledged),
        lost=len(load.acknowledged) - there,
        **rates,
    )


def _singly(pool: QueuePool) -> float:
    began_s, n = monotonic(), 0
    while n < 2 or monotonic() - began_s < RATE_S:
        pool.enqueue("t", partition_key="rate")
        n += 1
    return n / (monotonic() - began_s)


def _bulk(pool: QueuePool) -> float:
    began_s = monotonic()
    results = pool.enqueue_many("t", ({} for _ in range(_BULK)), partition_key="rate")
    assert results.accepted == _BULK
    return _BULK / (monotonic() - began_s)


def _there(server: EmbeddedServer, base: bytes, ids: Sequence[str]) -> int:
    with redis.Redis.from_url(server.url) as client:
        chunks = [ids[i : i + 1000] for i in range(0, len(ids), 1000)]
        return sum(body is not None for c in chunks for body in client.hmget(base + b":j", c))


def _run(trial: Trial) -> Measured:
    losses = [
        _lose(durability, way, trial.directory / f"{d}-{w}", LOAD_S * (0.7 + 0.6 * r.random()))
        for r in [trial.random]
        for d, durability in enumerate(Durability)
        for w, way in enumerate(WAYS)
    ]
    with EmbeddedServer() as server, redis.Redis.from_url(server.url) as client:
        known = client.info("server")
    version = f"Valkey {known['valkey_version']}" if "valkey_version" in known else "Redis"
    jobs = sum(loss.acknowledged for loss in losses)
    verdict = Verdict(jobs=jobs, violations=tuple(_wrong(losses)))
    return Measured(verdict=verdict, losses=losses, server=version)


def _wrong(losses: Sequence[Loss]) -> Iterator[str]:
    for loss in losses:
        what = f"{loss.durability}, {loss.way}"
        always = loss.way == ALWAYS
        replicated = loss.durability is Durability.REPLICATED and loss.way == FAILOVER
        refused = loss.durability is Durability.FSYNCED and loss.way in (EVERYSEC, NO_FILE)
        if loss.lost and (always or replicated):
            yield f"{what}: {loss.lost} of {loss.acknowledged} lost"
        if refused != (loss.singly is None):
            yield f"{what}: {'not refused' if refused else 'refused'}"
        if not refused and not loss.acknowledged:
            yield f"{what}: nothing was acknowledged, so nothing was tested"
    fast = [x for x in losses if x.durability is Durability.FAST]
    for way in (FAILOVER, NO_FILE):
        if not any(x.lost for x in fast if x.way == way):
            yield f"fast, {way}: nothing was lost, so the way costs nothing and tests nothing"


def table(results: Sequence[Result]) -> str:
    """Return the text of the table "durability"."""
    measured = [result for result in results if isinstance(result, Measured)]
    found = [loss for result in measured for loss in result.losses]
    rows = [
        (f"`{d}`", way, *_cells([x for x in found if (x.durability, x.way) == (d, way)]))
        for d in Durability
        for way in WAYS
    ]
    values = {
        "runs": len(measured),
        "server": measured[0].server,
        "cores": os.cpu_count(),
        "threads": _THREADS,
        "jobs": _CALL,
        "bulk": _BULK,
    }
    texts = [fill(text.format_map(values), 120) for text in _INTRODUCTION]
    return "\n\n".join([*texts, markdown(HEADS, rows)])


def _cells(found: Sequence[Loss]) -> tuple[str, ...]:
    singly = [x.singly for x in found if x.singly is not None]
    bulk = [x.bulk for x in found if x.bulk is not None]
    if not singly or not bulk:
        return ("refused", "", "", "")
    counts = sum(x.acknowledged for x in found), sum(x.lost for x in found)
    return tuple(f"{number:,.0f}" for number in (*counts, median(singly), median(bulk)))


FAULTS = [
    Fault(
        number="F6c",
        name="a lost primary, by durability",
        expected="see the table of durability",
        procedure=_run,
        runs=3,
        quick=False,
        tables={"durability": table},
    )
]
