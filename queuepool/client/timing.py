"""Times that people give, as durations. The only place where a producer's clock counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from queuepool.errors import InvalidInputError, shown


def seconds_of(delay: timedelta | float | None, delay_s: float | None) -> float | None:
    """Return the delay in seconds that either argument means; both are refused."""
    if delay is None:
        return delay_s
    if delay_s is not None:
        raise InvalidInputError("give delay or delay_s, not both")
    return delay.total_seconds() if isinstance(delay, timedelta) else delay


def delay_until(
    run_at: datetime | None, delay_s: float | None, delay: timedelta | float | None = None
) -> float | None:
    """Return the delay that one of the arguments means, in seconds.

    More than one, or a naive datetime, are refused.
    """
    if delay is not None:
        delay_s = seconds_of(delay, delay_s)
    if run_at is None:
        return delay_s
    if delay_s is not None:
        raise InvalidInputError("give a delay or run_at, not both")
    if not isinstance(run_at, datetime):
        raise InvalidInputError(f"run_at={shown(run_at)} must be a datetime, or use delay")
    if run_at.utcoffset() is None:
        raise InvalidInputError(
            f"run_at={run_at} has no time zone; use datetime.now(UTC) + timedelta(...)"
        )
    return max(0.0, (run_at - datetime.now(UTC)).total_seconds())
