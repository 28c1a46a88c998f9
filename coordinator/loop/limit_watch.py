"""Reads the limits every few seconds for the metrics, on a thread of its own.

A server that hangs delays neither the control loop nor a scrape. What cannot be read is not shown,
rather than shown as it was.
"""

from __future__ import annotations

import logging
import threading

from coordinator.snapshots.limits import LimitBoard
from queuepool.client.pool import QueuePool
from queuepool.errors import QueuePoolError
from queuepool.errors.hindrances import start_thread

SHOWN = 100  # limits, so that names made of payloads cannot fill a monitoring system
INTERVAL_S = 5.0
_log = logging.getLogger("coordinator.limits")


class LimitWatch:
    """Watches the first limits by home and name, from start() to stop()."""

    def __init__(
        self, pool: QueuePool, board: LimitBoard, *, interval_s: float = INTERVAL_S
    ) -> None:
        self._pool, self._board, self._interval_s = pool, board, interval_s
        self._stopping = threading.Event()
        self._trouble = False
        # A daemon, so that a hanging server does not keep the process from exiting.
        self._thread = threading.Thread(target=self._run, name="coordinator-limits", daemon=True)

    def start(self) -> None:
        """Start; call once. Raises NoThreadError."""
        start_thread(self._thread, "to watch limits")

    def stop(self) -> None:
        """Stop soon, without waiting. Idempotent, legal before start."""
        self._stopping.set()

    def look(self) -> None:
        """Read the limits once."""
        try:
            found, _ = self._pool.limits.page("", SHOWN)
        except QueuePoolError as error:
            if not self._trouble:
                _log.warning("the limits cannot be read, so metrics do not show them: %s", error)
            self._trouble, found = True, []
        else:
            self._trouble = False
        self._board.seen = tuple(found)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.look()
            self._stopping.wait(self._interval_s)
