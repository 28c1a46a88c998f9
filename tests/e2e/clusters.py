"""A cluster of real processes in a directory of its own, as a user would start it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from queuepool import cli
from queuepool.cli.local.cluster import LocalClusterSpec, LocalProcesses
from queuepool.settings import local_cluster as local
from tests import forked
from tests.paths import ROOT
from tests.waiting import process_is_gone, wait_until

READY_S = 90.0


def clean_environment(**more: str) -> dict[str, str]:
    """Return this environment without the settings of anybody's cluster."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("QUEUEPOOL_", "CONSUMER_", "COORDINATOR_"))
    }
    return kept | {"PYTHONPATH": str(ROOT)} | more


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def last(self) -> Any:
        """Return the JSON of the last line."""
        return json.loads(self.out.splitlines()[-1])


@dataclass(slots=True)
class LocalUp:
    """`queuepool up` in a directory, and commands that find it there."""

    directory: Path
    environment: dict[str, str]
    process: subprocess.Popen[bytes]

    @property
    def shown(self) -> str:
        """Return what `up` has shown so far."""
        return (self.directory / "up.out").read_text()

    @property
    def state(self) -> local.LocalCluster:
        """Return the state file's content."""
        found = local.read(self.directory / local.STATE_DIR)
        assert found is not None, self.shown
        return found

    def run(self, *words: str, timeout_s: float = 150.0) -> Done:
        """Run another command in the same directory."""
        return run(self.directory, *words, environment=self.environment, timeout_s=timeout_s)

    def status(self) -> Any:
        """Return `status --json`, run in this process: tests ask until something holds."""
        out = io.StringIO()
        with pytest.MonkeyPatch.context() as here, contextlib.redirect_stdout(out):
            for name in [name for name in os.environ if name not in self.environment]:
                here.delenv(name)
            for name, value in self.environment.items():
                here.setenv(name, value)
            here.chdir(self.directory)
            cli.main(["status", "--json"])
        return json.loads(out.getvalue().splitlines()[-1])

    def children(self) -> list[int]:
        """Return the process ids of the children of `up`."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text().split()]

    def pid_of(self, name: str) -> int:
        """Return the process id of the child that runs this command, such as "coordinator"."""
        for pid in self.children():
            if name in Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0"):
                return pid
        raise AssertionError(f"no {name} among the children: {self.shown}")

    def stop(self, number: int = signal.SIGTERM, timeout_s: float = 60.0) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout_s)


def run(
    directory: Path,
    *words: str,
    environment: dict[str, str] | None = None,
    timeout_s: float = 150.0,
) -> Done:
    """Run one command to its end."""
    environment = environment or clean_environment()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = forked.start(
            "queuepool", environment, (out, err), words=words, directory=directory
        )
        try:
            code = process.wait(timeout_s)
        finally:
            process.kill()
            process.wait()
        out.seek(0)
        err.seek(0)
        return Done(code, out.read(), err.read())


@contextmanager
def up(directory: Path, *words: str, ready: bool = True, **environment: str) -> Iterator[LocalUp]:
    """Run `queuepool up` in a directory; nothing of it is left afterwards.

    Without the page, unless --web is among the words: it takes a second of a core to start.
    """
    env = clean_environment(**environment)
    words = words if "--web" in words else ("--no-web", *words)
    with (directory / "up.out").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "queuepool", "up", *words],
            cwd=directory,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            process_group=0,
        )
    cluster = LocalUp(directory, env, process)
    children: list[int] = []
    try:
        if ready:
            wait_until(
                lambda: "ready: " in cluster.shown or process.poll() is not None,
                READY_S,
                "the cluster is ready",
            )
            assert process.poll() is None, cluster.shown
            children = cluster.children()
        yield cluster
    finally:
        if process.poll() is None:
            children = cluster.children()
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        try:
            wait_until(lambda: all(map(process_is_gone, children)), 60, "the children have ended")
        finally:
            for pid in children:
                if not process_is_gone(pid):
                    os.kill(pid, signal.SIGKILL)


@contextmanager
def running(plan: LocalClusterSpec) -> Iterator[LocalProcesses]:
    """Run a cluster whose steps the test makes; its coordinator is ready."""
    cluster = LocalProcesses(plan, lambda line: None)
    try:
        cluster.start()
        wait_until(lambda: stepped(cluster) and cluster.grpc_address, READY_S)
        yield cluster
    finally:
        cluster.stop()


def stepped(cluster: LocalProcesses) -> bool:
    """Make a step, before a condition is asked for; return True."""
    cluster.step()
    return True
