"""A cluster of containers, started as deploy/README.md says, in a copy of the repository."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.deploy.real.engine import Engine, run
from tests.paths import ROOT
from tests.waiting import wait_until

PROJECT = "queuepool-test"
COPIED = (
    "LICENSE", "README.md", "constraints.txt", "pyproject.toml", ".dockerignore", "consumer",
    "coordinator", "queuepool", "deploy",
)  # fmt: skip
COUNT = (
    "import sqlite3; print(sqlite3.connect('/data/rows.sqlite')"
    ".execute('SELECT count(*), count(DISTINCT id) FROM rows').fetchone())"
)


def table(key: str, rows: int) -> str:
    """Return a file for `bulk` whose rows occur in no other group."""
    lines = (f"{key}-{n},No. {n},Bern\n" for n in range(rows))
    return "id,name,city\n" + "".join(lines)


@dataclass(frozen=True, slots=True)
class Cluster:
    """The containers of compose.yaml."""

    engine: Engine
    root: Path

    def compose(self, *words: str, timeout_s: float = 300) -> str:
        """Run compose; return what it printed. Raises CalledProcessError."""
        file = ("-f", str(self.root / "deploy" / "compose.yaml"))
        composer = (*self.engine.composer, *file)
        return run((*composer, *words), self.engine.environment, cwd=self.root, timeout_s=timeout_s)

    def queuepool(self, *words: str, text: str = "", timeout_s: float = 300) -> tuple[int, str]:
        """Run a command of queuepool in a container; return its exit code and all it printed."""
        file = ("-f", str(self.root / "deploy" / "compose.yaml"))
        done = subprocess.run(
            [*self.engine.composer, *file, "run", "--rm", "-T", "cli", *words],
            cwd=self.root, env=self.engine.environment, input=text, capture_output=True, text=True,
            check=False, timeout=timeout_s,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    def containers(self, service: str) -> list[str]:
        """Return the ids of a service's running containers."""
        return self.compose("ps", "-q", service).split()

    def about(self, container: str) -> Any:
        """Return what the engine knows of a container."""
        return json.loads(self.engine.run("inspect", container))[0]

    def is_healthy(self, service: str) -> bool:
        """Return whether every container of a service says that it is well."""
        found = [self.about(each)["State"].get("Health", {}) for each in self.containers(service)]
        return bool(found) and all(each.get("Status") == "healthy" for each in found)

    def wait_until_healthy(self, service: str) -> None:
        """Wait for the health checks of a service."""
        wait_until(lambda: self.is_healthy(service), 120, f"{service} is healthy", interval_s=1)

    def rows(self) -> tuple[int, int]:
        """Return how many jobs and how many different rows the handlers have written."""
        container = self.containers("consumer")[0]
        first, second = (
            self.engine.run("exec", container, "python", "-c", COUNT).strip("()\n").split(",")
        )
        return int(first), int(second)

    def status(self) -> list[Any]:
        """Return the partitions, as `queuepool status --json` tells; none while it cannot."""
        _, text = self.queuepool("status", "--json")
        for line in text.splitlines():
            with suppress(json.JSONDecodeError):
                return list(json.loads(line)["partitions"])
        return []

    def replace_one(self, container: str, service: str) -> int:
        """Stop a container as a deployment does and start another; return its exit code."""
        self.engine.run("stop", "--time", "45", container)
        code = int(self.about(container)["State"]["ExitCode"])
        self.engine.run("rm", container)
        self.compose("up", "--detach", "--no-recreate", service)
        return code


@contextmanager
def cluster(engine: Engine, directory: Path, python: str, server: str) -> Iterator[Cluster]:
    """Start a cluster by `deploy/up`; nothing of it is left afterwards but the images."""
    ignored = shutil.ignore_patterns("__pycache__", ".env")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, directory / name, ignore=ignored)
        else:
            shutil.copy(source, directory / name)
    more = {"PYTHON": python, "QUEUEPOOL_SERVER_IMAGE": server, "COMPOSE_PROJECT_NAME": PROJECT}
    own = replace(engine, environment=engine.environment | more)
    made = Cluster(own, directory)
    try:
        run((str(directory / "deploy" / "up"),), own.environment, cwd=directory, timeout_s=1800)
        yield made
    finally:
        with suppress(subprocess.SubprocessError, OSError):
            made.compose("down", "--volumes", "--timeout", "20")
