"""One run of one peer: a fresh server, a producer when asked, workers until they are killed.

enqueue   runs the peer's producer to its end
work      starts worker commands, each in a session of its own
kill      SIGKILLs all of them
close     leaves nothing: no process, no folder
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import redis

from benchmarks.peers import processes
from benchmarks.peers.adapters.harness import Order
from benchmarks.peers.envs import PeerError
from benchmarks.peers.records import Records
from queuepool.process.embedded import EmbeddedServer

ROOT = Path(__file__).resolve().parents[2]
MEMORY = Path("/dev/shm")  # records are written here: a job does not wait for a disk
# A setting of the caller's shell would change a figure without being named beside it.
_NOT_INHERITED = ("PYTHON", "NODE_", "QUEUEPOOL_", "CONSUMER_", "CELERY_", "RQ_", "dramatiq_")
_PRODUCE_S = 900


class Launcher:
    """How the commands of one peer are started."""

    def __init__(self, command: list[str], variant: str, extra: dict[str, str], log: Path) -> None:
        self._command, self._variant, self._extra, self._log = command, variant, extra, log
        log.unlink(missing_ok=True)  # of an earlier sitting

    def environment(self, url: str, records: Path, worker_processes: int) -> dict[str, str]:
        """Return the environment of every command of a run."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(_NOT_INHERITED)}
        return {
            **inherited,
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            "PEERS_URL": url,
            "PEERS_RECORDS": str(records),
            "PEERS_VARIANT": self._variant,
            "PEERS_PROCESSES": str(worker_processes),
            **self._extra,
        }

    def ask(self, arguments: list[str], environment: dict[str, str]) -> Any:
        """Run a command to its end; returns the JSON of its last line."""
        try:
            with self._log.open("ab") as log:
                done = subprocess.run(
                    [*self._command, *arguments],
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    timeout=_PRODUCE_S,
                    check=False,
                )
        except subprocess.TimeoutExpired:
            raise PeerError(f"`{arguments[0]}` took more than {_PRODUCE_S} s") from None
        if done.returncode or not done.stdout.strip():
            raise PeerError(f"`{arguments[0]}` ended with {done.returncode}; {self.log_end()}")
        return json.loads(done.stdout.splitlines()[-1])

    def start(
        self, arguments: list[str], environment: dict[str, str], folder: Path
    ) -> subprocess.Popen[bytes]:
        """Start a command in a session of its own."""
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [*self._command, *arguments],
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def log_end(self) -> str:
        """Return where the log is, and its end."""
        text = self._log.read_text(errors="replace") if self._log.exists() else ""
        return f"the end of {self._log} says:\n{text[-1500:]}"


class Stage:
    """A run's server, records and workers; a context manager."""

    def __init__(self, launcher: Launcher, server: Path, worker_processes: int = 1) -> None:
        self._launcher, self._worker_processes = launcher, worker_processes
        self._busy_s, self._began_s = processes.machine_busy_s(), time.monotonic()
        self._own_s = _used_s(resource.RUSAGE_SELF)
        self._spent_s = 0.0  # CPU of what we started and that has ended
        self._folder = Path(
            tempfile.mkdtemp(prefix="peers-", dir=MEMORY if MEMORY.is_dir() else None)
        )
        self.records = Records(self._folder)
        self._workers: list[subprocess.Popen[bytes]] = []
        self._server = EmbeddedServer(appendonly=False, binary=server)
        try:
            self._server.start()
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self._client = redis.Redis.from_url(self._server.url)
        self._environment = launcher.environment(
            self._server.url, self._folder, self._worker_processes
        )
        self.fresh_bytes = self.used_bytes()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Return the URL of the server."""
        return self._server.url

    def about(self) -> dict[str, Any]:
        """Return the peer's versions and settings."""
        answer: dict[str, Any] = self._launcher.ask(["about"], self._environment)
        return answer

    def enqueue(self, order: Order) -> float:
        """Enqueue an order by the peer's producer; returns jobs a second."""
        before_s = _used_s(resource.RUSAGE_CHILDREN)
        done = self._launcher.ask(["produce", json.dumps(asdict(order))], self._environment)
        self._spent_s += _used_s(resource.RUSAGE_CHILDREN) - before_s
        return float(done["jobs"] / done["seconds"])

    def work(self, concurrency: int) -> None:
        """Start as many worker commands as this stage has worker processes."""
        for _ in range(self._worker_processes):
            command = ["work", str(concurrency)]
            self._workers.append(self._launcher.start(command, self._environment, self._folder))

    def kill(self) -> None:
        """SIGKILL every process of every worker."""
        self._spent_s += self.workers_cpu_s()
        processes.end_sessions(self._workers)
        self._workers = []

    def wait(self, enough: Callable[[], bool], limit_s: float, step_s: float = 0.05) -> bool:
        """Read records until `enough`; returns whether that came in time.

        Raises PeerError when all worker commands have ended by themselves.
        """
        deadline = time.monotonic() + limit_s
        while True:
            self.records.poll()
            if enough():
                return True
            if self._workers and all(worker.poll() is not None for worker in self._workers):
                raise PeerError(f"the workers ended; {self._launcher.log_end()}")
            if time.monotonic() > deadline:
                return False
            time.sleep(step_s)

    def ran(self, jobs: int) -> Callable[[], bool]:
        """Return a condition for `wait`: so many records are there."""
        return lambda: len(self.records.ran) >= jobs

    def used_bytes(self) -> int:
        """Return the server's memory once no one else is connected, or after 2 s."""
        deadline = time.monotonic() + 2.0
        while time.monotonic() < deadline and not self._workers:
            clients: Any = self._client.info("clients")
            if clients["connected_clients"] <= 1:
                break
            time.sleep(0.02)
        memory: Any = self._client.info("memory")
        return int(memory["used_memory"])

    def server_version(self) -> str:
        """Return what the server calls itself."""
        info: Any = self._client.info("server")
        return f"{info.get('server_name', 'redis')} {info['redis_version']}"

    def workers_cpu_s(self) -> float:
        """Return the CPU seconds of all processes of the workers so far."""
        return processes.session_cpu_s(worker.pid for worker in self._workers)

    def server_cpu_s(self) -> float:
        """Return the CPU seconds of the server so far."""
        return processes.cpu_s(self._server.pid)

    def foreign_cores(self) -> float:
        """Return the cores that processes that are not ours kept busy since the start."""
        ours = self._spent_s + self.workers_cpu_s() + self.server_cpu_s()
        ours += _used_s(resource.RUSAGE_SELF) - self._own_s
        last_pass_s = time.monotonic() - self._began_s
        return (processes.machine_busy_s() - self._busy_s - ours) / last_pass_s

    def close(self) -> None:
        """End and remove everything."""
        try:
            self.kill()
        finally:
            self._client.close()
            self._server.stop()
            shutil.rmtree(self._folder, ignore_errors=True)


def _used_s(whose: int) -> float:
    usage = resource.getrusage(whose)
    return usage.ru_utime + usage.ru_stime
