"""Trends of errors, the releases that ran, and links to traces."""

import time

import pytest

from queuepool.client import log
from queuepool.errors import ConfigurationError
from queuepool.models import ErrorRecord, JobId, JobState, JobStatus
from queuepool.models.finding import fingerprint
from queuepool.models.log import LogEntry, LogKind
from queuepool.web.drawing.trends import BARS, Releases, bars, trends
from queuepool.web.pages.jobs import trace_link
from queuepool.web.settings import load_settings
from tests.unit.web.conftest import Browser, Site
from tests.unit.web.test_pages import dead, registry

NOW = 1_800_000_000_000
ERROR = ErrorRecord(reason="failed", type="ValueError", message="no mailbox 7")


def died(ago_s: float, error: ErrorRecord = ERROR) -> JobStatus:
    at_ms = NOW - round(1000 * ago_s)
    return JobStatus(
        job_id=JobId("x"), partition=0, state=JobState.DEAD, task="send", at_ms=at_ms, error=error
    )


def test_deaths_are_counted_by_error_and_time() -> None:
    other = ErrorRecord(reason="failed", type="KeyError", message="a")

    found = trends(
        [died(0), died(10), died(3599), died(3601), died(1800, other)], NOW, are_all=True
    )

    assert found.span_s == 3600
    assert found.of(fingerprint("send", ERROR)) == (1, *[0] * (BARS - 2), 2)
    assert sum(found.of(fingerprint("send", other))) == 1
    assert found.of("unknown") == (0,) * BARS


def test_of_very_many_deaths_the_trend_is_of_the_time_that_they_cover() -> None:
    found = trends([died(0), died(100), died(119.9)], NOW, are_all=False)

    assert found.span_s == pytest.approx(119.9)
    assert sum(found.of(fingerprint("send", ERROR))) == 2  # the oldest one stands at the edge


def test_jobs_that_died_in_the_future_count_as_now() -> None:
    found = trends([died(-500)], NOW, are_all=True)

    assert found.of(fingerprint("send", ERROR))[-1] == 1
    assert trends([], NOW, are_all=True).counts == {}


def test_bars_are_seen_however_low_they_are() -> None:
    assert bars((0, 1, 1000), 1000, 60) == "M20 16v-1h19v1zM40 16v-16h19v16z"
    assert bars((0, 0), 0) == ""


def test_the_release_of_a_moment_is_that_which_came_last_before() -> None:
    came = [
        LogEntry(kind=LogKind.OWNER, what="came", outcome="version 0.2.0", at_ms=100),
        LogEntry(kind=LogKind.ACT, what="hold", outcome="version 9", at_ms=150),
        LogEntry(kind=LogKind.OWNER, what="left", at_ms=160),
        LogEntry(kind=LogKind.OWNER, what="came", outcome="version 0.3.0rc1; more", at_ms=200),
    ]
    releases = Releases(came)

    assert [releases.at(ms) for ms in (None, 99, 100, 199, 200)] == [
        "", "", "0.2.0", "0.2.0", "0.3.0rc1",
    ]  # fmt: skip
    assert releases.between(120, 300) == "0.2.0 to 0.3.0rc1"
    assert releases.between(50, 300) == "0.3.0rc1"
    assert releases.between(120, 130) == "0.2.0"


def test_the_page_draws_them(site: Site, operator: Browser) -> None:
    site.pool.producer.registry = registry
    site.pool.clock.advance(time.time() - site.pool.clock())
    entry = LogEntry(kind=LogKind.OWNER, what="came", outcome="version 7.7.7")
    site.pool.carry_out(log.write([entry]))
    dead(site, 3)

    text = operator.text("/errors")

    assert 'aria-label="deaths, the latest last: 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3"' in text
    assert 'd="M55 16v-16h4v16z"' in text
    assert "7.7.7" in text


def test_a_trace_is_linked_where_the_setting_says() -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    url = "https://traces.example.org/trace/{trace_id}"

    assert trace_link(url, trace) == (
        "https://traces.example.org/trace/0af7651916cd43dd8448eb211c80319c"
    )
    assert trace_link("", trace) == trace_link(url, None) == trace_link(url, '"><b>') == ""


@pytest.mark.parametrize("url", ["javascript:alert('{trace_id}')", "https://traces.example.org/"])
def test_a_link_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="QUEUEPOOL_WEB_TRACE_URL"):
        load_settings({"trace_url": url})
