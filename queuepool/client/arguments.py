"""Validation of call arguments: durations, ids, waits.

The only place where a producer's clock counts.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta

from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown

_OWN_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_MAX_DELAY_S = 366 * 86400


def seconds_of(delay: timedelta | float | None, delay_s: float | None) -> float | None:
    """Return the delay in seconds from either argument; giving both is an error."""
    if delay is None:
        return delay_s
    if delay_s is not None:
        raise InvalidInputError("use delay or delay_s, not both")
    return delay.total_seconds() if isinstance(delay, timedelta) else delay


def delay_until(
    run_at: datetime | None, delay_s: float | None, delay: timedelta | float | None = None
) -> float | None:
    """Return the delay in seconds from one of the arguments.

    More than one argument, or a naive datetime, is an error.
    """
    if delay is not None:
        delay_s = seconds_of(delay, delay_s)
    if run_at is None:
        return delay_s
    if delay_s is not None:
        raise InvalidInputError("use a delay or run_at, not both")
    if not isinstance(run_at, datetime):
        raise InvalidInputError(f"run_at={shown(run_at)} must be a datetime, or use delay")
    if run_at.utcoffset() is None:
        raise InvalidInputError(
            f"run_at={run_at} has no time zone; use datetime.now(UTC) + timedelta(...)"
        )
    return max(0.0, (run_at - datetime.now(UTC)).total_seconds())


def check_delay(delay_s: object) -> float:
    """Return a valid delay in seconds. Raises InvalidInputError."""
    if isinstance(delay_s, (int, float)) and not isinstance(delay_s, bool):
        seconds = float(delay_s) if abs(delay_s) < 1e300 else math.inf
        if 0 <= seconds <= _MAX_DELAY_S:
            return seconds
    raise InvalidInputError(
        f"delay_s={shown(delay_s)}: use 0 s to 366 days, or delay=timedelta(...)"
    )


def check_wait(name: str, seconds: object) -> float:
    """Return a valid time to wait, possibly infinite. Raises InvalidInputError."""
    if isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and seconds >= 0:
        return seconds
    raise InvalidInputError(f"{name}={shown(seconds)}: use 0 s or more")


def check_job_id(job_id: object) -> str:
    """Return a valid id chosen by the user. Raises InvalidInputError."""
    if isinstance(job_id, str) and _OWN_ID.fullmatch(job_id):
        return job_id
    raise InvalidInputError(f"job_id={shown(job_id)}: use 1 to 64 of A-Z a-z 0-9 _ . : -")
