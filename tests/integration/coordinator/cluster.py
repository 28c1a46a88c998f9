"""Fake owners and real coordinator processes for the tests of this folder."""

import os
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any

from queuepool.client.pool import QueuePool
from queuepool.models import Command
from queuepool.partitions.partition import OwnedPartition, Partition
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.owner import verbs as own
from tests import forked
from tests.paths import ROOT
from tests.waiting import wait_until

# A policy that leaves idle workers alone for a while: these tests are about who decides. Whoever
# leads keeps the lead while it or its server stands still.
FAST = {"cycle_s": 0.1, "lease_s": 60.0, "request_timeout_s": 20.0, "policy": "pwqd"}
# For tests in which a leader loses its lead.
BRIEF: dict[str, Any] = {"lease_s": 1.0, "request_timeout_s": 0.3}
LEASE_MS = 60_000


class FakeOwner:
    """Owns a partition and reports what a test says; obeys only when told to."""

    def __init__(self, partition: Partition, *, workers: int = 8) -> None:
        acquired = partition.acquire(lease_s=60.0, host="fake:1")
        assert isinstance(acquired, OwnedPartition)
        self.owned, self.workers, self.busy = acquired, workers, 0
        self.applied, self._beat = acquired.acquired.applied, 0
        self.heard: list[Command] = []
        self.renew()

    def renew(self, *, lease_ms: int = LEASE_MS) -> list[Command]:
        """Report and hear; returns the new commands, none of which is obeyed yet."""
        self._beat += 1
        renewal = self.owned.run(
            own.renew(
                self.owned.ownership,
                lease_ms=lease_ms,
                beat=self._beat,
                workers=self.workers,
                busy=self.busy,
                target=self.workers,
                applied=self.applied,
            )
        )
        self.heard += renewal.commands
        if renewal.commands:
            self.applied = renewal.commands[-1].id
        return list(renewal.commands)

    def obey(self) -> None:
        """Renew, apply the newest scale command, and report that."""
        scales = [c for c in self.renew() if c.type != "NOOP"]
        if scales:
            self.workers = scales[-1].target_workers
            self.renew()

    def scales(self) -> list[Command]:
        return [command for command in self.heard if command.type != "NOOP"]


class Process:
    """A coordinator process."""

    def __init__(
        self,
        url: str,
        stage: str,
        *,
        environment: Mapping[str, str] | None = None,
        **settings: object,
    ) -> None:
        partitions = settings.pop("partitions", 2)
        merged = {**FAST, "grpc_port": 0, "metrics_port": 0, **settings}
        env = {k: v for k, v in os.environ.items() if not k.startswith(("QUEUEPOOL_", "COORDI"))}
        env |= {f"COORDINATOR_{name.upper()}": str(value) for name, value in merged.items()}
        env |= {
            "QUEUEPOOL_URL": url,
            "QUEUEPOOL_STAGE": stage,
            "QUEUEPOOL_PARTITIONS": str(partitions),
            "PYTHONPATH": str(ROOT),
        }
        env |= environment or {}
        self.popen = forked.start("coordinator", env)
        self.log: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self.popen.stdout is not None
        line = self.popen.stdout.readline()
        assert line.startswith("ready "), f"{line!r}, then: {self.log}"
        self.grpc, self.metrics = (part.split("=", 1)[1] for part in line.split()[1:3])

    def _read(self) -> None:
        assert self.popen.stderr is not None
        for line in self.popen.stderr:
            self.log.append(line)

    def stop(self) -> int:
        """Ask it to stop; returns the exit code. Its log is complete then."""
        self.popen.send_signal(signal.SIGTERM)
        code = self.popen.wait(60)
        self._reader.join(30)
        return code

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait(60)
        self._reader.join(30)
        for stream in (self.popen.stdout, self.popen.stderr):
            if stream is not None:
                stream.close()


def look(pool: QueuePool) -> Any:
    """Return who leads."""
    server, key = pool.system
    verb = lead.who_leads()
    return verb.read(server.run(key, [verb])[0])


def obey_until(owner: FakeOwner, done: Callable[[], object], timeout_s: float = 30.0) -> None:
    """Keep the owner obeying until something is so."""

    def step() -> object:
        owner.obey()
        return done()

    wait_until(step, timeout_s, interval_s=0.05)
