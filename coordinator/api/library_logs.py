"""Limits the rate at which grpc logs about its callers.

Its asyncio server logs an error with a traceback for metadata that is not UTF-8, and its C code a
line on standard error for each failed handshake: either could fill a disk.
"""

from __future__ import annotations

import logging
import os

from coordinator.api.callers import cleaned
from queuepool.telemetry.few_lines import FewLines

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


class _Few(FewLines):
    """Passes few of grpc's records, without what callers wrote into them."""

    def text_of(self, record: logging.LogRecord) -> str:
        text = cleaned(record.getMessage(), _MOST_CHARACTERS).replace("\\x20", " ")
        if (
            "Invalid encoding" in text
        ):  # caused by what a caller sent: the place in grpc's code is useless
            record.exc_info = record.exc_text = None
        return text
