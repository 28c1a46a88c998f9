"""Limits the rate at which grpc logs about its callers.

Its asyncio server logs an error with a traceback for metadata that is not UTF-8, and its C code a
line on standard error for each failed handshake: either could fill a disk.
"""

from __future__ import annotations

import logging
import os
import time

from coordinator.api.callers import cleaned
from coordinator.api.refusals import LINES, WINDOW_S

_LOGGER = "grpc._cython.cygrpc"
_MOST_CHARACTERS = 300
# A header that is not text; a caller that hung up before the reply.
_OF_CALLERS = ("Invalid encoding", "ExecuteBatchError")


def quieten() -> None:
    """Limit what grpc logs in this process. Must be called before grpc is imported."""
    # To debug a connection, set it yourself, to INFO or DEBUG.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    logger = logging.getLogger(_LOGGER)
    if not any(isinstance(known, _Few) for known in logger.filters):
        logger.addFilter(_Few())


class _Few(logging.Filter):
    """Passes LINES records per WINDOW_S; the first of a window says how many were omitted."""

    def __init__(self) -> None:
        super().__init__()
        self._ends_s, self._count = 0.0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        now_s = time.monotonic()
        kept_back = 0
        if now_s >= self._ends_s:
            kept_back, self._count = max(0, self._count - LINES), 0
            self._ends_s = now_s + WINDOW_S
        self._count += 1
        if self._count > LINES:
            return False
        text = cleaned(record.getMessage(), _MOST_CHARACTERS).replace("\\x20", " ")
        record.msg = f"{text} ({kept_back} similar lines omitted before)" if kept_back else text
        record.args = ()
        if (
            "Invalid encoding" in text
        ):  # caused by what a caller sent: the place in grpc's code is useless
            record.exc_info = record.exc_text = None
        return True
