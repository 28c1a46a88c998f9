"""How many jobs are claimed beyond the idle workers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer.core.prefetch import MOST_BYTES, Prefetch


def learned(job_s: float, turn_s: float = 0.0005, most: int = 400) -> Prefetch:
    ahead = Prefetch(most)
    for _ in range(100):
        ahead.turned(turn_s, 10, 10 * job_s)
    return ahead


def test_nothing_is_claimed_ahead_of_what_is_unknown() -> None:
    assert Prefetch(400).jobs(64) == 0


@pytest.mark.parametrize(
    ("job_s", "workers", "none"),
    [(0.00001, 8, False), (0.001, 8, False), (0.1, 8, True), (1.0, 64, True), (0.01, 64, False)],
)
def test_long_jobs_are_not_claimed_ahead(job_s: float, workers: int, none: bool) -> None:
    assert (learned(job_s).jobs(workers) == 0) is none


def test_what_changed_is_unlearned() -> None:
    ahead = learned(0.00001)
    assert ahead.jobs(8) > 8
    ahead.forget()
    assert ahead.jobs(8) == 0
    ahead.turned(0.0005, 1, 2.0)
    assert ahead.jobs(8) == 0


@given(
    job_s=st.floats(0, 1e6),
    turn_s=st.floats(0, 100),
    workers=st.integers(1, 4096),
    most=st.integers(0, 400),
    ended=st.integers(0, 400),
    queued=st.integers(0, 400),
)
def test_it_stays_within_its_bounds(
    job_s: float, turn_s: float, workers: int, most: int, ended: int, queued: int
) -> None:
    ahead = Prefetch(most)
    for _ in range(3):
        ahead.turned(turn_s, ended, ended * job_s)
    assert 0 <= ahead.jobs(workers) <= most
    assert 0 <= ahead.linger_s(queued, workers) <= 0.01
    assert ahead.stall_timeout_s() >= 0.025


@given(job_s=st.floats(1e-6, 10), workers=st.integers(1, 256))
def test_longer_jobs_never_claim_more_ahead(job_s: float, workers: int) -> None:
    assert learned(2 * job_s).jobs(workers) <= learned(job_s).jobs(workers)


def test_nothing_is_claimed_ahead_while_bodies_fill_the_memory() -> None:
    ahead = learned(0.00001)

    assert ahead.jobs(8, open_bytes=MOST_BYTES - 1) > 8
    assert ahead.jobs(8, open_bytes=MOST_BYTES) == 0


@given(job_s=st.floats(1e-4, 0.015), workers=st.integers(1, 256))
def test_with_all_that_may_be_in_memory_it_lingers_in_full(job_s: float, workers: int) -> None:
    ahead = learned(job_s, most=10**9)

    full = ahead.linger_s(ahead.jobs(workers), workers)

    assert full == pytest.approx(min(0.002, job_s / 5), rel=1e-6) or not ahead.jobs(workers)


def test_with_little_in_memory_it_lingers_less_so_that_no_worker_waits() -> None:
    ahead = learned(0.010)

    assert ahead.linger_s(1, 8) == pytest.approx(0.010 / 8 / 2)
    assert ahead.linger_s(0, 8) == 0
    assert ahead.linger_s(5, 0) == pytest.approx(0.002)
