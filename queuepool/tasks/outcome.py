"""The outcome of a handler's exception: the record to keep, and whether the job is dead.

permanent, undecodable, bad-payload      dead at once: another attempt would fail, too
anything else                            uses one of the job's attempts
"""

from __future__ import annotations

from queuepool.errors import (
    BadPayloadError,
    JobTimeoutError,
    PermanentError,
    UndecodableError,
    UnknownTaskError,
)
from queuepool.errors.jobs import BadResultError
from queuepool.models import ErrorRecord
from queuepool.tasks import stack

_REASONS: tuple[tuple[type[BaseException], str], ...] = (
    (PermanentError, "permanent"),
    (UndecodableError, "undecodable"),
    (BadPayloadError, "bad-payload"),
    (UnknownTaskError, "unknown-task"),
    (JobTimeoutError, "timeout"),
    (BadResultError, "bad-result"),
)
_FINAL = frozenset(("permanent", "undecodable", "bad-payload"))
_MAX_TEXT = 8192  # before encode_error cuts it, so that a huge text costs nothing


def is_last(reason: str, attempt: int, max_attempts: int) -> bool:
    """Return whether a job is dead after this attempt, from 1, failed for this reason."""
    return reason in _FINAL or attempt >= max_attempts


def record_of(error: BaseException, callers: tuple[str, ...] = ()) -> ErrorRecord:
    """Return the record of an exception, however it behaves when inspected.

    callers: files whose frames are left out of its traceback (see stack).
    """
    reason = next((reason for kind, reason in _REASONS if isinstance(error, kind)), "failed")
    try:
        name = type(error).__qualname__
        return ErrorRecord(
            reason=reason,
            type=name,
            message=_text(error, name),
            traceback=_traceback(error, callers),
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


def _traceback(error: BaseException, callers: tuple[str, ...]) -> str:
    try:
        return _plain(stack.text_of(error, callers)[-_MAX_TEXT:])
    except BaseException:
        return ""


def _plain(text: str) -> str:
    # File names and damaged input contain lone surrogates, which JSON cannot encode.
    return text.encode("utf-8", "backslashreplace").decode()
