r"""Logs of the processes: one line per record, as JSON or text.

    2026-11-20 17:29:14,728 WARNING consumer: job gD4 failed task=send group="a b"
        Traceback (most recent call last):                  of the record above: indented

Untrusted text cannot begin a line or control a terminal: in messages and values everything
invisible is escaped (queuepool.errors.escaping), including newlines. A value with a blank or a = is
quoted, so that it is not taken for several. Only lines of tracebacks are indented.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from datetime import UTC, datetime
from types import TracebackType

from queuepool.errors.escaping import block, visible
from queuepool.telemetry.printing import json_line
from queuepool.telemetry.running import JobLogFilter

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_REPEATED = {"color_message"}  # uvicorn's message once more, coloured and without its arguments
_NO_FIELDS = _STANDARD | _REPEATED
_log = logging.getLogger("queuepool")


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time, level, logger, message, and the record's extra fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update({k: v for k, v in vars(record).items() if k not in _NO_FIELDS})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json_line(line)


class TextFormatter(logging.Formatter):
    """time level logger: message key=value ... on one line; a traceback indented below it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text."""
        record.message = record.getMessage()
        if self.usesTime():
            record.asctime = self.formatTime(record)
        extra = (f"{k}={_value(v)}" for k, v in vars(record).items() if k not in _NO_FIELDS)
        text = visible(" ".join((self.formatMessage(record), *extra)).rstrip())
        for more in (self._traceback(record), record.stack_info or ""):
            if more:
                text = f"{text}\n{block(more)}"
        return text

    def _traceback(self, record: logging.LogRecord) -> str:
        made_before = record.exc_text or ""  # by a handler that cannot send tracebacks
        return self.formatException(record.exc_info) if record.exc_info else made_before


def _value(value: object) -> str:
    text = visible(str(value))
    is_word = text and not any(c in ' ="' or c.isspace() for c in text)
    return text if is_word or not text else json.dumps(text, ensure_ascii=False)


def configure(style: str = "text", level: str = "INFO") -> None:
    """Send all logs of this process to standard error in the given style, json or text.

    This includes warnings and uncaught errors. A record that cannot be written is dropped, even if
    standard error was closed.
    """
    logging.raiseExceptions = False
    handler = logging.StreamHandler(sys.stderr)
    text = TextFormatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    handler.addFilter(JobLogFilter())
    handler.setFormatter(JsonFormatter() if style == "json" else text)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(True)
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _log_uncaught
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _log_uncaught_of_thread


def clean_last_resort() -> None:
    """Escape log records where logging is not configured: in commands."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(TextFormatter())


def _log_uncaught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    _log.critical("uncaught error", exc_info=(kind, error, trace))


def _log_uncaught_of_thread(failure: threading.ExceptHookArgs) -> None:
    if issubclass(failure.exc_type, SystemExit):
        return
    name = failure.thread.name if failure.thread is not None else "?"
    if failure.exc_value is not None:
        found = (failure.exc_type, failure.exc_value, failure.exc_traceback)
        _log.critical("uncaught error in thread %s", name, exc_info=found)
