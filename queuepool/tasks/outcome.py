"""What an exception of a handler means: the record that is kept, and whether the job is dead.

permanent, undecodable, bad-payload      dead at once: another attempt would end alike
anything else                            an attempt, of as many as the job has
"""

from __future__ import annotations

import traceback

from queuepool.errors import (
    BadPayloadError,
    InvalidInputError,
    JobTimeoutError,
    PermanentError,
    UndecodableError,
    UnknownTaskError,
)
from queuepool.models import ErrorRecord

_REASONS: tuple[tuple[type[BaseException], str], ...] = (
    (PermanentError, "permanent"),
    (UndecodableError, "undecodable"),
    (BadPayloadError, "bad-payload"),
    (UnknownTaskError, "unknown-task"),
    (JobTimeoutError, "timeout"),
    (InvalidInputError, "bad-result"),
)
_FINAL = frozenset(("permanent", "undecodable", "bad-payload"))
_MAX_TEXT = 8192  # before encode_error cuts it, so that a huge text costs nothing


def is_last(reason: str, attempt: int, max_attempts: int) -> bool:
    """Return whether a job is dead after an attempt, from 1, that failed for this reason."""
    return reason in _FINAL or attempt >= max_attempts


def record_of(error: BaseException) -> ErrorRecord:
    """Return what is kept of an exception, whatever it does when it is looked at."""
    reason = next((reason for kind, reason in _REASONS if isinstance(error, kind)), "failed")
    try:
        name = type(error).__qualname__
        return ErrorRecord(
            reason=reason, type=name, message=_text(error, name), traceback=_traceback(error)
        )
    except BaseException:  # a class whose name cannot be read
        return ErrorRecord(
            reason=reason,
            type="RuntimeError",
            message="the handler raised an exception that has no readable name",
        )


def _text(error: BaseException, name: str) -> str:
    try:
        return _plain(str(error)[:_MAX_TEXT])
    except BaseException:
        return f"<{name}: its text cannot be made>"


def _traceback(error: BaseException) -> str:
    try:
        text = "".join(traceback.format_exception(error, limit=-20, chain=False))
        return _plain(text[-_MAX_TEXT:])
    except BaseException:
        return ""


def _plain(text: str) -> str:
    # File names and damaged input come with lone surrogates, which no JSON can carry.
    return text.encode("utf-8", "backslashreplace").decode()
