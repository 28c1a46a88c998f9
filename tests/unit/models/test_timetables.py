"""When schedules are due, above all where clocks change."""

from __future__ import annotations

from datetime import UTC, date, datetime
from unittest.mock import patch
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuepool.models.timetables import Cron, Every, parse_cron
from queuepool.models.zones import zone_of
from tests.unit.models.observing import observed

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"
ZONES = (BERLIN, NEW_YORK, LORD_HOWE, "UTC", "Asia/Kathmandu", "America/Havana")
MINUTE_MS = 60_000


def ms(text: str, zone: str = "UTC") -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def times(cron: Cron, begin: int, end: int) -> list[int]:
    found = list[int]()
    at = cron.after(begin)
    while at is not None and at <= end:
        found.append(at)
        at = cron.after(at)
    return found


def local(cron: str, zone: str, begin: str, end: str) -> list[str]:
    """Return the local times between two days, with their offsets."""
    found = times(parse_cron(cron, zone_of(zone)), ms(begin, zone), ms(end, zone))
    texts = [datetime.fromtimestamp(at / 1000, ZoneInfo(zone)).isoformat() for at in found]
    return [text[8:16] + text[19:] for text in texts]


@pytest.mark.parametrize(
    ("cron", "zone", "begin", "end", "expected"),
    [
        # A fixed time that is skipped is due right after the gap, one that is repeated, once.
        ("30 2 * * *", BERLIN, "2026-03-28T03:00", "2026-03-30T03:00",
         ["29T03:00+02:00", "30T02:30+02:00"]),
        ("30 2 * * *", BERLIN, "2026-10-24T03:00", "2026-10-26T03:00",
         ["25T02:30+02:00", "26T02:30+01:00"]),
        ("30 2 * * *", NEW_YORK, "2026-03-07T03:00", "2026-03-09T03:00",
         ["08T03:00-04:00", "09T02:30-04:00"]),
        ("30 1 * * *", NEW_YORK, "2026-10-31T03:00", "2026-11-02T03:00",
         ["01T01:30-04:00", "02T01:30-05:00"]),
        ("15 2 * * *", LORD_HOWE, "2026-10-03T03:00", "2026-10-05T03:00",
         ["04T02:30+11:00", "05T02:15+11:00"]),
        ("45 1 * * *", LORD_HOWE, "2026-04-04T03:00", "2026-04-06T03:00",
         ["05T01:45+11:00", "06T01:45+10:30"]),
        # Two skipped ones are due once.
        ("0,30 2 * * *", BERLIN, "2026-03-29T00:00", "2026-03-29T12:00", ["29T03:00+02:00"]),
        # What follows the wall clock is due in both hours, and not in a gap.
        ("*/30 2 * * *", BERLIN, "2026-10-25T00:00", "2026-10-25T12:00",
         ["25T02:00+02:00", "25T02:30+02:00", "25T02:00+01:00", "25T02:30+01:00"]),
        ("*/30 2 * * *", BERLIN, "2026-03-29T00:00", "2026-03-29T12:00", []),
        ("0 * * * *", BERLIN, "2026-03-29T00:30", "2026-03-29T04:30",
         ["29T01:00+01:00", "29T03:00+02:00", "29T04:00+02:00"]),
        ("*/30 1,2 * * *", LORD_HOWE, "2026-04-05T00:00", "2026-04-05T12:00",
         ["05T01:00+11:00", "05T01:30+11:00", "05T01:30+10:30", "05T02:00+10:30",
          "05T02:30+10:30"]),
        # Days
        ("0 9 * * MON-FRI", "UTC", "2026-01-01T12:00", "2026-01-06T12:00",
         ["02T09:00+00:00", "05T09:00+00:00", "06T09:00+00:00"]),
        ("0 0 13 * FRI", "UTC", "2026-02-05T12:00", "2026-02-21T00:00",
         ["06T00:00+00:00", "13T00:00+00:00", "20T00:00+00:00"]),
        ("0 0 L * *", "UTC", "2026-01-05T00:00", "2026-04-01T00:00",
         ["31T00:00+00:00", "28T00:00+00:00", "31T00:00+00:00"]),
        ("0 0 29 2 *", "UTC", "2026-01-01T00:00", "2029-01-01T00:00", ["29T00:00+00:00"]),
        ("@weekly", "UTC", "2026-01-01T00:00", "2026-01-12T00:00",
         ["04T00:00+00:00", "11T00:00+00:00"]),
        ("0 12 * * SAT-SUN", "UTC", "2026-01-02T00:00", "2026-01-06T00:00",
         ["03T12:00+00:00", "04T12:00+00:00"]),
        ("0 12 * * 5-7/2", "UTC", "2026-01-02T00:00", "2026-01-06T00:00",
         ["02T12:00+00:00", "04T12:00+00:00"]),
    ],
)  # fmt: skip
def test_it_is_due_at(cron: str, zone: str, begin: str, end: str, expected: list[str]) -> None:
    assert local(cron, zone, begin, end) == expected


