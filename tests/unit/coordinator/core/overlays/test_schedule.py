"""Windows of local time: which moments are within, and what is no window."""

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from coordinator.core.overlays.schedule import MOST_WINDOWS, parse_windows
from coordinator.core.overlays.values import PROFILES


def is_open(text: str, moment: str, zone: str = "UTC") -> bool:
    [window] = parse_windows(text, PROFILES)
    at = datetime.fromisoformat(moment).replace(tzinfo=ZoneInfo(zone))
    return window.is_open(round(at.timestamp() * 1000))


@pytest.mark.parametrize(
    ("moment", "within"),
    [
        ("2026-11-23 08:29:59", False),  # a Monday
        ("2026-11-23 08:30", True),
        ("2026-11-27 09:59:59", True),
        ("2026-11-27 10:00", False),
        ("2026-11-28 09:00", False),
    ],
)
def test_a_window_is_of_its_days_and_of_its_zone(moment: str, within: bool) -> None:
    text = "MON-FRI 08:30-10:00 Asia/Seoul floor=16"

    assert is_open(text, moment, "Asia/Seoul") is within


def test_a_window_without_a_zone_is_in_utc() -> None:
    assert is_open("DAILY 08:00-09:00 floor=2", "2026-01-01 08:00")
    assert not is_open("DAILY 08:00-09:00 Asia/Seoul floor=2", "2026-01-01 08:00")


@pytest.mark.parametrize(
    ("moment", "within"),
    [
        ("2026-11-27 21:59", False),  # a Friday
        ("2026-11-27 22:00", True),
        ("2026-11-28 05:59", True),
        ("2026-11-28 06:00", False),
        ("2026-11-28 22:00", False),
        ("2026-11-27 05:00", False),
    ],
)
def test_a_window_past_midnight_is_of_the_day_on_which_it_begins(moment: str, within: bool) -> None:
    assert is_open("FRI 22:00-06:00 profile=quiet", moment) is within


def test_days_may_be_listed_and_may_pass_the_end_of_the_week() -> None:
    on = [is_open("SAT-MON,WED 00:00-24:00 floor=2", f"2026-11-{day} 12:00") for day in
          range(23, 30)]  # fmt: skip

    assert on == [True, False, True, False, False, True, True]


@pytest.mark.parametrize(
    ("text", "moment", "over"),
    [
        ("2026-11-27 08:00-12:00 Asia/Seoul floor=3", "2026-11-27 02:59", False),
        ("2026-11-27 08:00-12:00 Asia/Seoul floor=3", "2026-11-27 03:00", True),
        ("2026-11-27 08:00-24:00 floor=3", "2026-11-27 23:59", False),
        ("2026-11-27 08:00-24:00 floor=3", "2026-11-28 00:00", True),
        ("2026-11-27 22:00-02:00 floor=3", "2026-11-28 01:59", False),
        ("2026-11-27 22:00-02:00 floor=3", "2026-11-28 02:00", True),
        ("2025-11-27 08:00-12:00 floor=3", "2026-11-27 09:00", True),
        ("9999-12-31 22:00-02:00 floor=3", "2026-11-28 02:00", False),
        ("FRI 08:00-12:00 floor=3", "2026-11-28 02:00", False),
        ("2026-10-25 01:30-02:30 Europe/Berlin floor=3", "2026-10-25 00:45", False),  # comes twice
        ("2026-10-25 01:30-02:30 Europe/Berlin floor=3", "2026-10-25 01:30", True),
        ("2026-03-29 01:00-02:30 Europe/Berlin floor=3", "2026-03-29 00:45", False),
        ("2026-03-29 01:00-02:30 Europe/Berlin floor=3", "2026-03-29 01:30", True),
    ],
)
def test_only_a_window_of_a_date_is_over_at_some_time(text: str, moment: str, over: bool) -> None:
    [window] = parse_windows(text, PROFILES)
    at = datetime.fromisoformat(moment).replace(tzinfo=ZoneInfo("UTC"))

    assert window.is_over(round(at.timestamp() * 1000)) is over


def test_a_date_is_one_day() -> None:
    text = "2026-11-27 22:00-02:00 times=3"

    assert is_open(text, "2026-11-28 01:00")
    assert not is_open(text, "2026-11-29 01:00")
    assert not is_open(text, "2027-11-27 23:00")


def test_an_hour_that_clocks_skip_is_in_no_window_and_a_repeated_one_twice() -> None:
    [window] = parse_windows("DAILY 02:00-03:00 Europe/Berlin floor=2", PROFILES)

    def minutes(day: str) -> int:
        start = datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()
        return sum(
            window.is_open(round((start + 60 * n) * 1000)) for n in range(-180, 24 * 60 - 180)
        )

    assert [minutes(d) for d in ("2026-03-28", "2026-03-29", "2026-10-25")] == [60, 0, 120]


@pytest.mark.parametrize("now_ms", [-(10**15), 0, 10**15, 10**18])
def test_a_clock_that_is_far_off_opens_or_closes_and_never_raises(now_ms: int) -> None:
    [window] = parse_windows("DAILY 00:00-24:00 Asia/Seoul floor=2", PROFILES)

    assert window.is_open(now_ms) in (True, False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("MON", "write, for example"),
        ("FUNDAY 08:00-09:00 floor=2", "'FUNDAY' names no days"),
        ("MON-FUNDAY 08:00-09:00 floor=2", "names no days"),
        ("2026-02-30 08:00-09:00 floor=2", "no day 2026-02-30"),
        ("MON 8-9 floor=2", "write 08:30-10:00"),
        ("MON 25:00-26:00 floor=2", "is not a time span"),
        ("MON 08:00-24:01 floor=2", "is not a time span"),
        ("MON 08:00-08:00 floor=2", "is empty"),
        ("MON 08:00-09:00 Mars/Base floor=2", "no time zone 'Mars/Base'"),
        ("MON 08:00-09:00 ../../etc/passwd floor=2", "no time zone"),
        ("MON 08:00-09:00 UTC", "no effect"),
        ("MON 08:00-09:00 floor=0", "floor is 1 to 4096"),
        ("MON 08:00-09:00 floor=99999", "floor is 1 to 4096"),
        ("MON 08:00-09:00 floor=x", "floor is 1 to 4096"),
        ("MON 08:00-09:00 floor=٣", "floor is 1 to 4096"),
        ("MON 08:00-09:00 times=1", "above 1, at most 100"),
        ("MON 08:00-09:00 times=101", "at most 100"),
        ("MON 08:00-09:00 times=nan", "at most 100"),
        ("MON 08:00-09:00 profile=loud", "no profile 'loud'"),
        ("MON 08:00-09:00 UTC more=2", "is unknown in a window"),
        ("MON 08:00-09:00 floor=2 floor=3", "given twice"),
        (";".join(["MON 08:00-09:00 floor=2"] * (MOST_WINDOWS + 1)), "at most 50"),
    ],
)
def test_what_is_no_window_is_told(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as refused:
        parse_windows(text, PROFILES)

    assert len(str(refused.value)) < 300
