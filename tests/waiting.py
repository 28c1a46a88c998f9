"""Wait in tests for things to happen, never for time to pass."""

import threading
import time
from collections.abc import Callable
from pathlib import Path


def wait_until(
    predicate: Callable[[], object],
    timeout_s: float = 60.0,
    message: str = "the awaited condition",
    *,
    interval_s: float = 0.01,
) -> None:
    """Return as soon as `predicate()` is true; fail the test when `timeout_s` runs out first.

    That is long, since a busy machine may stop a process for seconds; one that passes is quick.

    The predicate is asked at least once, and once more at the very end, so a test that was
    starved of CPU does not fail over a condition that holds by now.
    """
    deadline = time.monotonic() + timeout_s
    pause = threading.Event()  # no one sets it: its wait is a bounded pause
    while not predicate():
        if time.monotonic() >= deadline:
            if predicate():
                return
            raise AssertionError(f"{message}: not so after {timeout_s:g} s")
        pause.wait(interval_s)


def process_is_gone(pid: int) -> bool:
    """Return whether no process runs under `pid`; one that no one has reaped counts as gone."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    except ProcessLookupError:  # it went away between open and read
        return True
    return state in {"Z", "X"}
