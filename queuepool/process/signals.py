"""SIGTERM and SIGINT handlers for a process whose job handlers may fork."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

from queuepool.process.launch import default_of
from queuepool.servers import forking


class SignalHandlers:
    """Our handler, and the previous ones, which a job handler's forked child gets back.

    The one of the start does not come back: Python runs it only between two steps of its own, and
    it would end a process that is still giving things back.
    """

    def __init__(self, handler: Callable[[int, object], None]) -> None:
        stopping = signal.SIGTERM, signal.SIGINT
        self._before = {n: _lasting(n, signal.signal(n, handler)) for n in stopping}
        forking.keep(self)

    def put_back(self) -> None:
        """Restore the previous handlers. Idempotent."""
        while self._before:
            signal.signal(*self._before.popitem())

    def after_fork(self) -> None:
        """Let SIGTERM end a child, as the code that forked it expects."""
        self.put_back()


def _lasting(number: int, handler: Any) -> Any:
    if not getattr(handler, "of_start", False):
        return handler
    handler.rest()
    return default_of(number)
