"""Logs of the processes: one line an event, JSON for machines or text for people."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and the record's extra fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update({k: v for k, v in vars(record).items() if k not in _STANDARD})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """time level logger: message key=value ..."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        text = super().format(record)
        extra = " ".join(f"{k}={v}" for k, v in vars(record).items() if k not in _STANDARD)
        return f"{text} {extra}".rstrip()


def configure(style: str = "text", level: str = "INFO") -> None:
    """Send all logs of this process to standard error in the given style, json or text.

    A record that cannot be written is dropped, even when somebody closed standard error.
    """
    logging.raiseExceptions = False
    handler = logging.StreamHandler(sys.stderr)
    text = TextFormatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    handler.setFormatter(JsonFormatter() if style == "json" else text)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
