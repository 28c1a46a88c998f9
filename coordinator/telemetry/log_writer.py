"""Writes entries of the log, on a thread of its own: who adds one never waits, and never fails.

Entries wait while the server is away, the latest WAITING of them. Of kinds that machines cause, at
most A_MINUTE are written in a minute, and one more tells how many were left out: a consumer that
flaps must not push out what happened before.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Self

from queuepool.client import log
from queuepool.client.pool import QueuePool
from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.errors.hindrances import start_thread
from queuepool.models.log import LogEntry, LogKind

WAITING = 1_000
A_MINUTE = 60
_WINDOW_S, _AT_ONCE = 60.0, 100
_INTERVAL_S, _RETRY_S = 0.5, 2.0
_log = logging.getLogger("coordinator.log")


class LogWriter:
    """Writes from start() to stop(). write: what stores entries; by default in the queue's log."""

    def __init__(
        self,
        pool: QueuePool,
        *,
        write: Callable[[Sequence[LogEntry]], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = write or (lambda entries: pool.carry_out(log.write(entries)))
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: deque[LogEntry] = deque()
        self._dropped = 0
        self._of_window: Counter[LogKind] = Counter()
        self._window_ends_s = clock() + _WINDOW_S
        self._trouble = False
        self._added, self._stopping = threading.Event(), threading.Event()
        # A daemon, so that a hanging server does not keep the process from exiting.
        self._thread = threading.Thread(target=self._run, name="coordinator-log", daemon=True)

    def add(self, entry: LogEntry) -> None:
        """Have an entry written soon. For any thread; never waits."""
        with self._lock:
            self._turn_window()
            if entry.kind is not LogKind.ACT:
                self._of_window[entry.kind] += 1
                if self._of_window[entry.kind] > A_MINUTE:
                    return
            self._append(entry)
        self._added.set()

    def _append(self, entry: LogEntry) -> None:
        self._waiting.append(entry)
        if len(self._waiting) > WAITING:
            self._waiting.popleft()
            self._dropped += 1

    def _turn_window(self) -> None:
        if self._clock() < self._window_ends_s:
            return
        for kind, count in self._of_window.items():
            if count > A_MINUTE:
                more = f"{count - A_MINUTE:,} more within a minute"
                self._append(LogEntry(kind=kind, what="left out", outcome=more))
        self._of_window.clear()
        self._window_ends_s = self._clock() + _WINDOW_S

    def start(self) -> None:
        """Start; call once. Raises NoThreadError."""
        start_thread(self._thread, "to write the log")

    def stop(self, timeout_s: float = 0.3) -> None:
        """Write what waits, for at most this long. Idempotent, legal before start."""
        self._stopping.set()
        self._added.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def flush(self) -> bool:
        """Write what waits; returns whether nothing is left, or could ever be written."""
        with self._lock:
            self._turn_window()
        while True:
            with self._lock:
                entries = [
                    self._waiting.popleft() for _ in range(min(_AT_ONCE, len(self._waiting)))
                ]
            if not entries:
                return True
            try:
                self._store(entries)
            except UnavailableError as error:
                self._put_back(entries)
                self._complain("entries are buffered until then: %s", error)
                return False
            except QueuePoolError as error:  # not permitted, say: it will be no better later
                self._dropped += len(entries)
                self._complain("new entries are dropped until then: %s", error)
                continue
            if self._trouble or self._dropped:
                _log.info("the log can be written again", extra={"left_out": self._dropped})
            self._trouble, self._dropped = False, 0

    def _put_back(self, entries: Sequence[LogEntry]) -> None:
        with self._lock:
            room = WAITING - len(self._waiting)
            kept = list(entries)[max(0, len(entries) - room) :] if room > 0 else []
            self._dropped += len(entries) - len(kept)
            self._waiting.extendleft(reversed(kept))

    def _complain(self, what: str, error: Exception) -> None:
        if not self._trouble:
            _log.warning("the log of the queue cannot be written; " + what, error)
        self._trouble = True

    def _run(self) -> None:
        while True:
            self._added.wait(_WINDOW_S)
            self._added.clear()
            stops = self._stopping.is_set()
            if not stops:
                self._stopping.wait(_INTERVAL_S)  # what comes together is written together
            try:
                done = self.flush()
            except Exception:
                _log.exception("the log of the queue could not be written")
                done = True
            if stops:
                return
            if not done:
                self._added.set()
                self._stopping.wait(_RETRY_S)
