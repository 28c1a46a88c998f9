"""Moments as people type them: 02:10, 2026-11-23 02:10, or 10m for ten minutes ago. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta, tzinfo

from queuepool.errors.escaping import shown
from queuepool.models.durations import parse_duration

_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?")
_LONGEST = 40  # characters


def parse_moment(text: str, now: datetime, zone: tzinfo | None = None) -> datetime:
    """Return a moment, in the past as seen from now. Raises ValueError.

    A time of day is the last such one. zone: of texts without one; None for the local zone.
    """
    if match := _CLOCK.fullmatch(text):
        hour, minute, second = (int(part or 0) for part in match.groups())
        return _last(time(hour, minute, second), now, zone)
    found = _dated(text, zone) if len(text) <= _LONGEST else None
    if found is None:
        found = _ago(text, now)
    if found is None:
        raise ValueError(
            f"{shown(text)} is not a time: write 02:10, 2026-11-23T02:10, or 10m for 10 minutes ago"
        )
    if found > now:
        raise ValueError(f"{shown(text)} is in the future; nothing is decided there yet")
    return found


def _last(clock: time, now: datetime, zone: tzinfo | None) -> datetime:
    """Return the last moment that had this time; in the hour that a clock repeats, the later."""
    today = now.astimezone(zone).date()
    moments = [
        _placed(datetime.combine(today - timedelta(days=days), clock.replace(fold=fold)), zone)
        for days in (0, 1)
        for fold in (1, 0)
    ]
    return next(moment for moment in moments if moment <= now)


def _placed(naive: datetime, zone: tzinfo | None) -> datetime:
    # By the zone's offset at that moment: today's may be another.
    return (naive if zone is None else naive.replace(tzinfo=zone)).astimezone(UTC)


def _dated(text: str, zone: tzinfo | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
        return found.astimezone(UTC) if found.tzinfo else _placed(found, zone)
    except (ValueError, OverflowError):
        return None


def _ago(text: str, now: datetime) -> datetime | None:
    try:
        return now - timedelta(seconds=parse_duration(text))
    except (ValueError, OverflowError):
        return None
