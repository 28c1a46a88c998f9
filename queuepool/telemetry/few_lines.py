"""Bounds how much a library logs about what its callers do: otherwise they could fill a disk."""

from __future__ import annotations

import logging
import time

LINES, WINDOW_S = 5, 60.0


class FewLines(logging.Filter):
    """Passes LINES records in WINDOW_S; the first of the next one says how many were omitted.

    least: the level from which on records are counted; those below it pass.
    """

    def __init__(self, least: int = logging.NOTSET) -> None:
        super().__init__()
        self._least = least
        self._ends_s, self._count = 0.0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < self._least:
            return True
        now_s = time.monotonic()
        omitted = 0
        if now_s >= self._ends_s:
            omitted, self._count = max(0, self._count - LINES), 0
            self._ends_s = now_s + WINDOW_S
        self._count += 1
        if self._count > LINES:
            return False
        text = self.text_of(record)
        record.msg = f"{text} ({omitted} similar lines omitted before)" if omitted else text
        record.args = ()
        return True

    def text_of(self, record: logging.LogRecord) -> str:
        """Return what to say of a record that passes."""
        return record.getMessage()
