"""What keeps a process from starting now and may not later: it ends with a code that is restarted.

A thread that cannot be started is the commonest: whoever needs it for its whole life says so in one
line and ends, for a process without its watchdog or its control loop would look well forever.
"""

from __future__ import annotations

import threading

from queuepool.errors import QueuePoolError


class HindranceError(QueuePoolError):
    """A process cannot start now; a later start can succeed. No fault of its settings."""


class NoThreadError(HindranceError):
    """The system starts no more threads for this process."""

    def __init__(self, purpose: str, error: BaseException) -> None:
        super().__init__(
            f"no thread {purpose} ({error}), so this process exits; nothing is lost. Raise the "
            "limit of threads or memory (ulimit -u, pids.max), and restart it; a supervisor "
            "restarts it automatically."
        )


def start_thread(thread: threading.Thread, purpose: str) -> None:
    """Start a thread that a process cannot do without. Raises NoThreadError; it may be repeated."""
    try:
        thread.start()
    except RuntimeError as error:
        raise NoThreadError(purpose, error) from None
