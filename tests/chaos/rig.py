"""A small world of real processes that a fault can strike: one server, and what talks to it.

    Rig --starts--> server, consumers, coordinators, producers, proxies; all end with it
        --strike--> a signal to a consumer, noted for the checker
        --verdict-> events of all processes joined with the final books

Every process appends its events to a file of its own in `directory`. A rig belongs to one thread,
the main one: so its server ends with this process, whatever happens.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import monotonic_ns
from typing import Any, Self

import redis

from queuepool.client.pool import QueuePool
from queuepool.models import JobState, PartitionState
from queuepool.partitions.partition import Partition
from queuepool.process.embedded import EmbeddedServer, find_server_binary
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import Topology, build
from queuepool.settings.config import PoolConfig
from queuepool.tasks.job import Job
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.chaos import registry
from tests.chaos.checker import Books, Events, Strike, Verdict, check
from tests.chaos.events import read_events
from tests.chaos.proxy import Proxy
from tests.integration.consumer.processes import ConsumerProcess, observe
from tests.integration.coordinator.cluster import BRIEF
from tests.integration.coordinator.cluster import Process as CoordinatorProcess
from tests.paths import ROOT
from tests.waiting import wait_until

STAGE = "chaos"
LEASE_S = registry.LEASE_S
_BATCH = 200


def engine(number: int) -> Path:
    """Return a server program: the bundled one and Debian's in turn, where both are there."""
    debian = shutil.which("redis-server")
    return Path(debian) if debian and number % 2 else find_server_binary()


def pause(seconds: float) -> None:
    """Let time pass, where time is the fault itself."""
    threading.Event().wait(seconds)


class Producer:
    """A process that enqueues; see its module for the options."""

    def __init__(
        self, env: dict[str, str], log: Path, module: str, options: dict[str, object]
    ) -> None:
        self._log = log
        with log.open("w") as out:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", module, json.dumps(options)],
                env=env, cwd=ROOT, stdout=out, stderr=out,
            )  # fmt: skip

    def ends(self, timeout_s: float = 90.0) -> None:
        """Wait until every job was acknowledged."""
        code = self.popen.wait(timeout_s)
        assert code == 0, f"the producer ended with {code}:\n{self._log.read_text()}"

    def kill(self) -> None:
        """End it at once. Idempotent."""
        self.popen.kill()
        self.popen.wait(60)


