"""Handlers that do their worst, for consumers that must live on.

Each fails at its first attempt, so a job of them is dead or done as soon as it ended once.
"""

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from queuepool import JobContext, JobTimeoutError, RetryLater, task
from queuepool.tasks.backoff import Backoff

_GATES = Path(os.environ.get("TEST_RECORDS", "."))
_SOON = Backoff(base_s=0.01, cap_s=0.02, floor_s=0.0)


def _pause(seconds: float) -> None:
    threading.Event().wait(seconds)


@task(max_attempts=1)
def work(**fields: object) -> None:
    """Do nothing."""


@task(max_attempts=1)
def echo(**fields: object) -> object:
    """Return the payload."""
    return fields


class Silent(Exception):  # noqa: N818
    """Has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class Numeric(Exception):  # noqa: N818
    """Has a text that is none."""

    def __str__(self) -> str:
        return 7  # type: ignore[return-value]  # noqa: PLE0307


class Quitting(Exception):  # noqa: N818
    """Ends the program when it is read."""

    def __str__(self) -> str:  # noqa: PLE0307
        sys.exit("while it is read")


class Nameless(type):
    """Makes classes that do not tell their names."""

    def __getattribute__(cls, name: str) -> Any:
        if "name" in name:
            raise RuntimeError("no name")
        return super().__getattribute__(name)


class Unnamed(Exception, metaclass=Nameless):  # noqa: N818
    """Has a class without a name."""


_RAISES: dict[str, Callable[[], BaseException]] = {
    "SystemExit": lambda: SystemExit(3),
    "KeyboardInterrupt": KeyboardInterrupt,
    "GeneratorExit": GeneratorExit,
    "StopIteration": lambda: StopIteration(1),
    "BaseException": lambda: BaseException("bare"),
    "CancelledError": asyncio.CancelledError,
    "MemoryError": MemoryError,
    "Silent": Silent,
    "Numeric": Numeric,
    "Quitting": Quitting,
    "Unnamed": Unnamed,
    "surrogate": lambda: OSError("\ud800 \x00 \x1b[31m"),
    "ten megabytes": lambda: ValueError("x" * 10_000_000),
    "group of groups": lambda: BaseExceptionGroup("g", [ValueError(str(n)) for n in range(9_999)]),
    "RetryLater without delay": lambda: RetryLater.__new__(RetryLater),
}
RAISES = tuple(_RAISES)


@task(max_attempts=1)
def raises(what: str) -> None:
    """Raise something."""
    error = _RAISES[what]()
    raise error


@task(max_attempts=1)
async def raises_async(what: str) -> None:
    """Raise something on the event loop."""
    await asyncio.sleep(0)
    error = _RAISES[what]()
    raise error


def _nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def _endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


async def _coroutine() -> None:
    """Is never awaited."""


def _closed_coroutine() -> object:
    made = _coroutine()
    made.close()
    return made


_RETURNS: dict[str, Callable[[], object]] = {
    "object": object,
    "generator": lambda: (n for n in range(3)),
    "coroutine": _closed_coroutine,
    "nan": lambda: {"mean": float("nan")},
    "infinity": lambda: [1.0, float("-inf")],
    "surrogate": lambda: "\ud800",
    "100,000 deep": lambda: _nested(100_000),
    "endless": _endless,
    "huge number": lambda: 10**5_000,
    "ten megabytes": lambda: "x" * 10_000_000,
    "odd keys": lambda: {(1, 2): 3},
}
RETURNS = tuple(_RETURNS)
UNRUN = ("generator", "coroutine")  # dead at once


@task(max_attempts=1)
def returns(what: str) -> object:
    """Return something that is not JSON, or too much of it."""
    return _RETURNS[what]()


@task(max_attempts=1)
async def returns_async(what: str) -> object:
    """Return the same from the event loop."""
    return _RETURNS[what]()


@task(max_attempts=1)
def recurse() -> None:
    """Call itself forever."""
    recurse()


@task(max_attempts=1)
def long_traceback() -> None:
    """Fail below a stack whose every line is long."""
    source = "def f(n):\n    " + "x = '" + "y" * 100_000 + "'; " + "f(n - 1) if n else 1 / 0\n"
    scope: dict[str, Any] = {}
    exec(compile(source, "/tmp/" + "z" * 100_000, "exec"), scope)
    scope["f"](100)


@task(max_attempts=2, backoff=_SOON)
def modify(ctx: JobContext, rows: list[int], **rest: dict[str, object]) -> object:
    """Change the payload and fail; return what the next attempt is given."""
    seen = {"rows": list(rows), "rest": {k: dict(v) for k, v in rest.items()}}
    rows.clear()
    for fields in rest.values():
        fields["spoiled"] = True
    if ctx.attempt == 1:
        raise ValueError("spoiled")
    return seen


@task(max_attempts=1)
def own_loop() -> str:
    """Run an event loop of its own."""
    return asyncio.run(asyncio.sleep(0, "ran"))


@task(max_attempts=1, timeout_s=0.2)
def swallow_timeout() -> str:
    """Go on after the timeout struck."""
    caught = 0
    try:
        while True:
            _pause(0.01)
    except JobTimeoutError:
        caught += 1
    return f"caught {caught}"


@task(max_attempts=1, timeout_s=0.2)
async def swallow_cancel() -> str:
    """Go on after the timeout cancelled it."""
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(3600)
    return "went on"


@task(max_attempts=1, timeout_s=0.2)
async def forever() -> None:
    """Never end."""
    await asyncio.Event().wait()


@task(max_attempts=1)
async def block_loop(gate: str) -> None:
    """Block the event loop until a file of this name exists."""
    (_GATES / f"{gate}-begun").touch()
    while not (_GATES / gate).exists():
        _pause(0.01)


@task(max_attempts=1)
async def short_nap() -> None:
    """Need the event loop."""
    await asyncio.sleep(0.001)


@task(max_attempts=1)
def threads_left(count: int) -> None:
    """Leave threads behind that never end: some would keep the process, one fails, one exits."""
    never = threading.Event()
    for n in range(count):
        threading.Thread(target=never.wait, daemon=n % 2 == 0).start()
    threading.Thread(target=sys.exit, args=(1,)).start()
    threading.Thread(target=lambda: 1 / 0).start()


@task(max_attempts=1)
def tasks_left() -> str:
    """Leave work behind on the loop of another thread, and on its own."""

    async def run() -> None:
        asyncio.get_running_loop().create_task(asyncio.sleep(3600))

    asyncio.run(run())
    return "left"


@task(max_attempts=1)
async def tasks_left_async() -> str:
    """Leave a task behind on the shared loop that ends it, as far as it can."""
    loop = asyncio.get_running_loop()

    async def quit_later() -> None:
        sys.exit("from a task that was left behind")

    loop.call_soon(sys.exit, 5)
    kept.append(loop.create_task(quit_later()))
    return "left"


kept: list[asyncio.Task[None]] = []


@task(max_attempts=1)
async def stop_loop() -> str:
    """Stop the shared loop."""
    asyncio.get_running_loop().stop()
    return "stopped"


@task(max_attempts=1)
def low_recursion_limit(limit: int) -> None:
    """Leave little room for everyone."""
    sys.setrecursionlimit(limit)


@task(max_attempts=1)
def change_signals() -> None:
    """Take the signals away; Python lets the main thread alone do so."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


@task(max_attempts=1)
def block_signals() -> None:
    """Block every signal, in this thread."""
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))


@task(max_attempts=1)
def print_much(megabytes: int) -> None:
    """Print a lot."""
    line = "o" * 1023
    for _ in range(1024 * megabytes):
        print(line)  # noqa: T201


@task(max_attempts=1)
def close_output() -> None:
    """Close the files that everyone prints and logs to."""
    sys.stdout.close()
    sys.stderr.close()


@task(max_attempts=1)
def break_logging() -> None:
    """Log something that cannot be formatted, and silence everyone."""
    logging.getLogger("consumer").error("%d", "no number")
    logging.disable(logging.CRITICAL)


@task(max_attempts=1)
def strike_itself() -> None:
    """Send an exception to its own thread that arrives whenever it likes."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(threading.get_ident()), ctypes.py_object(KeyboardInterrupt)
    )


@task(max_attempts=1)
def end_process() -> None:
    """End the process silently."""
    os._exit(11)


@task(max_attempts=1)
def close_files() -> None:
    """Close every file and socket of the process."""
    os.closerange(3, 4096)
