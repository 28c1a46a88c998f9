"""Exceptions with which handlers control their own jobs, and how jobs ended."""

from __future__ import annotations

from datetime import timedelta

from queuepool.errors.base import InvalidInputError, QueuePoolError


class JobError(QueuePoolError):
    """Base of exceptions with which a handler controls its own job; their text is the handler's."""

    __str__ = Exception.__str__


class PermanentError(JobError):
    """Raise in a handler when no retry can help: the job is buried at once."""


class RetryLater(JobError):  # noqa: N818 - reads as an instruction: raise RetryLater(30)
    """Raise in a handler to run the job again later, without using an attempt.

    RetryLater(30), RetryLater(timedelta(minutes=5), "busy"); `delay_s`: the same in seconds.
    """

    _name = "RetryLater"

    def __init__(
        self,
        delay_s: float | timedelta | None = None,
        reason: str = "",
        *,
        delay: timedelta | float | None = None,
    ) -> None:
        if (delay is None) == (delay_s is None):
            raise InvalidInputError(f"{self._name} takes one delay: a timedelta, or seconds")
        given = delay_s if delay is None else delay
        seconds = given.total_seconds() if isinstance(given, timedelta) else given
        if not (isinstance(seconds, (int, float)) and 0 <= seconds <= 366 * 86400):
            raise InvalidInputError(f"{self._name}({given}): the delay must be 0 s to 366 days")
        self.delay_s: float = seconds
        super().__init__(reason or f"requested a retry in {seconds:g} s")


class RateLimited(RetryLater):
    """Raise in a handler when a downstream says to wait, as by 429 with Retry-After.

    The job runs again after that time, without using an attempt, and no other job starts before it
    that names one of its limits. RateLimited(30), RateLimited(timedelta(minutes=5), "busy").
    """

    _name = "RateLimited"

    def __init__(self, retry_after_s: float | timedelta, reason: str = "") -> None:
        super().__init__(retry_after_s, reason)


class JobCancelled(JobError):  # noqa: N818 - a state, not a failure
    """Raise in a handler that stops because cancellation was requested."""


class JobExpired(JobError):  # noqa: N818 - a state, not a failure
    """The job whose result was wanted did not start before it expired, and never will."""


class JobTimeoutError(JobError):
    """Raised inside a handler that ran longer than its timeout; counts as a failed attempt."""


class BadResultError(InvalidInputError):
    """A handler returned what cannot be stored as its result. Only raised within consumers."""
