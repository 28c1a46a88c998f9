"""Tasks that harm the process they run in, for tests of process pools."""

import asyncio
import ctypes
import logging
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from queuepool import JobCancelled, JobContext, PermanentError, RateLimited, RetryLater, task
from queuepool.tasks.backoff import Backoff

_SOON = Backoff(base_s=0.01, cap_s=0.05, floor_s=0.0)
_log = logging.getLogger("dangerous")
IMPORTED_BY = os.getpid()


def harmful(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Register a task as `harm.<its name>`: names are shared with all other apps of the tests."""
    return lambda function: task(name=f"harm.{function.__name__}", **options)(function)


@harmful(backoff=_SOON)
def double(ctx: JobContext, n: int) -> int:
    """Compute."""
    return 2 * n


@harmful()
def facts(ctx: JobContext) -> dict[str, object]:
    """Tell what a handler sees."""
    return {
        "pid": os.getpid(),
        "imported_by": IMPORTED_BY,
        "id": ctx.job_id,
        "task": ctx.task,
        "attempt": ctx.attempt,
        "group": ctx.group.decode("latin-1"),
        "partition": ctx.partition,
        "token": ctx.fencing_token,
        "deadline": ctx.deadline,
        "main": threading.current_thread() is threading.main_thread(),
    }


@harmful(backoff=_SOON)
def segfault() -> None:
    """Read where nothing is."""
    ctypes.string_at(0)


@harmful(backoff=_SOON, timeout_s=0.4)
def endless_in_c() -> int:
    """Hold the interpreter for hours, in one call."""
    return sum(range(10**12))


@harmful(backoff=_SOON, timeout_s=0.4)
def moves() -> None:
    """Join the process group of the parent, and run on."""
    os.setpgid(0, os.getpgid(os.getppid()))
    threading.Event().wait()


@harmful(backoff=_SOON)
def leave(status: int = 3) -> None:
    """End the process."""
    os._exit(status)


@harmful(backoff=_SOON)
def raises(what: str = "ValueError") -> None:
    """Raise one of several."""
    kinds = {
        "ValueError": ValueError("no"),
        "PermanentError": PermanentError("never"),
        "RetryLater": RetryLater(3.0),
        "RateLimited": RateLimited(3.0),
        "SystemExit": SystemExit(1),
        "KeyboardInterrupt": KeyboardInterrupt(),
    }
    raise kinds[what]


@harmful(backoff=_SOON)
def take_memory(mib: int, seconds: float = 0.0) -> int:
    """Take so much, for so long."""
    taken = bytearray(mib * 2**20)
    taken[::4096] = b"x" * len(taken[::4096])
    threading.Event().wait(seconds)
    return len(taken)


KEPT: list[bytearray] = []


@harmful()
def leak(mib: int) -> int:
    """Take memory and keep it; returns the process."""
    KEPT.append(bytearray(b"x") * (mib * 2**20))
    return os.getpid()


@harmful(backoff=_SOON)
def match(text: str) -> bool:
    """Look for what takes 2^64 steps not to find."""
    return re.fullmatch(r"(a+)+b", text) is not None


@harmful()
def wait_for(ctx: JobContext, gate: str) -> int:
    """Run until a file is there, or the job is to be cancelled; returns the process."""
    ctx.progress("began")
    while not Path(gate).exists():
        if ctx.cancel_requested:
            raise JobCancelled
        threading.Event().wait(0.01)
    return os.getpid()


@harmful(timeout_s=30)
async def coroutine(n: int) -> int:
    """Await."""
    await asyncio.sleep(0.001)
    return n + 1


@harmful()
async def ruins_the_loop() -> None:
    """Stop the event loop of the process."""
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0.1)


@harmful(backoff=_SOON)
def close_everything() -> None:
    """Close every descriptor, also that of the consumer."""
    os.closerange(3, 256)
    threading.Event().wait(10)


@harmful(backoff=_SOON)
def write_anywhere() -> None:
    """Write into every descriptor, also that of the consumer."""
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b"\xff" * 64)
        except OSError:
            continue
    threading.Event().wait(10)


@harmful(backoff=_SOON, timeout_s=0.5)
def parent_of(seconds: float, note: str) -> None:
    """Start a program that outlives the handler unless someone ends it."""
    child = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({seconds})"])
    Path(note).write_text(str(child.pid))
    child.wait()


@harmful()
def leaves_alarm(seconds: float) -> None:
    """Have this process killed soon, and few calls nested in it."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    sys.setrecursionlimit(120)


@harmful()
def rests(seconds: float) -> int:
    """Wait; return how deeply calls may be nested."""
    threading.Event().wait(seconds)
    return sys.getrecursionlimit()


SEEN: ContextVar[str] = ContextVar("seen", default="")


@harmful()
def sees(text: str) -> str:
    """Return what is in the context, and change it."""
    seen = SEEN.get()
    SEEN.set(text)
    return seen


@harmful()
def forks() -> int:
    """Fork; the copy returns as well."""
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
    return os.getpid()


@harmful()
def killed_by(number: int = signal.SIGTERM) -> str:
    """Send this process a signal; tell that it continues."""
    os.kill(os.getpid(), number)
    return "here"


@harmful()
def logs(text: str) -> None:
    """Write a line of log."""
    _log.warning("%s", text)


@harmful()
def large(size: int, payload: str = "") -> str:
    """Return so much."""
    return "x" * (size + len(payload))


@harmful()
def burn(rounds: int) -> int:
    """Keep one processor busy."""
    value = 1
    for _ in range(rounds):
        value = value * 1103515245 + 12345 & 0x7FFFFFFF
    return value
