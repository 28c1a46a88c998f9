"""Times at which more workers are wanted, or another profile: windows of local time. Pure.

    MON-FRI 08:30-10:00 Asia/Seoul floor=16     at least 16 workers a partition
    DAILY 22:00-06:00 profile=quiet             in UTC; from the day on which it begins
    2026-11-27 07:45-12:00 Europe/Berlin times=3    three times what the policy wants

A window follows the wall clock: an hour that daylight saving time skips is not in it, one that
is repeated is in it twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final

from queuepool.errors.escaping import shown
from queuepool.models.zones import zone_of

_DAYS: Final = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_TIMES = re.compile(r"([0-2][0-9]):([0-5][0-9])-([0-2][0-9]):([0-5][0-9])")
_MOST_WORKERS, _MOST_TIMES, MOST_WINDOWS = 4096, 100.0, 50
_DAY_MINUTES = 24 * 60
_EXAMPLE = "write, for example, MON-FRI 08:30-10:00 Asia/Seoul floor=16"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One window. days: of the week, 0 is Monday; on: the only day of one that does not repeat.

    begin and end: minutes of the day; an end that is not later is on the next day.
    """

    text: str
    days: frozenset[int]
    on: date | None
    begin: int
    end: int
    zone: tzinfo
    floor: int = 0
    times: float = 1.0
    profile: str = ""

    def is_open(self, now_ms: int) -> bool:
        """Return whether a moment is within the window."""
        try:
            here = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(self.zone)
            yesterday = here.date() - timedelta(days=1)
        except (ValueError, OverflowError, OSError):  # a clock that is far off
            return False
        minute = here.hour * 60 + here.minute
        if self.begin < self.end:
            return self._is_on(here.date()) and self.begin <= minute < self.end
        return (self._is_on(here.date()) and minute >= self.begin) or (
            self._is_on(yesterday) and minute < self.end
        )

    def is_over(self, now_ms: int) -> bool:
        """Return whether it was on a single day, and cannot open again."""
        if self.on is None:
            return False
        days = 0 if self.begin < self.end else 1
        try:
            end = datetime.combine(self.on, time.min, self.zone)
            end += timedelta(days=days, minutes=self.end)  # of the wall clock
            # An end within an hour that is repeated comes twice.
            return now_ms / 1000 >= max(end.replace(fold=fold).timestamp() for fold in (0, 1))
        except (ValueError, OverflowError, OSError):  # a date that is far off
            return False

    def _is_on(self, day: date) -> bool:
        return day == self.on if self.on is not None else day.weekday() in self.days


def parse_windows(text: str, profiles: tuple[str, ...]) -> tuple[Window, ...]:
    """Return the windows of a text, separated by semicolons. Raises ValueError."""
    parts = [part for part in (one.strip() for one in text.split(";")) if part]
    if len(parts) > MOST_WINDOWS:
        raise ValueError(f"{len(parts)} windows; at most {MOST_WINDOWS} are possible")
    return tuple(_window(part, profiles) for part in parts)


def _window(text: str, profiles: tuple[str, ...]) -> Window:
    words = text.split()
    if len(words) < 3:
        raise ValueError(f"window {shown(text)}: {_EXAMPLE}")
    days, on = _days(words[0])
    begin, end = _minutes(words[1])
    zoned = "=" not in words[2]
    effects: dict[str, int | float | str] = {}
    for word in words[3 if zoned else 2 :]:
        name, _, value = word.partition("=")
        if name in effects:
            raise ValueError(f"window {shown(text)}: {name} is given twice")
        effects[name] = _effect(name, value, word, profiles)
    if not effects:
        raise ValueError(f"window {shown(text)} has no effect: add floor=N, times=N or profile=P")
    return Window(
        text=" ".join(words),
        days=days,
        on=on,
        begin=begin,
        end=end,
        zone=zone_of(words[2]) if zoned else UTC,
        **effects,  # type: ignore[arg-type]  # of the types that _effect returns by name
    )


def _days(text: str) -> tuple[frozenset[int], date | None]:
    if text.upper() == "DAILY":
        return frozenset(range(7)), None
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        try:
            return frozenset(), date.fromisoformat(text)
        except ValueError:
            raise ValueError(f"there is no day {text}") from None
    found = set[int]()
    for part in text.upper().split(","):
        first, _, last = part.partition("-")
        if first not in _DAYS or (last or first) not in _DAYS:
            raise ValueError(
                f"{shown(text)} names no days: use MON, MON-FRI, SAT,SUN, DAILY or 2026-11-27"
            )
        start = _DAYS.index(first)
        length = (_DAYS.index(last or first) - start) % 7
        found |= {(start + n) % 7 for n in range(length + 1)}
    return frozenset(found), None


def _minutes(text: str) -> tuple[int, int]:
    match = _TIMES.fullmatch(text)
    begin, end = (
        (int(match[1]) * 60 + int(match[2]), int(match[3]) * 60 + int(match[4]))
        if match
        else (-1, -1)
    )
    if not (0 <= begin < _DAY_MINUTES and 0 <= end <= _DAY_MINUTES):
        raise ValueError(f"{shown(text)} is not a time span: write 08:30-10:00")
    if begin == end:
        raise ValueError(f"{text} is empty; 00:00-24:00 is a whole day")
    return begin, end


def _effect(name: str, value: str, word: str, profiles: tuple[str, ...]) -> int | float | str:
    if name == "profile":
        if value not in profiles:
            raise ValueError(f"there is no profile {shown(value)}: use {', '.join(profiles)}")
        return value
    if name == "floor" and re.fullmatch(r"[0-9]{1,5}", value) and int(value) <= _MOST_WORKERS:
        if int(value) >= 1:
            return int(value)
    elif name == "times" and re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,3})?", value):
        if 1 < float(value) <= _MOST_TIMES:
            return float(value)
    elif name not in ("floor", "times"):
        raise ValueError(f"{shown(word)} is unknown in a window: {_EXAMPLE}")
    bounds = f"1 to {_MOST_WORKERS}" if name == "floor" else f"above 1, at most {_MOST_TIMES:g}"
    raise ValueError(f"{shown(word)}: {name} is {bounds}")
