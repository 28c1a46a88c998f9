"""Temporary obstacles to a start: the process exits with a code on which supervisors restart it.

The most common one is a thread that cannot be started. A process that depends on it reports
that in one line and exits: without its watchdog or control loop it would look healthy forever.
"""

from __future__ import annotations

import errno
import threading

from queuepool.errors import QueuePoolError

# Of a machine that lacks files or memory: the same call can succeed later.
LACKING = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS))


class HindranceError(QueuePoolError):
    """A process cannot start now, but a later start can succeed; its settings are fine."""


class NoThreadError(HindranceError):
    """The system refuses to start another thread for this process."""

    def __init__(self, purpose: str, error: BaseException) -> None:
        why = str(error) or "no memory"
        super().__init__(
            f"no thread {purpose} ({why}), so this process exits; nothing is lost. Raise the "
            "limit of threads or memory (ulimit -u, pids.max), and restart it; a supervisor "
            "restarts it automatically."
        )


def start_thread(thread: threading.Thread, purpose: str) -> None:
    """Start a thread that the process cannot do without. Raises NoThreadError; may be repeated."""
    try:
        thread.start()
    except (RuntimeError, MemoryError) as error:
        raise NoThreadError(purpose, error) from None
