"""SIGTERM and SIGINT handlers for a process whose job handlers may fork."""

from __future__ import annotations

import signal
from collections.abc import Callable

from queuepool.servers import forking


class SignalHandlers:
    """Our handler, and the previous ones, which a job handler's forked child gets back."""

    def __init__(self, handler: Callable[[int, object], None]) -> None:
        self._before = {n: signal.signal(n, handler) for n in (signal.SIGTERM, signal.SIGINT)}
        forking.keep(self)

    def put_back(self) -> None:
        """Restore the previous handlers. Idempotent."""
        while self._before:
            signal.signal(*self._before.popitem())

    def after_fork(self) -> None:
        """Let SIGTERM end a child, as the code that forked it expects."""
        self.put_back()
