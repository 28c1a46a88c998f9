"""Times that people give, as durations. The only place where a producer's clock counts."""

from __future__ import annotations

from datetime import UTC, datetime

from queuepool.errors import InvalidInputError, shown


def delay_until(run_at: datetime | None, delay_s: float | None) -> float | None:
    """Return the delay that either argument means; both or a naive datetime are refused."""
    if run_at is None:
        return delay_s
    if delay_s is not None:
        raise InvalidInputError("give delay_s or run_at, not both")
    if not isinstance(run_at, datetime):
        raise InvalidInputError(f"run_at={shown(run_at)} must be a datetime, or use delay_s")
    if run_at.utcoffset() is None:
        raise InvalidInputError(
            f"run_at={run_at} has no time zone; use datetime.now(UTC) + timedelta(...)"
        )
    return max(0.0, (run_at - datetime.now(UTC)).total_seconds())