class Rig:
    """One server and its processes; use it as a context manager.

    directory: where everything is kept, made when it is missing. extra_args: further options of
    the server, such as ("--appendfsync", "always"). The server keeps its data over a kill.
    """

    def __init__(
        self,
        directory: Path,
        *,
        partitions: int = 1,
        binary: Path | None = None,
        extra_args: Sequence[str] = (),
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory, self.partitions = directory, partitions
        self.server = EmbeddedServer(directory / "data", extra_args=extra_args, binary=binary)
        self.consumers: list[ConsumerProcess] = []
        self.producers: list[Producer] = []
        self.strikes: list[Strike] = []
        self.environment: Mapping[str, str] = {}  # of processes that start from now on
        self._ending = ExitStack()

    def __enter__(self) -> Self:
        try:
            self._ending.enter_context(self.server)
            config = PoolConfig(
                topology=self.topology(),
                keyspace=Keyspace(STAGE),
                timeout_s=10.0,
                retry_for_s=20.0,
            )
            self.pool = self._ending.enter_context(QueuePool(config=config))
        except BaseException:
            self._ending.close()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        self._ending.close()

    def topology(self) -> Topology:
        """Return where partitions are at first."""
        return build({"main": self.server.url}, self.partitions, "")

    def places(self) -> Sequence[Partition]:
        """Return all partitions that may have jobs, or had some."""
        return self.pool.partitions()

    # -- processes -------------------------------------------------------------------------------

    def consumer(self, *, url: str | None = None, **settings: Any) -> ConsumerProcess:
        """Start a consumer; settings are those of CONSUMER_*, by their names."""
        values = {"app": "tests.chaos.app", "partition": "auto", "lease_s": LEASE_S, **settings}
        values["partitions"] = self.partitions
        process = ConsumerProcess(
            url or self.server.url, STAGE, self.directory, environment=self.environment, **values
        )
        self._ending.callback(process.kill)
        self.consumers.append(process)
        return process

    def standby(self, **settings: Any) -> None:
        """Return when a consumer stands by; start one if all that run own a partition."""
        if sum(process.is_running() for process in self.consumers) <= self.partitions:
            self.consumer(**settings)

        def is_so() -> bool:
            pids = set(self.owners().values())
            spare = [p for p in self.consumers if p.is_running() and p.pid not in pids]
            return bool(spare) and all("standing by" in process.log for process in spare)

        self.until(is_so, "a standby")

    def coordinator(self, *, url: str | None = None, **settings: Any) -> CoordinatorProcess:
        """Start a coordinator; settings are those of COORDINATOR_*. Returns when it is ready."""
        settings = {**BRIEF, **settings, "partitions": self.partitions}
        process = CoordinatorProcess(
            url or self.server.url, STAGE, environment=self.environment, **settings
        )
        self._ending.callback(process.kill)
        return process

    def batcher(self, **options: object) -> Producer:
        """Start a producer of batches; see tests/chaos/batcher.py for the options."""
        return self._produce(self.server.url, "tests.chaos.batcher", options)

    def producer(self, *, url: str | None = None, **options: object) -> Producer:
        """Start a producer; see tests/chaos/producer.py for the options."""
        options = {"prefix": "job", **options}
        return self._produce(url or self.server.url, "tests.chaos.producer", options)

    def _produce(self, url: str, module: str, options: dict[str, object]) -> Producer:
        env = {k: v for k, v in os.environ.items() if not k.startswith("QUEUEPOOL_")}
        env |= {
            "QUEUEPOOL_URL": url,
            "QUEUEPOOL_STAGE": STAGE,
            "QUEUEPOOL_PARTITIONS": str(self.partitions),
            "QUEUEPOOL_TIMEOUT_S": "1",
            "TEST_RECORDS": str(self.directory),
            **self.environment,
        }
        log = self.directory / f"producer-{len(self.producers)}"
        process = Producer(env, log, module, options)
        self._ending.callback(process.kill)
        self.producers.append(process)
        return process

    def enqueue(self, prefix: str, jobs: int, ms: float, group: str = "group") -> None:
        """Enqueue jobs from here, where the start of a process would take too long; note them."""
        items = [Job({"ms": ms}, job_id=f"{prefix}-{n}") for n in range(jobs)]
        results = self.pool.enqueue_many("chaos_work", items, partition_key=group)
        assert results.accepted == jobs, results
        with (self.directory / f"records-{os.getpid()}").open("a") as file:
            file.writelines(f"accept {r.job_id} 0 {monotonic_ns()}\n" for r in results)

    def proxy(self) -> Proxy:
        """Start a proxy in front of the server; give `proxy.url` to a process."""
        return self._ending.enter_context(Proxy(self.server.port))

    # -- watching --------------------------------------------------------------------------------

    def events(self) -> Events:
        """Return what all processes noted so far."""
        return read_events(self.directory)

    def first_begin(self, since_ns: int, pid: int | None = None, timeout_s: float = 60.0) -> float:
        """Wait for the first execution that begins after a moment; return how many s after it."""

        def found() -> list[int]:
            runs = self.events().runs
            return [r.began_ns for r in runs if r.began_ns > since_ns and pid in (None, r.pid)]

        self.until(found, "an execution", timeout_s)
        return (min(found()) - since_ns) / 1e9

    def observe(self) -> list[PartitionState]:
        """Return the state of every partition."""
        return [observe(place) for place in self.places()]

    def count(self, counter: str) -> int:
        """Return a counter, summed over the partitions."""
        return sum(state.counters.get(counter, 0) for state in self.observe())

    def owners(self) -> dict[int, int]:
        """Return partition -> pid of its owner, those without one left out."""
        states = self.observe()
        return {s.partition: int(s.owner.host.rpartition(":")[2]) for s in states if s.owner}

    def owner(self, partition: int = 0) -> ConsumerProcess:
        """Wait until one of our consumers owns a partition; return that."""
        known = {process.pid: process for process in self.consumers}
        self.until(lambda: self.owners().get(partition) in known, f"an owner of {partition}")
        return known[self.owners()[partition]]

    def until(self, is_so: Callable[[], object], what: str, timeout_s: float = 60.0) -> None:
        """Wait for something; when it does not come, say what the consumers logged."""
        try:
            wait_until(is_so, timeout_s, what, interval_s=0.02)
        except AssertionError as error:
            tails = "\n".join(f"-- {p.pid}: {p.log[-1500:]}" for p in self.consumers)
            raise AssertionError(f"{error}\n{tails}") from None

    def drained(self, jobs: int, timeout_s: float = 90.0) -> None:
        """Wait until so many jobs are done or dead and nothing else is left."""

        def is_so() -> bool:
            states = self.observe()
            ended = sum(s.counters.get("done", 0) + s.dead for s in states)
            return ended >= jobs and all(s.jobs == s.dead for s in states)

        self.until(is_so, f"{jobs} jobs drained", timeout_s)

    # -- striking --------------------------------------------------------------------------------

    def strike(
        self,
        process: ConsumerProcess,
        number: int | None = None,
        *,
        takeover_s: float | None = LEASE_S + 2,
        lease_s: float | None = None,
    ) -> Strike:
        """Send a signal, if there is one, and note the strike. Returns what was noted."""
        held = self._held(process)
        at_ns = monotonic_ns()
        if number is not None:
            process.signal(number)
        if number == signal.SIGKILL:
            process.ends()
        strike = Strike(
            pid=process.pid,
            at_ns=at_ns,
            book=self._book(held),
            started=self._started(held),
            takeover_s=takeover_s,
            lease_s=lease_s,
        )
        self.strikes.append(strike)
        return strike

    def _held(self, process: ConsumerProcess) -> list[tuple[Partition, int]]:
        """Return the partitions that a process owns, with the epochs of that."""
        owners = [(partition, observe(partition).owner) for partition in self.places()]
        of_process = f":{process.pid}"
        return [(p, o.epoch) for p, o in owners if o is not None and o.host.endswith(of_process)]

    def _book(self, held: Sequence[tuple[Partition, int]]) -> frozenset[str] | None:
        """Return the jobs in flight there; None once a successor may have recovered some."""
        ids: set[bytes] = set()  # also of jobs that it claimed and did not begin
        for partition, epoch in held:
            ownership = own.Ownership(partition.number, "", epoch)
            ids.update(bytes(job_id) for job_id in partition.run(own.in_flight(ownership)))
            owner = observe(partition).owner
            if owner is None or owner.epoch != epoch:
                return None
        return frozenset(job_id.decode() for job_id in ids)

    def _started(self, held: Sequence[tuple[Partition, int]]) -> frozenset[str]:
        """Return the jobs in flight there that were started; see docs/protocol.md on `fl`."""
        ids: set[bytes] = set()
        for url in self.topology().servers.values():
            with redis.Redis.from_url(url) as client:
                for partition, epoch in held:
                    key = partition.key + b":fl:%d" % epoch
                    ids.update(client.zrangebyscore(key, 1e12, "+inf"))
        return frozenset(job_id.decode() for job_id in ids)

    # -- judging ---------------------------------------------------------------------------------

    def books(self, ids: Iterable[str]) -> Books:
        """Return the final state, with the state of each of these ids."""
        counters: Counter[str] = Counter()
        states: dict[str, JobState] = {}
        dead = left = 0
        problems = []
        wanted = sorted(ids)
        for partition in self.places():
            state = observe(partition)
            counters.update(state.counters)
            dead, left = dead + state.dead, left + state.jobs - state.dead
            report = partition.audit()
            if not report.clean:
                problems.append(f"audit of partition {partition.number}: {report}")
            states.update(_states(partition, [i for i in wanted if i not in states]))
        return Books(
            counters=counters, states=states, dead=dead, left=left, problems=tuple(problems)
        )

    def verdict(self, *, lost_allowed: int = 0, more_starts: int = 0) -> Verdict:
        """Judge what happened. Call it when everything should have ended."""
        events = self.events()
        assert events.accepted, "no producer noted anything: nothing was tested"
        return check(
            events,
            self.books(events.accepted),
            self.strikes,
            lost_allowed=lost_allowed,
            more_starts=more_starts,
        )


def _states(partition: Partition, ids: Sequence[str]) -> dict[str, JobState]:
    """Return the states of those ids that a partition knows."""
    known: dict[str, JobState] = {}
    for first in range(0, len(ids), _BATCH):
        some = ids[first : first + _BATCH]
        verbs = [produce.status(i, partition.number, produce.ANY_VERSION) for i in some]
        for verb, reply in zip(verbs, partition.server.run(partition.key, verbs), strict=True):
            status = verb.read(reply)
            if status.state is not JobState.UNKNOWN:
                known[status.job_id] = status.state
    return known
