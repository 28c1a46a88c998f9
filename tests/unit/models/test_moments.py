"""Moments as people type them, always in the past."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest

from queuepool.models.moments import parse_moment

NOW = datetime(2026, 11, 23, 2, 15, 30, tzinfo=UTC)
SEOUL = timezone(timedelta(hours=9))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("02:10", "2026-11-23T02:10:00+00:00"),
        ("2:10:05", "2026-11-23T02:10:05+00:00"),
        ("02:16", "2026-11-22T02:16:00+00:00"),
        ("23:59", "2026-11-22T23:59:00+00:00"),
        ("2026-11-20T10:00", "2026-11-20T10:00:00+00:00"),
        ("2026-11-20 10:00:01", "2026-11-20T10:00:01+00:00"),
        ("2026-11-20", "2026-11-20T00:00:00+00:00"),
        ("2026-11-20T10:00+09:00", "2026-11-20T01:00:00+00:00"),
        ("10m", "2026-11-23T02:05:30+00:00"),
        ("1h30m", "2026-11-23T00:45:30+00:00"),
    ],
)
def test_a_moment(text: str, expected: str) -> None:
    assert parse_moment(text, NOW, UTC) == datetime.fromisoformat(expected)


def test_a_time_of_day_is_of_the_zone() -> None:
    assert parse_moment("11:10", NOW, SEOUL) == datetime(2026, 11, 23, 2, 10, tzinfo=UTC)
    assert parse_moment("02:10", NOW, SEOUL) == datetime(2026, 11, 22, 17, 10, tzinfo=UTC)


@pytest.fixture
def in_new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make New York the local zone: its clocks went back at 2 on 2026-11-01."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("in_new_york")
@pytest.mark.parametrize("zone", [None, ZoneInfo("America/New_York")], ids=["local", "named"])
@pytest.mark.parametrize(
    ("text", "now", "expected"),
    [
        ("2026-10-30T12:00", "2026-11-27T12:00-05:00", "2026-10-30T12:00-04:00"),
        ("2026-10-30", "2026-11-27T12:00-05:00", "2026-10-30T00:00-04:00"),
        ("23:00", "2026-11-01T12:00-05:00", "2026-10-31T23:00-04:00"),
        ("01:30", "2026-11-01T12:00-05:00", "2026-11-01T01:30-05:00"),
        ("01:30", "2026-11-01T01:10-05:00", "2026-11-01T01:30-04:00"),
    ],
)
def test_a_moment_before_a_change_of_the_clocks_has_the_offset_of_then(
    text: str, now: str, expected: str, zone: tzinfo | None
) -> None:
    found = parse_moment(text, datetime.fromisoformat(now), zone)

    assert found == datetime.fromisoformat(expected)


@pytest.mark.parametrize("text", ["2026-11-23T02:16", "2999-01-01", "2026-11-23T12:00+09:00"])
def test_the_future_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is in the future"):
        parse_moment(text, NOW, UTC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "25:00",
        "02:60",
        "noon",
        "99999999999d",
        "0001-01-01T00:00+23:59",
        "\u0660\u0662:10",
        "x" * 99,
    ],
)
def test_what_is_no_moment_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time: write 02:10"):
        parse_moment(text, NOW, SEOUL)
