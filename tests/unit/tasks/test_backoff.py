"""How long retries wait: of jobs, and of a producer whose server is down."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuepool import Backoff, InvalidInputError
from queuepool.client.arguments import check_wait
from queuepool.client.retrying import Attempts

BACKOFFS = st.builds(
    Backoff,
    base_s=st.floats(0.001, 1e6),
    factor=st.floats(1, 100),
    cap_s=st.floats(1.0, 366 * 86400),
    floor_s=st.floats(0, 1.0),
)


@given(BACKOFFS, st.integers(1, 2**31 - 1), st.floats(0, 1, exclude_max=True))
def test_a_delay_stays_between_floor_and_cap(b: Backoff, attempt: int, jitter: float) -> None:
    assert b.floor_s <= b.delay_s(attempt, jitter) <= b.cap_s


@given(BACKOFFS, st.integers(1, 1000))
def test_the_ceiling_never_falls_from_one_attempt_to_the_next(b: Backoff, attempt: int) -> None:
    assert b.delay_s(attempt, 0.999) <= b.delay_s(attempt + 1, 0.999)


def test_the_ceiling_doubles_up_to_the_cap_and_jitter_spreads_below_it() -> None:
    b = Backoff(base_s=2, factor=2, cap_s=10, floor_s=0.5)

    assert [b.delay_s(n, 1.0) for n in (1, 2, 3, 4, 99)] == [2, 4, 8, 10, 10]
    assert [b.delay_s(3, j) for j in (0.0, 0.25, 0.5)] == [0.5, 2, 4]


@pytest.mark.parametrize(
    "options",
    [
        {"base_s": 0}, {"base_s": -1}, {"base_s": float("nan")},
        {"factor": 0.5}, {"factor": 101}, {"factor": float("nan")},
        {"cap_s": float("inf")}, {"cap_s": float("nan")}, {"cap_s": 367 * 86400}, {"cap_s": 0.01},
        {"floor_s": -1}, {"floor_s": float("nan")}, {"floor_s": 601},
    ],
)  # fmt: skip
def test_a_backoff_that_makes_no_sense_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match="floor_s <= cap_s"):
        Backoff(**options)


@given(st.floats(0, 1), st.floats(0, 59))
def test_a_producer_tries_again_until_its_deadline_and_not_beyond(
    jitter: float, retry_for_s: float
) -> None:
    attempts, now, pauses = Attempts(retry_for_s), 0.0, []
    while (pause := attempts.next_pause(now, jitter)) is not None:
        assert 0.025 <= pause <= 2.0
        now += pause
        pauses.append(pause)

    assert now <= retry_for_s
    assert len(pauses) < 70
    assert all(a <= b for a, b in pairwise(pauses))


@pytest.mark.parametrize("seconds", [0, 0.5, 1e9, float("inf")])
def test_a_wait_may_be_of_any_length(seconds: float) -> None:
    assert check_wait("w", seconds) == seconds


@pytest.mark.parametrize("seconds", [-1, float("nan"), "1", None, True, -float("inf")])
def test_what_is_no_wait_is_refused(seconds: object) -> None:
    with pytest.raises(InvalidInputError, match="w="):
        check_wait("w", seconds)
