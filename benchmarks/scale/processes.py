"""Processes of the product, seen from outside: memory, CPU time, metrics."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Seen:
    """A process that runs. log: the file of its output."""

    pid: int
    log: Path

    def text(self) -> str:
        return self.log.read_text()

    def says(self, pattern: str, timeout_s: float = 120.0) -> re.Match[str]:
        """Wait until its log holds this."""
        until = monotonic() + timeout_s
        while (found := re.search(pattern, self.text())) is None:
            assert monotonic() < until, f"{pattern} is not in:\n{self.text()}"
            sleep(0.01)
        return found

    def private_mb(self) -> float:
        """Return the memory that it shares with nobody."""
        rollup = Path(f"/proc/{self.pid}/smaps_rollup").read_text()
        return sum(int(kb) for kb in re.findall(r"Private_\w+: +(\d+) kB", rollup)) / 1024

    def cpu_s(self) -> float:
        """Return the CPU seconds that it has used."""
        return sum(self._ticks()[:2]) / _TICKS

    def cpu_with_ended_s(self) -> float:
        """Return the CPU seconds that it has used, and those of its children that have ended."""
        return sum(self._ticks()) / _TICKS

    def _ticks(self) -> list[int]:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return [int(field) for field in fields[11:15]]


@contextmanager
def running(*words: str, **environment: str) -> Iterator[Seen]:
    """Run `python -m WORDS` until the end of the block."""
    with tempfile.NamedTemporaryFile() as file:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("QUEUEPOOL_")}
        process = subprocess.Popen(
            [sys.executable, "-m", *words], env=clean | environment, stdout=file, stderr=file
        )
        try:
            yield Seen(process.pid, Path(file.name))
        finally:
            process.terminate()
            process.wait()


@contextmanager
def coordinating(url: str, partitions: int) -> Iterator[tuple[Seen, str]]:
    """Run a coordinator of so many partitions on a server; yield it, and where its metrics are."""
    told = {
        "QUEUEPOOL_URL": url,
        "QUEUEPOOL_PARTITIONS": str(partitions),
        "COORDINATOR_GRPC_PORT": "0",
    }
    with running("coordinator", **told) as seen:
        yield seen, seen.says(r"metrics=(http\S+)")[1]


def fetched(url: str) -> str:
    """Return a page."""
    with urllib.request.urlopen(url) as reply:  # noqa: S310 - of a process of ours
        return str(reply.read().decode())


def cycles(url: str) -> tuple[float, float]:
    """Return how many cycles a coordinator has had, by its metrics, and the seconds they took."""
    lines = fetched(url).splitlines()
    name = "queuepool_coordinator_cycle_seconds_"
    found = dict(line.removeprefix(name).split() for line in lines if line.startswith(name + "s"))
    count = dict(line.removeprefix(name).split() for line in lines if line.startswith(name + "co"))
    return float(count.get("count", 0)), float(found.get("sum", 0))


def lost_decisions(log: str) -> int:
    """Return how many decisions a coordinator could not store, by its log."""
    return sum(map(int, re.findall(r"(\d+) decisions were not stored", log)))
