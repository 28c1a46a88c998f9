"""The server process: start, wait, stop, crash."""

import atexit
import contextlib
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from queuepool.process.embedded.allocator import environment
from queuepool.process.embedded.binary import find_server_binary
from queuepool.process.embedded.directory import ServerDirectory
from queuepool.process.embedded.errors import EmbeddedServerError
from queuepool.process.embedded.ports import HOST, ask, may_be_of, pick_port

_ANSWER_TIMEOUT_S = 15.0  # from start to the first answer
_LOAD_TIMEOUT_S = 300.0  # from start to the end of loading a large data directory
_STOP_TIMEOUT_S = 15.0
_POLL_S = 0.01
_PORT_ATTEMPTS = 8

# Runs between fork and server, and makes the kernel end the server when its parent ends. A
# preexec_fn would run Python in a forked copy of a process with threads, where any lock may be
# held forever.
_TIED_LAUNCHER = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGTERM)
if os.getppid() != int(sys.argv[1]):
    sys.exit("the process that started this server has ended")
os.execv(sys.argv[2], sys.argv[2:])
"""


class EmbeddedServer:
    """A server process on 127.0.0.1, started and stopped by its owner.

    `port=0` takes a free port and keeps it across restarts, so `url` stays valid as long as this
    object lives. `appendonly` only matters with a `data_dir`. `extra_args` are passed to the server
    unchanged: `("--cluster-enabled", "yes")`. Without `with_password`, every user of this machine
    has full access to the server; with it, only those who know `url`, whose password is random, new
    for each port, and not in any process's arguments.

    Started from the main thread on Linux, the server also ends when this process is killed.
    The kernel ties that to the starting THREAD, so a server started from any other thread is
    stopped by `stop()` and at a normal exit, but survives a SIGKILL of this process.
    """

    def __init__(
        self,
        data_dir: Path | None = None,
        *,
        port: int = 0,
        appendonly: bool = True,
        maxmemory: int | None = None,
        extra_args: Sequence[str] = (),
        binary: Path | None = None,
        with_password: bool = False,
    ) -> None:
        self._data_dir = data_dir
        self._port = port
        self._appendonly = appendonly and data_dir is not None
        self._maxmemory = maxmemory
        self._extra_args = tuple(extra_args)
        self._binary = binary
        self._with_password, self._password = with_password, ""
        self._directory: ServerDirectory | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._guard = threading.RLock()  # re-entrant: a signal handler may stop us during start

    def __repr__(self) -> str:
        process = self._process
        alive = process is not None and process.poll() is None
        state = f"pid {process.pid}" if process and alive else "not running"
        return f"<EmbeddedServer {HOST}:{self._port} {state}>"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    @property
    def port(self) -> int:
        """The port it listens on; 0 before the first start if none was given."""
        return self._port

    @property
    def url(self) -> str:
        """The URL that clients connect to; it holds the password, if there is one."""
        if not self._port:
            raise EmbeddedServerError("the embedded server has no URL before its first start()")
        user = f":{self._password}@" if self._password else ""
        return f"redis://{user}{HOST}:{self._port}/0"

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        process = self._process
        if process is None or process.poll() is not None:
            raise EmbeddedServerError("the embedded server is not running; call start() first")
        return process.pid

    @property
    def binary(self) -> Path:
        """The server program that is, or would be, run."""
        if self._binary is None:
            self._binary = find_server_binary()
        return self._binary

    def start(self) -> None:
        """Return once the server answers; no effect if it already runs."""
        with self._guard:
            if self._process is not None and self._process.poll() is None:
                return
            try:
                if self._directory is None:
                    self._directory = ServerDirectory(self._data_dir)
                self._process = self._launch(self._directory)
            except BaseException:
                self.stop()
                raise
            atexit.register(self.stop)

    def stop(self) -> None:
        """Shut the server down so that its data survives; legal at any time, any number of times.

        Returns when the process is gone. A server that does not end in time is killed; what it
        had acknowledged by then is in its file anyway, barring a power cut.
        """
        with self._guard:
            atexit.unregister(self.stop)
            if self._process is not None:
                self._process.terminate()  # a server takes SIGTERM as SHUTDOWN
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(_STOP_TIMEOUT_S)
            self.kill()
            if self._directory is not None:
                self._directory.release()
                self._directory = None

    def kill(self) -> None:
        """Kill the server, like a crash; `start()` brings it back on the same port."""
        with self._guard:
            if self._process is not None:
                _end(self._process)
                self._process = None

    def _launch(self, directory: ServerDirectory) -> subprocess.Popen[bytes]:
        for _ in range(_PORT_ATTEMPTS - 1 if not self._port else 0):
            port = pick_port()
            try:
                process = self._launch_on(port, directory)
            except EmbeddedServerError:
                # Another process may have taken the port between our check and the server's bind.
                if "in use" not in directory.log_tail():
                    raise
            else:
                self._port = port
                return process
        port = self._port or pick_port()
        process = self._launch_on(port, directory)
        self._port = port
        return process

    def _launch_on(self, port: int, directory: ServerDirectory) -> subprocess.Popen[bytes]:
        if self._with_password and (port != self._port or not self._password):
            self._password = secrets.token_urlsafe(32)
        command = [str(self.binary), *self._arguments(directory.path), "-"]
        on_main_thread = threading.current_thread() is threading.main_thread()
        if sys.platform == "linux" and on_main_thread and sys.executable:
            launcher = [sys.executable, "-I", "-S", "-c", _TIED_LAUNCHER, str(os.getpid())]
            command = launcher + command
        with directory.open_log() as log:
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    env=environment(),
                    pass_fds=directory.lock_descriptors,
                    umask=0o077,  # jobs are in its files
                    process_group=0,  # Ctrl-C is for us: stop() ends the server last
                )
            except OSError as error:
                raise EmbeddedServerError(f"{self.binary} could not be run: {error}") from error
        try:
            directory.name_holder(f"the server with pid {process.pid} on port {port}")
            _configure(process, port, self._password)
            trouble = _wait_for_answer(process, port, self._password)
            if trouble:
                raise EmbeddedServerError(
                    f"{self.binary} did not start on port {port}: {trouble}. "
                    "The end of its log says:",
                    *directory.log_tail().split("\n"),
                )
        except BaseException:
            _end(process)
            raise
        return process

    def _arguments(self, directory: Path) -> list[str]:
        options = {
            "--bind": HOST,
            "--dir": str(directory),
            "--save": "",
            "--appendonly": "yes" if self._appendonly else "no",
            "--appendfsync": "everysec",
            # Jobs are not a cache: a full server rejects new ones and evicts none.
            "--maxmemory-policy": "noeviction",
            "--shutdown-timeout": "2",  # for replicas that lag behind
        }
        if self._maxmemory is not None:
            options["--maxmemory"] = str(self._maxmemory)
        return [word for option in options.items() for word in option] + list(self._extra_args)


def _configure(process: subprocess.Popen[bytes], port: int, password: str) -> None:
    # Everyone can read a process's arguments: they reveal neither the password nor the port, on
    # which another process could listen first.
    lines = f"port {port}\n" + (f"requirepass {password}\n" if password else "")
    with contextlib.suppress(BrokenPipeError), process.stdin as stdin:  # type: ignore[union-attr]
        stdin.write(lines.encode())


def _wait_for_answer(process: subprocess.Popen[bytes], port: int, password: str) -> str | None:
    """Return None once the server answers, or the reason why it will not."""
    started = time.monotonic()
    is_loading = False
    while process.poll() is None:
        answer = _answer_of(process.pid, port, password)
        if f"process_id:{process.pid}\r".encode() in answer or b"-NOAUTH" in answer:
            is_loading = b"-LOADING" in answer
            if not is_loading:
                return None
        limit_s = _LOAD_TIMEOUT_S if is_loading else _ANSWER_TIMEOUT_S
        if time.monotonic() - started > limit_s:
            return f"it did not {'finish loading' if is_loading else 'answer'} in {limit_s:g} s"
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_POLL_S)  # a pause that ends early if the process dies
    return f"it ended with exit code {process.returncode}"


def _answer_of(pid: int, port: int, password: str) -> bytes:
    """Return a process's INFO on a port; replies of other processes are ignored."""
    answer = ask(port, password) if may_be_of(port, pid) else b""
    return answer if may_be_of(port, pid) else b""


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
