"""When a schedule is due: at the times of a cron expression in a time zone, or at intervals. Pure.

    30 3 * * MON-FRI      minute, hour, day of the month, month, day of the week
    0 */2 1,15,L * *      lists, ranges (1-5), steps (*/2, 8-18/2); L is the last day of the month

If both the day of the month and the day of the week are restricted, either suffices. Where clocks
change, as most crons do it:

- A fixed time, whose minute and hour do not begin with `*`, is due once a day: what the change
  skips is due right after it, what it repeats is due the first time.
- Any other follows the wall clock: `*/15 * * * *` is due every 15 minutes, also within the
  repeated hour; what is skipped is not due.
"""

from __future__ import annotations

import calendar
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final, Protocol

from queuepool.errors.escaping import shown

_MONTHS: Final = (
    *("JAN", "FEB", "MAR", "APR", "MAY", "JUN"),
    *("JUL", "AUG", "SEP", "OCT", "NOV", "DEC"),
)
_DAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_NAMED: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_FIELDS: Final = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 7, _DAYS),
)
_PART = re.compile(r"(\*|[0-9A-Z]+(?:-[0-9A-Z]+)?)(?:/([0-9]{1,3}))?")
_LAST = 32  # the last day of a month, among its days
_SEARCHED_DAYS = 366 * 8 + 2  # between two leap days, across a year such as 2100
_KEPT_DAYS = 16
MAX_TEXT = 200


class Timetable(Protocol):
    """Times in ms since 1970, in order."""

    def after(self, ms: int) -> int | None:
        """Return the first time after a moment; None if it is too far away."""

    def count(self, after: int, until: int) -> int:
        """Return how many times are after one moment, and not after another."""

    def skip(self, after: int, times: int) -> int:
        """Return the last of so many times after a moment; the moment itself for none."""


