"""An observer of wall clocks, who says when a cron expression is due: slow, but plain."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from queuepool.models.timetables import Cron

_MINUTE_MS = 60_000


def observed(cron: Cron, zone: str, begin: int, end: int, minutes: int = 1) -> list[int]:
    """Return what one sees who looks at the wall clock every so many minutes."""
    found, seen = set[int](), set[datetime]()
    before: datetime | None = None
    step, step_ms = timedelta(minutes=minutes), minutes * _MINUTE_MS
    for at in range(begin - begin % step_ms - 86_400_000, end + 1, step_ms):
        here = datetime.fromtimestamp(at / 1000, ZoneInfo(zone)).replace(tzinfo=None)
        passed = [here]
        if cron.fixed and before is not None and here - before > step:
            passed += [before + step * n for n in range(1, (here - before) // step)]
        for wall in passed:
            if cron.fixed and wall in seen:
                continue
            if not cron.fixed and wall != here:
                continue
            if wall.hour in cron.hours and wall.minute in cron.minutes and cron._has(wall.date()):
                found.add(at)
        seen.update(passed)
        before = here
    return sorted(at for at in found if begin < at <= end)
