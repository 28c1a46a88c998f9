"""Real consumer processes, and what their jobs noted (see tests/apps/recorded.py)."""

import os
import re
import signal
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import redis

from queuepool.errors import UnavailableError
from queuepool.models import PartitionState
from queuepool.partitions.partition import Partition
from queuepool.verbs.leader import verbs as lead
from tests import forked
from tests.chaos.checker import Run
from tests.chaos.events import read_events
from tests.paths import ROOT
from tests.waiting import wait_until


class ConsumerProcess:
    """`python -m consumer` over one keyspace; its output goes to a file."""

    def __init__(
        self,
        url: str,
        stage: str,
        directory: Path,
        *,
        environment: Mapping[str, str] | None = None,
        **settings: object,
    ) -> None:
        partitions = settings.pop("partitions", 1)
        values = {"app": "tests.apps.recorded", "partition": "0", "lease_s": 2, **settings}
        env = {k: v for k, v in os.environ.items() if not k.startswith(("QUEUEPOOL_", "CONSUMER_"))}
        env |= {f"CONSUMER_{name.upper()}": str(value) for name, value in values.items()}
        env |= {
            "QUEUEPOOL_URL": url,
            "QUEUEPOOL_STAGE": stage,
            "QUEUEPOOL_PARTITIONS": str(partitions),
            "PYTHONPATH": str(ROOT),
            "TEST_RECORDS": str(directory),
        }
        env |= environment or {}
        self._log = directory / f"log-{len(list(directory.glob('log-*')))}"
        with self._log.open("w") as log:
            self.popen = forked.start("consumer", env, (log, log))
        self.pid = self.popen.pid

    @property
    def log(self) -> str:
        return self._log.read_text()

    def is_running(self) -> bool:
        return self.popen.poll() is None

    def says(self, text: str, timeout_s: float = 60.0) -> None:
        """Wait until its log holds a text."""
        try:
            wait_until(lambda: text in self.log, timeout_s, f"{text!r} in the log of {self.pid}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log}") from None

    def owns(self, partition: Partition, timeout_s: float = 60.0) -> None:
        """Wait until it owns a partition."""
        wait_until(
            lambda: self.pid in owners(partition), timeout_s, f"{self.pid} owns:\n{self.log}"
        )

    def signal(self, number: int) -> None:
        self.popen.send_signal(number)

    def ends(self, timeout_s: float = 60.0) -> int:
        """Wait for its end; returns the exit code."""
        return self.popen.wait(timeout_s)

    def stop(self) -> int:
        self.signal(signal.SIGTERM)
        return self.ends()

    def kill(self) -> None:
        """End it at once, stopped or not. Idempotent."""
        if self.is_running():
            self.popen.kill()
        self.popen.wait(60)

    @property
    def port(self) -> int:
        """The port of its HTTP endpoint."""
        return int(self._address().rpartition(":")[2])

    def _address(self) -> str:
        found: list[str] = []

        def says() -> bool:  # a whole line
            found[:] = re.findall(r"metrics and health on (http:[\w/.:]+)[\s,\"]", self.log)
            return bool(found)

        wait_until(says, message=f"its address:\n{self.log}")
        return found[0]

    def get(self, path: str, timeout_s: float = 30.0) -> tuple[int, str]:
        """Return (status, text) of its HTTP endpoint."""
        try:
            with urllib.request.urlopen(self._address() + path, timeout=timeout_s) as answer:
                return int(answer.status), str(answer.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()


class Records:
    """What the jobs of all processes noted so far."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def runs(self) -> list[Run]:
        """Return all executions in the order in which they began."""
        return list(read_events(self._directory).runs)

    def begun(self) -> Counter[str]:
        """Count how often each job began."""
        return Counter(run.job_id for run in self.runs())

    def ended(self) -> int:
        """Count the executions that ended."""
        return sum(run.ended_ns is not None for run in self.runs())

    def peak(self, since_ns: int = 0) -> int:
        """Return how many executions ran at once at most, of those begun after a moment."""
        moments = []
        for run in self.runs():
            if run.began_ns >= since_ns:
                moments.append((run.began_ns, 1))
                if run.ended_ns is not None:
                    moments.append((run.ended_ns, -1))
        running = most = 0
        for _, change in sorted(moments):
            running += change
            most = max(most, running)
        return most


def owners(partition: Partition) -> list[int]:
    """Return the pid of the owner, in a list that is empty when there is none."""
    owner = observe(partition).owner
    return [int(owner.host.rpartition(":")[2])] if owner else []


def has_lifeline(partition: Partition) -> bool:
    """Return whether the owner has told which connection it sleeps on."""
    client: Any = redis.Redis(connection_pool=partition.server._pool)  # type: ignore[attr-defined]
    return bool(client.hget(partition.key + b":o", "line"))


def observe(partition: Partition) -> PartitionState:
    """Observe, again when the connection was killed or the server slow: reading is harmless."""
    for _ in range(9):
        with suppress(UnavailableError):
            return partition.observe()
    return partition.observe()


def done(partition: Partition) -> int:
    return observe(partition).counters.get("done", 0)


def drained(partition: Partition, jobs: int, timeout_s: float = 90.0) -> PartitionState:
    """Wait until so many jobs are done and nothing is left; returns the state."""

    def is_so() -> bool:
        state = observe(partition)
        return state.counters.get("done", 0) >= jobs and state.jobs == state.dead

    wait_until(is_so, timeout_s, f"{jobs} done", interval_s=0.02)
    return observe(partition)


def scale(partition: Partition, target: int, leader: int) -> str:
    """Command a worker count; returns the command's id."""
    verb = lead.command(
        leader,
        1,
        type="SCALE_UP",
        partition=partition.number,
        target_workers=target,
        reason="test",
        expires_ms=60_000,
    )
    accepted, command_id = partition.run(verb)
    assert accepted
    return command_id
