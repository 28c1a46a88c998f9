"""Handlers of SIGTERM and SIGINT for a process whose handlers of jobs may fork."""

from __future__ import annotations

import signal
from collections.abc import Callable

from queuepool.servers import forking


class SignalHandlers:
    """Our handler, and those before it, which a child of a handler of jobs gets back."""

    def __init__(self, handler: Callable[[int, object], None]) -> None:
        self._before = {n: signal.signal(n, handler) for n in (signal.SIGTERM, signal.SIGINT)}
        forking.keep(self)

    def put_back(self) -> None:
        """Restore what was before us; idempotent."""
        while self._before:
            signal.signal(*self._before.popitem())

    def after_fork(self) -> None:
        """Let SIGTERM end a child, as whoever forked it expects."""
        self.put_back()