@dataclass(frozen=True, slots=True)
class Every:
    """Multiples of an interval since 1970 in UTC, so that every process knows the same times."""

    interval_ms: int

    def after(self, ms: int) -> int | None:
        """Return the first multiple after a moment."""
        return (ms // self.interval_ms + 1) * self.interval_ms

    def count(self, after: int, until: int) -> int:
        """Return how many are after one moment, and not after another."""
        return max(0, until // self.interval_ms - after // self.interval_ms)

    def skip(self, after: int, times: int) -> int:
        """Return the last of so many multiples after a moment; the moment itself for none."""
        return (after // self.interval_ms + times) * self.interval_ms if times else after


@dataclass(frozen=True, slots=True)
class Cron:
    """The times of a cron expression in a zone; see parse_cron. weekdays: Sunday is 0.

    either: whether a day of the month or of the week suffices. fixed: whether it is a fixed time.
    """

    text: str
    zone: tzinfo
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool
    fixed: bool
    _known: dict[date, tuple[int, ...]] = field(default_factory=dict, repr=False, compare=False)

    def after(self, ms: int) -> int | None:
        """Return the first time after a moment, None if there is none within eight years."""
        for times in self._following(ms):
            return times[0]
        return None

    def count(self, after: int, until: int) -> int:
        """Return how many are after one moment, and not after another."""
        found = 0
        for times in self._following(after):
            counted = bisect_right(times, until)
            found += counted
            if counted < len(times):
                break
        return found

    def skip(self, after: int, times: int) -> int:
        """Return the last of so many times after a moment; the moment itself for none."""
        for following in self._following(after) if times else ():
            if times <= len(following):
                return following[times - 1]
            times -= len(following)
            after = following[-1]
        return after

    def _following(self, ms: int) -> Iterator[tuple[int, ...]]:
        """Return all times after a moment, day by day, until none follows within eight years."""
        try:
            day = datetime.fromtimestamp(ms / 1000, UTC).astimezone(self.zone).date()
            day -= timedelta(days=1)  # whose clock may have been put back over midnight
            left = _SEARCHED_DAYS
            while left:
                times = self._of(day)
                times = times[bisect_right(times, ms) :]
                if times:
                    yield times
                    ms, left = times[-1], _SEARCHED_DAYS
                day += timedelta(days=1)
                left -= 1
        except (ValueError, OverflowError, OSError):  # a clock that is far off
            return

    def _of(self, day: date) -> tuple[int, ...]:
        """Return the times of a day, in order."""
        known = self._known.get(day)
        if known is None:
            known = tuple(sorted(set(self._made(day)))) if self._has(day) else ()
            if len(self._known) >= _KEPT_DAYS:
                self._known.clear()
            self._known[day] = known
        return known

    def _has(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        last = day.day == calendar.monthrange(day.year, day.month)[1]
        in_month = day.day in self.days or (last and _LAST in self.days)
        in_week = day.isoweekday() % 7 in self.weekdays
        return (in_month or in_week) if self.either else (in_month and in_week)

    def _made(self, day: date) -> Iterator[int]:
        for hour in self.hours:
            for minute in self.minutes:
                here = datetime(day.year, day.month, day.day, hour, minute, tzinfo=self.zone)
                yield from self._moments(here)

    def _moments(self, here: datetime) -> Iterator[int]:
        first, second = here.timestamp(), here.replace(fold=1).timestamp()
        if first <= second:  # it is there, once or twice
            yield round(first) * 1000
            if not self.fixed and second > first:
                yield round(second) * 1000
        elif self.fixed:
            yield _end_of_gap(round(second), round(first), self.zone) * 1000


def _end_of_gap(before: int, after: int, zone: tzinfo) -> int:
    """Return the second at which the clock was put forward, between two."""
    offset = datetime.fromtimestamp(after, zone).utcoffset()
    while after - before > 1:
        middle = (before + after) // 2
        if datetime.fromtimestamp(middle, zone).utcoffset() == offset:
            after = middle
        else:
            before = middle
    return after


def parse_cron(text: str, zone: tzinfo) -> Cron:
    """Return the times of a cron expression. Raises ValueError."""
    words = _NAMED.get(text.strip().lower(), text).split() if len(text) <= MAX_TEXT else []
    if len(words) != len(_FIELDS):
        raise ValueError(
            f"cron {shown(text)}: write five fields: minute, hour, day of the month, month, day of "
            "the week, such as 30 3 * * MON-FRI; or @hourly, @daily, @weekly, @monthly, @yearly"
        )
    minutes, hours, days, months, weekdays = (
        _values(text, word.upper(), *about) for word, about in zip(words, _FIELDS, strict=True)
    )
    made = Cron(
        text=" ".join(words).upper(),
        zone=zone,
        minutes=tuple(sorted(minutes)),
        hours=tuple(sorted(hours)),
        days=frozenset(days),
        months=frozenset(months),
        weekdays=frozenset(day % 7 for day in weekdays),
        either=not words[2].startswith("*") and not words[4].startswith("*"),
        fixed=not words[0].startswith("*") and not words[1].startswith("*"),
    )
    if made.after(0) is None:
        raise ValueError(f"cron {shown(text)} is never due: no month has such a day")
    return made


def _values(
    text: str, word: str, name: str, least: int, most: int, named: tuple[str, ...]
) -> set[int]:
    found = set[int]()
    for part in word.split(","):
        match = _PART.fullmatch(part)
        if part == "L" and name == "day of the month":
            found.add(_LAST)
            continue
        step = int(match[2]) if match is not None and match[2] else 1
        if match is None or step < 1:
            raise _invalid(text, part, name, least, most)
        if match[1] == "*":
            found.update(range(least, (6 if most == 7 else most) + 1, step))
            continue
        first, _, last = match[1].partition("-")
        start = _number(first, named, least)
        end = _number(last, named, least) if last else (most if match[2] else start)
        if named is _DAYS and last and end == 0:
            end = 7  # MON-SUN
        if start is None or end is None or not least <= start <= end <= most:
            raise _invalid(text, part, name, least, most)
        found.update(range(start, end + 1, step))
    return found


def _number(text: str, named: tuple[str, ...], least: int) -> int | None:
    if text in named:
        return named.index(text) + least
    return int(text) if re.fullmatch(r"[0-9]{1,2}", text) else None


def _invalid(text: str, part: str, name: str, least: int, most: int) -> ValueError:
    return ValueError(
        f"cron {shown(text)}: {shown(part)} is no {name}: use {least} to {most}, *, lists, ranges "
        "and steps (1,15 or 1-5 or */2)"
    )
