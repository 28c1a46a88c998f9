"""F6: the link to the replica is cut, 300 ms later the primary is killed, the replica is promoted.

    producers, consumers --> Front --> primary ==link (Proxy)==> replica
                               +-----> replica, once it is promoted

Clients know one address, that of the Front: a proxy that leads to another server after the
failover, as a virtual address or a load balancer does. The cut swallows what is sent, so no one is
told of it. A new replica joins the promoted one, without which `replicated` would wait forever.

What was acknowledged after the cut is the lag window: `fast` loses the part of it that had not run,
`replicated` has acknowledged none of it. What ran in the window may run again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from time import monotonic_ns
from typing import Any

import redis

from queuepool.client.pool import QueuePool
from queuepool.process.embedded import EmbeddedServer
from queuepool.routing.topology import build
from tests.chaos.checker import check
from tests.chaos.proxy import Proxy
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import STAGE, Producer, Rig, engine, pause
from tests.replicas import PROMPT, replica_arguments, wait_until_replicating

CUT_S = 0.3
_LAG_NS = 500_000_000  # how far a replica may be behind without a cut, on a busy machine
_PRODUCERS = 2


class Front(Proxy):
    """The address that clients know."""

    def leads_to(self, port: int) -> None:
        """Send new connections to another server, and end those that are open."""
        self._server_port = port
        self.reset()


class Failover:
    """A primary (that of the rig), its replica behind a link, and what leads clients to either."""

    def __init__(self, rig: Rig, binary: Path) -> None:
        enter = rig._ending.enter_context
        self._rig, self._binary = rig, binary
        self.front = enter(Front(rig.server.port))
        self.link = enter(Proxy(rig.server.port))
        self.replica = self._server("replica", self.link.port)
        wait_until_replicating(rig.server)
        topology = build({"main": self.front.url}, rig.partitions, "")
        rig.pool.close()
        rig.pool = enter(QueuePool(config=replace(rig.pool.config, topology=topology)))

    def _server(self, name: str, primary_port: int) -> EmbeddedServer:
        return self._rig._ending.enter_context(
            EmbeddedServer(
                self._rig.directory / name,
                binary=self._binary,
                extra_args=replica_arguments(primary_port),
            )
        )

    def strike(self) -> tuple[int, int, int]:
        """Cut, kill, promote; returns (ns of the cut, ns of the kill, bytes that were behind)."""
        with (
            redis.Redis.from_url(self._rig.server.url) as primary,
            redis.Redis.from_url(self.replica.url) as replica,
        ):
            self.link.half_open()
            cut_ns = monotonic_ns()
            pause(CUT_S)
            written = primary.info("replication")["master_repl_offset"]
            self._rig.server.kill()
            killed_ns = monotonic_ns()
            self.link.cut()
            behind = written - replica.info("replication")["slave_repl_offset"]
            replica.replicaof("NO", "ONE")
        self.front.leads_to(self.replica.port)
        return cut_ns, killed_ns, behind

    def heal(self) -> None:
        """Give the promoted server a replica of its own."""
        self._server("new-replica", self.replica.port)
        wait_until_replicating(self.replica)


def producer(rig: Rig, url: str, durability: str, **options: object) -> Producer:
    """Start a producer with a durability."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("QUEUEPOOL_")}
    env |= {
        "QUEUEPOOL_URL": url,
        "QUEUEPOOL_STAGE": STAGE,
        "QUEUEPOOL_PARTITIONS": str(rig.partitions),
        "QUEUEPOOL_TIMEOUT_S": "1",
        "QUEUEPOOL_DURABILITY": durability,
        "TEST_RECORDS": str(rig.directory),
    }
    log = rig.directory / f"producer-{len(rig.producers)}"
    process = Producer(env, log, "tests.chaos.producer", options)
    rig._ending.callback(process.kill)
    rig.producers.append(process)
    return process


def _run(trial: Trial, durability: str) -> Result:
    jobs = 2_000 if trial.quick else 8_000
    binary = engine(trial.number)
    with Rig(trial.directory, binary=binary, extra_args=PROMPT) as rig:
        failover = Failover(rig, binary)
        front = failover.front.url
        rig.consumer(url=front, workers=8)
        rig.owner()
        producers = [
            producer(rig, front, durability, prefix=f"p{n}", jobs=jobs, ms=5, pause_s=0.02)
            for n in range(_PRODUCERS)
        ]
        wanted = int(jobs * (0.1 + 0.2 * trial.random.random()))
        rig.until(lambda: rig.count("enqueued") > wanted and rig.count("done") > 50, "load")

        cut_ns, killed_ns, behind = failover.strike()
        rig.first_begin(killed_ns)
        failover.heal()
        for process in producers:
            process.ends()
        rig.until(lambda: all(s.jobs == 0 for s in rig.observe()), "an empty queue", 120.0)
        return _judge(rig, durability, cut_ns, killed_ns, behind)


def _judge(rig: Rig, durability: str, cut_ns: int, killed_ns: int, behind: int) -> Result:
    events = rig.events()
    from_ns = cut_ns - _LAG_NS
    # An acknowledgement is noted by the producer, after it was sent.
    until_ns = killed_ns + _LAG_NS
    window = {i for i, ns in events.accepted.items() if from_ns <= ns <= until_ns}
    touched = [
        run
        for run in events.runs
        if run.began_ns <= until_ns and (run.ended_ns is None or run.ended_ns >= from_ns)
    ]
    verdict = check(
        events,
        rig.books(events.accepted),
        lost_allowed=len(window) if durability == "fast" else 0,
        more_starts=len({run.job_id for run in touched}),
    )
    said = [] if behind > 0 else ["the replica was not behind when the primary was killed"]
    if durability == "fast" and not verdict.lost:
        said.append("nothing was lost: the cut cost nothing, so nothing was tested")
    early = set(verdict.lost) - window
    if early:
        said.append(f"lost: {len(early)} jobs were acknowledged before the link was cut")
    begins = [run.began_ns for run in events.runs if run.began_ns >= killed_ns]
    still_s = max(b - a for a, b in pairwise([killed_ns, *begins[:500]])) / 1e9
    acknowledged = sum(cut_ns <= ns <= killed_ns for ns in events.accepted.values())
    return Result(
        verdict=verdict.also(said),
        sums={"acknowledged in the cut": acknowledged},
        peaks={"s without a start": still_s, "kB behind": behind / 1024},
    )


def _fault(number: str, durability: str, expected: str) -> Fault:
    procedure: Callable[[Trial], Any] = partial(_run, durability=durability)
    return Fault(
        number=number,
        name=f"failover 300 ms after a cut link, `{durability}`",
        expected=expected,
        procedure=procedure,
        runs=5,
    )


FAULTS = [
    _fault("F6a", "fast", "lost only what was acknowledged in the lag window; audit clean"),
    _fault("F6b", "replicated", "0 lost; audit clean"),
]
