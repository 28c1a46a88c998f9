"""Tasks that harm the process that runs them; for the chaos suite alone.

Those that freeze it wait for leave first: a process that freezes while no one stands by is still
the owner when it thaws, and may end the job.
"""

import ctypes
import faulthandler
import os
import re
import resource
import threading
from pathlib import Path
from time import monotonic

from queuepool import JobContext, task
from queuepool.tasks.backoff import Backoff
from tests.apps.recorded import DIRECTORY, note
from tests.chaos import permission

_SOON = Backoff(base_s=0.01, cap_s=0.05, floor_s=0.0)
_ROOM_BYTES = 256 * 1024**2
_CHUNK_BYTES = 4 * 1024**2
_LEAVE_S = 30.0


def _begin(ctx: JobContext) -> None:
    note("begin", ctx.job_id, ctx.attempt)


def _begin_with_leave(ctx: JobContext) -> None:
    until = monotonic() + _LEAVE_S
    while not permission.take(DIRECTORY):  # one job's alone: a second one would freeze a zombie
        assert monotonic() < until, "nobody stood by"
        threading.Event().wait(0.01)
    _begin(ctx)


@task
def poison_exit(ctx: JobContext) -> None:
    """End the process silently."""
    _begin(ctx)
    os._exit(9)


@task
def poison_segfault(ctx: JobContext) -> None:
    """Read address 0 in C."""
    _begin(ctx)
    faulthandler.disable()  # its dump costs a second beside many threads
    ctypes.string_at(0)


@task(max_attempts=3, backoff=_SOON)
def poison_memory(ctx: JobContext) -> None:
    """Take memory piece by piece until the process may have no more."""
    _begin(ctx)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + _ROOM_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    held = []
    while True:
        held.append(bytearray(_CHUNK_BYTES))


@task(max_attempts=3, timeout_s=0.7, backoff=_SOON)
def poison_loop(ctx: JobContext) -> None:
    """Never end, in Python."""
    _begin(ctx)
    while True:
        pass


@task
def poison_lock(ctx: JobContext, hold_s: float) -> None:
    """Hold the interpreter's lock in C for some time: no other thread runs."""
    _begin_with_leave(ctx)
    ctypes.PyDLL(None).usleep(int(hold_s * 1e6))


@task(timeout_s=2 * _LEAVE_S)
def poison_regex(ctx: JobContext) -> None:
    """Hold the interpreter's lock forever: 2^64 ways to match, and none does."""
    _begin_with_leave(ctx)
    re.match(r"(a+)+$", "a" * 64 + "b")
