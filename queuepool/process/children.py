"""Children of a process, whether they were started as programs or forked."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import IO, Protocol


class Child(Protocol):
    """A process that this one started: part of `subprocess.Popen`."""

    @property
    def pid(self) -> int:
        """Return its process id."""

    @property
    def returncode(self) -> int | None:
        """Return its exit code, below 0 a signal; None before `poll` or `wait` saw its end."""

    def poll(self) -> int | None:
        """Look whether it has ended; return its exit code if so."""

    def wait(self) -> int:
        """Wait for its end; return its exit code."""

    def send_signal(self, sig: int) -> None:
        """Send a signal unless it has ended."""


class Forked:
    """A child that was forked."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Look whether it has ended; return its exit code if so."""
        return self._reaped(os.WNOHANG)

    def wait(self) -> int:
        """Wait for its end; return its exit code."""
        code = self._reaped(0)
        return 0 if code is None else code

    def send_signal(self, sig: int) -> None:
        """Send a signal unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def _reaped(self, options: int) -> int | None:
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, options)
            except ChildProcessError:  # somebody else asked; Popen says 0, too
                self.returncode = 0
            else:
                self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode


def start_program(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    output: IO[bytes] | None = None,
    quiet: bool = False,
    pass_fds: Sequence[int] = (),
) -> Child:
    """Start a child in a process group of its own, so that Ctrl-C is for this process alone.

    output: where it writes, or None: where this process does. quiet: without standard input.
    Raises OSError.
    """
    return subprocess.Popen(
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL if quiet else None,
        stdout=output,
        stderr=output,
        pass_fds=pass_fds,
        process_group=0,
    )
