"""The checker of limits and groups finds what it is there for, and nothing else."""

import pytest

from tests.chaos.checker import Run
from tests.chaos.lanes_checker import (
    Blow,
    at_once,
    disorder,
    fullest_second,
    idle_s,
    rate_lost_s,
    too_fast,
    too_many,
)
from tests.chaos.test_checker import OWNER, SUCCESSOR, S, run

RATE, BURST = 10, 5
EVEN = [n * S // RATE for n in range(1, 301)]  # 30 s of the rate
BURST_FIRST = [0] * BURST + EVEN


def fast(starts: list[int]) -> list[str]:
    return too_fast(starts, rate=RATE, burst=BURST, since_ns=0)


def test_a_burst_and_the_rate_after_it_are_allowed() -> None:
    assert fast(BURST_FIRST) == []


def test_one_start_more_since_the_first_ask_is_too_fast() -> None:
    assert fast([0, *BURST_FIRST]) == ["too fast: 6 starts in the first 0.000 s at 10 a second"]


def test_a_tenth_more_than_the_rate_is_too_fast() -> None:
    faster = [n * S // 11 for n in range(1, 301)]

    assert any("starts in the first" in text for text in fast(faster))


def test_tokens_may_be_used_two_seconds_late_and_no_more_of_them() -> None:
    # Nothing for 10 s, then what a burst and 2 s of the rate allow at once
    late = [10 * S] * (BURST + 2 * RATE)

    assert fast(late) == []
    assert fast([*late, 10 * S]) == ["too fast: 26 starts more than 10 a second allow"]


def test_the_fullest_second_is_found() -> None:
    assert fullest_second([0, S // 2, S - 1, S, 3 * S]) == 3
    assert fullest_second([]) == 0


def test_a_blow_costs_the_starts_that_did_not_come() -> None:
    kill, server = Blow("kill", 2 * S), Blow("server", 10 * S, away_s=1.0)
    starts = [n for n in EVEN if not (3 * S <= n < 4 * S or 10 * S <= n < 12 * S)]

    lost = rate_lost_s(starts, [kill, server], rate=RATE, until_ns=20 * S)

    assert lost == {kill: pytest.approx(1.0), server: pytest.approx(1.0)}


def test_those_that_run_at_once_are_counted_and_named() -> None:
    runs = [run("a-1", 1, 3), run("b-1", 2, 4), run("c-1", 3, 5)]

    assert [r.job_id for r in at_once(runs, {})] == ["a-1", "b-1"]
    assert too_many("db", runs, 2, {}) == []
    assert too_many("db", runs, 1, {}) == [
        "too many: 2 of db ran at once, of at most 1: a-1 in 10, b-1 in 10"
    ]


@pytest.mark.parametrize("ended_s", [None, 9])
def test_what_a_struck_process_ran_counts_until_it_is_over(ended_s: int | None) -> None:
    runs = [run("a-1", 1, ended_s), run("a-2", 3, 4, SUCCESSOR)]

    assert too_many("serial", runs, 1, {OWNER: 3 * S}) == []
    assert too_many("serial", runs, 1, {OWNER: 3 * S + 1}) != []
    assert too_many("serial", runs, 1, {}) != []


def test_a_retry_or_a_recovered_job_keeps_the_order() -> None:
    runs = [
        Run("g-1", OWNER, 1, 1 * S, 2 * S, failed=True),
        Run("g-1", OWNER, 2, 3 * S, None),
        run("g-1", 5, 6, SUCCESSOR, attempt=2),
        run("g-2", 7, 8, SUCCESSOR),
    ]

    assert disorder("g", runs, {}) == []


def test_a_job_that_begins_again_after_a_later_one_is_out_of_order() -> None:
    runs = [run("g-9", 1, 2), run("g-10", 3, 4), run("g-9", 5, 6, SUCCESSOR, attempt=2)]

    assert disorder("g", runs, {}) == ["out of order: in g g-9 began in 20 after g-10"]


def test_workers_that_idle_while_jobs_wait_are_found() -> None:
    # Of three that may run one ran from 2 to 8, while c waited
    runs = [run("a-1", 1, 2), run("b-1", 1, 5), run("d-1", 5, 8), run("c-1", 8, 9)]
    accepted = [1 * S, 1 * S, 2 * S, 2 * S]

    assert max(idle_s(runs, accepted, 2, {})) == 6
    assert sum(idle_s(runs, accepted, 1, {})) == 0
    assert idle_s(runs, accepted, 2, {}, blind=[(0, 3 * S), (4 * S, 6 * S)])[-2:] == [1, 2]


def test_nobody_idles_when_no_job_waits() -> None:
    assert sum(idle_s([run("a-1", 1, 2)], [1 * S], 3, {})) == 0
