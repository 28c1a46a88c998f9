"""A thread that monitors another one, and ends the process once that has stopped permanently."""

from __future__ import annotations

import threading
from collections.abc import Callable

from queuepool.errors.hindrances import start_thread


class Watch:
    """Checks every `interval_s`; calls `end` once, with the first reason that `look` returns.

    look: returns why the process should end, or None. It runs on the watching thread.
    """

    def __init__(
        self,
        look: Callable[[], str | None],
        end: Callable[[str], None],
        *,
        interval_s: float,
        name: str,
    ) -> None:
        self._look, self._end, self._interval_s = look, end, interval_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start watching. Raises NoThreadError."""
        start_thread(self._thread, "for the watchdog")

    def stop(self) -> None:
        """Stop watching; legal before start, idempotent."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=1.0)

    def _run(self) -> None:
        while not self._stopping.wait(self._interval_s):
            why = self._look()
            if why is not None:
                self._end(why)
                return
