"""What jobs surely take, before the first of them has ended."""

from __future__ import annotations

import pytest

from coordinator.policy import Reading
from coordinator.policy.lately import Lately


def seen(age_s: float = 0.0) -> Reading:
    return Reading(at_s=1, backlog=50, workers=8, busy=8, finished_total=0, age_s=age_s)


def after(*ended: int, busy: int = 8, since: Lately | None = None) -> Lately:
    """Return what is known after cycles of a second in which so many jobs ended."""
    lately = since or Lately()
    for jobs in ended:
        lately = lately.observe(seen(), busy, 1.0, jobs)
    return lately


SHORT = after(*[160] * 5)  # 8 workers, 50 ms each


def test_jobs_that_take_as_long_as_ever_prove_nothing() -> None:
    for scattered in (SHORT, after(120, 200, 150, since=SHORT)):
        assert scattered.service_s(0.05) == 0


def test_running_jobs_take_at_least_as_long_as_they_have_run() -> None:
    after_s = {s: after(*[0] * s, since=SHORT).service_s(0.05) for s in (2, 3, 10)}

    assert after_s == pytest.approx({2: 2.05, 3: 3.05, 10: 10.05})


def test_one_cycle_without_ends_may_be_a_stall() -> None:
    assert after(0, since=SHORT).service_s(0.05) < 1
    assert after(0, 320, since=SHORT).service_s(0.05) == 0
    assert after(0, 320, 0, 320, since=SHORT).service_s(0.05) == 0


def test_the_first_long_jobs_that_end_outweigh_thousands_of_short_ones() -> None:
    long = after(*[0] * 29, 8, *[0] * 29, 8, since=SHORT)

    assert 15 < long.service_s(0.05) <= 30


def test_short_jobs_after_long_ones_are_short_again_at_once() -> None:
    long = after(*[0] * 29, 8, since=SHORT)

    assert after(160, since=long).service_s(0.05) < 0.5
    assert after(160, 160, since=long).service_s(0.05) == 0


def test_old_counts_and_idle_workers_prove_nothing() -> None:
    assert SHORT.observe(seen(age_s=9), 8, 1.0, 0) == SHORT
    assert after(0, 0, 0, busy=0, since=SHORT).service_s(0.05) == 0
