"""A child process as its supervisor sees it. One thread calls all of this; nothing here waits.

    starting --Ready--> idle --run--> busy --Ended--> idle
        |                 |             |
        |                 `--leave--> leaving
        `---- it dies or is killed: reaped ---'

A child is a fresh interpreter, not a fork: at the moment of a fork other threads of the consumer
may hold locks (of logging, of the allocator, of a client library), and in the copy nobody would
ever release them. It starts its own process group, so that programs a handler started are killed
with it, and Ctrl-C in a terminal reaches only the consumer.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from enum import Enum, auto
from pathlib import Path

from consumer.core.jobs import ClaimedJob
from consumer.workers.processes.frames import (
    Cancel,
    PoolReader,
    Run,
    Start,
    ToChild,
    ToPool,
    frame,
)
from consumer.workers.runner import Attempt
from queuepool.servers import forking

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[3]); "
    "from consumer.workers.processes.child import main; main(int(sys.argv[1]), int(sys.argv[2]))"
)
_CHUNK_BYTES = 256 * 1024
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class ChildState(Enum):
    """The state of a child."""

    STARTING = auto()
    IDLE = auto()
    BUSY = auto()
    LEAVING = auto()


class ChildHandle:
    """A child and the job it runs. since_s: when it entered its state.

    killed_for: why it was killed, as (reason, one word, a sentence). silent_s: since when it sends
    no more messages. watched: whether the supervisor waits for room in the socket. pidfd: becomes
    readable when the child has exited; -1 where the system has none.
    """

    def __init__(self, start: Start, now_s: float) -> None:
        """Start a child. Raises OSError."""
        ours, theirs = socket.socketpair()
        try:
            self._popen = _spawned(theirs)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        self.socket, self._reader, self._unsent = ours, PoolReader(), bytearray()
        self.pid = self._popen.pid
        self.pidfd = _pidfd(self.pid)
        self.state, self.since_s = ChildState.STARTING, now_s
        self.job: ClaimedJob | None = None
        self.attempt: Attempt | None = None
        self.deadline_s: float | None = None
        self.jobs, self._told_cancel = 0, False
        self.killed_for: tuple[str, str, str] | None = None
        self.silent_s: float | None = None
        self.watched = False
        forking.keep(self)
        self.say(start)

    def run(self, job: ClaimedJob, attempt: Attempt) -> None:
        """Make the idle child execute a job."""
        self.job, self.attempt, self._told_cancel = job, attempt, False
        self.state, self.since_s = ChildState.BUSY, attempt.started_s
        timeout_s = attempt.timeout_s
        self.deadline_s = None if timeout_s is None else attempt.started_s + timeout_s
        self.jobs += 1
        trace = "" if attempt.span is None else attempt.span.parent
        self.say(Run(self.jobs, job.id, job.body, job.attempt, job.crashes, trace))

    def ended(self, now_s: float) -> None:
        """Note that the job ended."""
        self.job = self.attempt = self.deadline_s = None
        self.state, self.since_s = ChildState.IDLE, now_s

    def tell_cancel(self) -> None:
        """Notify the child once that cancellation of its job was requested."""
        if self.job is not None and self.job.cancelled and not self._told_cancel:
            self._told_cancel = True
            self.say(Cancel(self.jobs))

    def leave(self, now_s: float) -> None:
        """Make a child without a job exit normally."""
        self.state, self.since_s = ChildState.LEAVING, now_s
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def kill(self, reason: str, what: str, message: str) -> None:
        """Kill the child and the programs that its handlers started."""
        self.killed_for, self.deadline_s = self.killed_for or (reason, what, message), None
        self._kill_group()

    def say(self, message: ToChild) -> None:
        """Send a message, or as much of it as the socket takes now."""
        self._unsent += frame(message)
        self.flush()

    @property
    def has_unsent(self) -> bool:
        """Return whether `flush` has more to send."""
        return bool(self._unsent)

    def flush(self) -> None:
        """Send what was not sent yet."""
        try:
            while self._unsent:
                del self._unsent[: self.socket.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError:  # it is gone, and about to be reaped
            self._unsent.clear()

    def messages(self) -> Iterator[ToPool | None]:
        """Yield the messages of the child; None at end of file. Raises BrokenFrameError."""
        while True:
            try:
                data = self.socket.recv(_CHUNK_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                yield None
                return
            yield from self._reader.read(data)

    def has_exited(self) -> bool:
        """Return whether the child has exited."""
        if self.pidfd < 0:
            return self._popen.poll() is not None
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        try:
            return os.waitid(os.P_PID, self.pid, options) is not None
        except ChildProcessError:  # reaped by someone else: a library that ignores SIGCHLD
            return True

    def wait(self) -> str:
        """Reap a child that has exited or was killed; returns `SIGSEGV`, `exit status 3`."""
        self._kill_group()  # before its pid can be reused
        return _shown(self._popen.wait())

    def close(self) -> None:
        """Close the socket and the pidfd."""
        self.socket.close()
        if self.pidfd >= 0:
            os.close(self.pidfd)

    def after_fork(self) -> None:
        """Close the copy of the socket: its end must mean that the consumer died."""
        forking.close_inherited(self.socket)

    def is_late(self, now_s: float) -> bool:
        """Return whether the job is over its deadline."""
        return self.deadline_s is not None and now_s >= self.deadline_s

    @property
    def late_text(self) -> str:
        """Return the error message of a job that was killed at its deadline."""
        timeout_s = self.attempt.timeout_s if self.attempt is not None else None
        return f"took longer than its timeout of {timeout_s or 0.0:g} s; its process was killed"

    @property
    def rss_bytes(self) -> int:
        """Return the child's resident memory; 0 without /proc."""
        try:
            return int(Path(f"/proc/{self.pid}/statm").read_bytes().split()[1]) * _PAGE_BYTES
        except (OSError, ValueError, IndexError):
            return 0

    def _kill_group(self) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):  # a handler may have moved it to another group
            self._popen.kill()  # does nothing if it was reaped: another process may have its pid


def _spawned(theirs: socket.socket) -> subprocess.Popen[bytes]:
    arguments = [str(theirs.fileno()), str(os.getpid()), json.dumps(list(map(str, sys.path)))]
    return subprocess.Popen(
        [sys.executable, "-c", _BOOT, *arguments],
        stdin=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
        process_group=0,
    )


def _pidfd(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, or an old one
        return -1


def _shown(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
