"""One child process, as its pool sees it. One thread calls all of this; nothing here waits.

    starting --Ready--> idle --run--> busy --Ended--> idle
        |                 |             |
        |                 `--leave--> leaving
        `-------- it dies, or is killed: `gone` --------'

A child is a fresh interpreter, not a fork: other threads of the consumer hold locks (of the
allocator, of logging, of a client library) at the instant of a fork, and no one in the copy would
ever release them. It begins its own process group, so that what a handler started is killed with
it, and Ctrl-C at a terminal reaches the consumer alone.
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


class State(Enum):
    """Where a child is in its life."""

    STARTING = auto()
    IDLE = auto()
    BUSY = auto()
    LEAVING = auto()


class Seat:
    """A child and the job it runs. since_s: when it came into its state.

    doom: why it was killed, as (reason, one word, a sentence). silent_s: since when it says nothing
    any more. watched: whether someone waits for the socket to take more. pidfd: becomes readable
    when the child has ended; -1 where the system has no such thing.
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
        self.state, self.since_s = State.STARTING, now_s
        self.job: ClaimedJob | None = None
        self.attempt: Attempt | None = None
        self.deadline_s: float | None = None
        self.jobs, self._told_cancel = 0, False
        self.doom: tuple[str, str, str] | None = None
        self.silent_s: float | None = None
        self.watched = False
        forking.keep(self)
        self.say(start)

    def run(self, job: ClaimedJob, attempt: Attempt) -> None:
        """Have the idle child execute a job."""
        self.job, self.attempt, self._told_cancel = job, attempt, False
        self.state, self.since_s = State.BUSY, attempt.started_s
        timeout_s = attempt.timeout_s
        self.deadline_s = None if timeout_s is None else attempt.started_s + timeout_s
        self.jobs += 1
        self.say(Run(self.jobs, job.id, job.body, job.attempt, job.crashes))

    def ended(self, now_s: float) -> None:
        """Note that the job ended."""
        self.job = self.attempt = self.deadline_s = None
        self.state, self.since_s = State.IDLE, now_s

    def tell_cancel(self) -> None:
        """Tell the child that its job was asked to cancel, once."""
        if self.job is not None and self.job.cancelled and not self._told_cancel:
            self._told_cancel = True
            self.say(Cancel(self.jobs))

    def leave(self, now_s: float) -> None:
        """Have a child that runs nothing end, as a program does."""
        self.state, self.since_s = State.LEAVING, now_s
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def kill(self, reason: str, what: str, message: str) -> None:
        """End the child at once, and what its handlers started with it."""
        self.doom, self.deadline_s = self.doom or (reason, what, message), None
        self._kill_group()

    def say(self, message: ToChild) -> None:
        """Send a message, or as much of it as there is room for."""
        self._unsent += frame(message)
        self.flush()

    @property
    def has_unsent(self) -> bool:
        """Return whether `flush` has something to do when the socket takes more."""
        return bool(self._unsent)

    def flush(self) -> None:
        """Send what was not sent yet."""
        try:
            while self._unsent:
                del self._unsent[: self.socket.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError:  # it is gone, which its end tells
            self._unsent.clear()

    def messages(self) -> Iterator[ToPool | None]:
        """Yield what the child says; None at the end of it. Raises BrokenFrameError."""
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
        """Return whether the child is gone."""
        if self.pidfd < 0:
            return self._popen.poll() is not None
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def wait(self) -> str:
        """Wait for a child that is gone or killed; returns how: `SIGSEGV`, `exit status 3`."""
        self._kill_group()  # before its number is free for others
        return _shown(self._popen.wait())

    def close(self) -> None:
        """Let go of what is open."""
        self.socket.close()
        if self.pidfd >= 0:
            os.close(self.pidfd)

    def after_fork(self) -> None:
        """Let a child of a handler not hold the socket, whose end tells that the consumer died."""
        forking.close_inherited(self.socket)

    def is_late(self, now_s: float) -> bool:
        """Return whether the job is over its deadline."""
        return self.deadline_s is not None and now_s >= self.deadline_s

    @property
    def late_text(self) -> str:
        """Return what is said of a job that was killed at its deadline."""
        timeout_s = self.attempt.timeout_s if self.attempt is not None else None
        return f"took longer than its timeout of {timeout_s or 0.0:g} s; its process was killed"

    @property
    def rss_bytes(self) -> int:
        """Return the memory that the child has in RAM; 0 where /proc does not tell."""
        try:
            return int(Path(f"/proc/{self.pid}/statm").read_bytes().split()[1]) * _PAGE_BYTES
        except (OSError, ValueError, IndexError):
            return 0

    def _kill_group(self) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)


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