CHANGES = ("2026-03-08", "2026-03-29", "2026-04-05", "2026-10-04", "2026-10-25", "2026-11-01")
FIELD = st.sampled_from(["*", "*/20", "0", "30", "15,45", "5-40/7"])
HOUR = st.sampled_from(["*", "*/2", "0", "1", "2", "0-3", "1,2", "23"])
DAY = st.sampled_from(["*", "*/2", "1,8,29", "25", "L"])
WEEK = st.sampled_from(["*", "SUN", "SAT-SUN", "1-5"])


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(st.sampled_from(ZONES), st.sampled_from(CHANGES), FIELD, HOUR, DAY, WEEK)
def test_it_is_due_when_an_observer_of_the_clock_says_so(
    zone: str, day: str, minute: str, hour: str, day_of_month: str, week: str
) -> None:
    cron = parse_cron(f"{minute} {hour} {day_of_month} * {week}", zone_of(zone))
    middle = ms(day)
    begin, end = middle - 36 * 3_600_000, middle + 48 * 3_600_000

    assert times(cron, begin, end) == observed(cron, zone, begin, end)
    assert cron.count(begin, end) == len(times(cron, begin, end))


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("text", ["15 2 * * *", "*/30 1-3 * * *", "30 1 * * SUN", "0 3 1,L * *"])
@pytest.mark.thorough
def test_a_year_is_as_an_observer_of_the_clock_says(text: str, zone: str) -> None:
    cron = parse_cron(text, zone_of(zone))
    begin, end = ms("2026-01-01", zone), ms("2027-01-01", zone)
    expected = observed(cron, zone, begin, end, minutes=5)

    assert times(cron, begin, end) == expected
    assert cron.count(begin, end) == len(expected)
    for n in (1, 2, len(expected)):
        assert cron.skip(begin, n) == expected[n - 1]
    assert cron.skip(begin, 0) == begin
    assert cron.count(expected[0], expected[-1] - 1) == len(expected) - 2


def test_a_week_of_minutes_is_counted_by_the_day() -> None:
    """A leader that comes back after a week counts what it missed, of a thousand schedules."""
    cron = parse_cron("* * * * *", zone_of(BERLIN))
    begin, week_ms = ms("2026-03-25"), 7 * 86_400_000
    looked = 0
    days = Cron._of

    def counted(self: Cron, day: date) -> tuple[int, ...]:
        nonlocal looked
        looked += 1
        return days(self, day)

    with patch.object(Cron, "_of", counted):
        assert cron.count(begin, begin + week_ms) == 7 * 24 * 60
        assert cron.skip(begin, 7 * 24 * 60 - 5) == begin + week_ms - 5 * MINUTE_MS
    assert looked < 30


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "five fields"),
        ("* * * *", "five fields"),
        ("@often", "five fields"),
        ("60 * * * *", "is no minute: use 0 to 59"),
        ("* 24 * * *", "is no hour"),
        ("* * 0 * *", "is no day of the month"),
        ("* * * FOO *", "is no month"),
        ("* * * * 8", "is no day of the week"),
        ("*/0 * * * *", "is no minute"),
        ("5-1 * * * *", "is no minute"),
        ("1,,2 * * * *", "is no minute"),
        ("0 0 30 2 *", "never due"),
        ("* " * 200, "five fields"),
    ],
)
def test_what_is_no_cron_says_why(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_cron(text, UTC)


def test_every_is_due_at_multiples_of_the_interval() -> None:
    every = Every(600_000)

    assert every.after(0) == 600_000
    assert every.after(599_999) == 600_000
    assert every.after(600_000) == 1_200_000
    assert every.count(0, 1_200_000) == 2
    assert every.count(600_000, 1_199_999) == 0


def test_a_clock_that_is_far_off_is_never_due() -> None:
    assert parse_cron("* * * * *", UTC).after(10**17) is None
