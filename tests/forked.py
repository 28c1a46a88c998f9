"""Processes of tests, forked from one that has imported the program.

Importing takes most of a second of CPU time, a fork a few milliseconds, and the tests start
hundreds. A child then runs the program's `__main__` as `python -m` does, with its variables,
limits and files, as a child of this process. Variables that others than the program read, such as
those of the interpreter, need a start of its own. `queuepool.process.forks` does the same for
applications; it forks no coordinators, since it trusts no library with threads.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

from queuepool.process.children import Forked
from queuepool.process.fork_server import fork_orphan
from queuepool.process.forks import subreaper
from tests.paths import ROOT

_AT_FIRST = dict(os.environ)
_OURS = ("QUEUEPOOL_", "CONSUMER_", "COORDINATOR_", "TEST_")
# Commands that ran in this process have set GRPC_VERBOSITY, which gRPC reads at its first call.
_READ_LATER = (*_OURS, "PYTEST_", "COLUMNS", "LINES", "GRPC_VERBOSITY")
_LATER = {"queuepool": ("queuepool.client.pool",)}  # what a program imports in `main`
_LIMITS = {getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")}
_REQUEST_BYTES = 2**17


class Started(Forked):
    """A forked program, with what tests use of `subprocess.Popen`."""

    def __init__(self, pid: int, stdout: IO[str] | None, stderr: IO[str] | None) -> None:
        super().__init__(pid)
        self.stdout, self.stderr = stdout, stderr
        self._asking = threading.Lock()

    def poll(self) -> int | None:
        with self._asking:
            return super().poll()

    def wait(self, timeout: float | None = None) -> int:
        if self.poll() is None:
            watch = os.pidfd_open(self.pid)
            try:
                select.select([watch], [], [], timeout)
            finally:
                os.close(watch)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        return code

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


Program = Started | subprocess.Popen[str]


def start(
    name: str,
    environment: Mapping[str, str],
    output: tuple[IO[str], IO[str]] | None = None,
    *,
    words: Sequence[str] = (),
    directory: Path | None = None,
) -> Program:
    """Start `python -m consumer`, for example; output: its standard output and error, or pipes."""
    if sys.platform == "linux" and _alike(environment):
        place = str(directory or Path.cwd())
        limits = [(each, resource.getrlimit(each)) for each in _LIMITS]
        request = {
            "environment": dict(environment),
            "directory": place,
            "limits": limits,
            "words": words,
        }
        return _server(name).start(json.dumps(request), output)
    return subprocess.Popen(
        [sys.executable, "-m", name, *words],
        env=dict(environment),
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=output[0] if output else subprocess.PIPE,
        stderr=output[1] if output else subprocess.PIPE,
        text=True,
    )


def _alike(environment: Mapping[str, str]) -> bool:
    """Return whether no variable differs that an interpreter or a library reads at its start."""
    first = _AT_FIRST | {"PYTHONPATH": str(ROOT)}
    changed = {name for name, _ in environment.items() ^ first.items()}
    measured = any(name.startswith("COVERAGE_") for name in environment)
    return all(name.startswith(_READ_LATER) for name in changed) and not measured


@cache
def _server(name: str) -> _Server:
    return _Server(name)


class _Server:
    def __init__(self, name: str) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {k: v for k, v in _AT_FIRST.items() if not k.startswith(_OURS)}
        with theirs:  # it ends when this process does, and closes the other end
            self._popen = subprocess.Popen(
                [sys.executable, "-m", "tests.forked", name],
                env=environment | {"PYTHONPATH": str(ROOT)},
                cwd=ROOT,
                stdin=theirs.fileno(),
            )
        self._asking = threading.Lock()

    def start(self, request: str, output: tuple[IO[str], IO[str]] | None) -> Started:
        """Return a child of this process, forked by the server."""
        if output is not None:
            return Started(self._fork(request, *(file.fileno() for file in output)), None, None)
        pipes = [os.pipe(), os.pipe()]
        try:
            pid = self._fork(request, *(theirs for _, theirs in pipes))
        finally:
            for _, theirs in pipes:
                os.close(theirs)
        stdout, stderr = (os.fdopen(ours) for ours, _ in pipes)
        return Started(pid, stdout, stderr)

    def _fork(self, request: str, *files: int) -> int:
        with self._asking, subreaper():
            socket.send_fds(self._control, [request.encode()], files)
            pid = int(self._control.recv(64))
            assert self._control.recv(64) == b"adopted"
        return pid


def serve(name: str) -> None:
    """Import a program, then fork on request; in each child, become it."""
    gc.disable()
    control = socket.socket(fileno=os.dup(0))
    importlib.import_module(f"{name}.__main__")
    for each in _LATER.get(name, ()):
        importlib.import_module(each)
    del sys.modules[f"{name}.__main__"]  # a child runs it again
    assert threading.active_count() == 1
    gc.freeze()
    while True:
        text, files, _, _ = socket.recv_fds(control, _REQUEST_BYTES, 2)
        if not text:
            return
        if fork_orphan(control, files):
            control.close()
            _become(name, json.loads(text), files)
            return


def _become(name: str, request: Mapping[str, Any], files: list[int]) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    for file, target in zip([null, *files], (0, 1, 2), strict=True):
        os.dup2(file, target)
        os.close(file)
    for limit, bounds in request["limits"]:
        resource.setrlimit(limit, tuple(bounds))
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["directory"])
    sys.path[0] = str(Path.cwd())
    sys.argv = [name, *request["words"]]
    gc.enable()
    runpy.run_module(name, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    serve(sys.argv[1])
