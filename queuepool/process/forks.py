"""Starts children that are alike: forked from one process that has imported what they need.

    with closing(Forks(command, environment, 16)) as forks:
        children = [forks.start(command, environment) for _ in range(16)]

`queuepool.process.fork_server` says how, and what holds. A child that cannot be forked is started
as a program of its own, by which nothing changes but the cost:

    waiting   the server imports                    ready, or over: it cannot, or takes too long
    ready     a child is asked for                  forked, and released once it is ours
    ready     the server does not answer            over; the child is started as a program
    ready     the last of `count` was started       over
    over      a child is asked for                  started as a program
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import logging
import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import IO

from queuepool.process.children import Child, Forked, start_program
from queuepool.process.fork_server import READY
from queuepool.process.launching import forking, words_of

_log = logging.getLogger("queuepool.process")
_READY_S = 30.0
_ANSWER_S = 10.0
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
# What the interpreter reads only once, at its start, begins differently.
_READ_AFTER_THE_FORK = "CONSUMER_"


class Forks:
    """Starts up to `count` children from one fork server; see above.

    command: of `command_line`; of each child the arguments may differ. output: of the server
    itself, which is as buffered as theirs. Used by the main thread, to which children are tied.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        count: int,
        *,
        output: IO[bytes] | None = None,
    ) -> None:
        self._environment, self._left = environment, count
        self._until_s = monotonic() + _READY_S
        self._ready = False
        self._server: subprocess.Popen[bytes] | None = None
        if count < 2 or sys.platform != "linux":
            return
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._server = subprocess.Popen(
                forking(command),
                env=dict(environment),
                stdin=theirs.fileno(),
                stdout=output,
                stderr=output,
                process_group=0,  # Ctrl-C is for us alone
            )

    def close(self) -> None:
        """End the server; its children go on. Idempotent."""
        server, self._server = self._server, None
        if server is not None:
            self._control.close()
            server.kill()
            server.wait()

    def start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        output: IO[bytes] | None = None,
        quiet: bool = False,
        pass_fds: Sequence[int] = (),
    ) -> Child:
        """Start a child, like `start_program`. Raises OSError."""
        child = None
        if self._server is not None:
            try:
                child = self._fork(command, environment, output, quiet, pass_fds)
            except (OSError, ValueError) as error:
                _log.info("children are started as programs of their own: %s", error)
                self.close()
        self._left -= 1
        if self._left <= 0:
            self.close()
        if child is not None:
            return child
        return start_program(command, environment, output=output, quiet=quiet, pass_fds=pass_fds)

    def _fork(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        output: IO[bytes] | None,
        quiet: bool,
        pass_fds: Sequence[int],
    ) -> Child:
        variables = {k: v for k, v in environment.items() if self._environment.get(k) != v}
        without = [name for name in self._environment if name not in environment]
        if not all(n.startswith(_READ_AFTER_THE_FORK) for n in (*variables, *without)):
            raise ValueError("their environments differ")
        if not self._ready:
            self._await_ready()
        request = {
            "words": words_of(command),
            "variables": variables,
            "without": without,
            "targets": [0, 1, 2, *pass_fds],
        }
        with contextlib.ExitStack() as files:
            waiting, releasing = os.pipe()
            files.callback(os.close, releasing)
            files.callback(os.close, waiting)
            stdin = files.enter_context(Path(os.devnull).open("rb")).fileno() if quiet else 0
            out = [output.fileno()] * 2 if output else [1, 2]
            sent = [waiting, stdin, *out, *pass_fds]
            with subreaper():
                socket.send_fds(self._control, [json.dumps(request).encode()], sent)
                pid = int(self._answer(_ANSWER_S))
                self._answer(_ANSWER_S)  # it is adopted
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)  # raises if not by us
            os.write(releasing, b"!")
        return Forked(pid)

    def _await_ready(self) -> None:
        said = self._answer(max(0.0, self._until_s - monotonic()))
        if said != READY:
            raise ValueError(said.decode())
        self._ready = True

    def _answer(self, timeout_s: float) -> bytes:
        if not select.select([self._control], [], [], timeout_s)[0]:
            raise TimeoutError("the fork server does not answer")
        said = self._control.recv(4096)
        if not said:
            raise ConnectionError("the fork server ended")
        return said


@contextlib.contextmanager
def subreaper() -> Iterator[None]:
    """Become the parent of orphans among the descendants, until the end of the block."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    before = ctypes.c_int(0)
    prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    if prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no process can be adopted here")
    try:
        yield
    finally:
        prctl(_PR_SET_CHILD_SUBREAPER, before.value, 0, 0, 0)
