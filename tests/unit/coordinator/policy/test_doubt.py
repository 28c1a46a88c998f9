"""When fewer workers are tried although no step up was judged."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from coordinator.policy import Reading
from coordinator.policy.baseline import Baseline
from coordinator.policy.ceiling import Ceiling
from coordinator.policy.demand import Demand
from coordinator.policy.doubt import doubted
from coordinator.policy.gain_check import GainCheckSettings, Window
from coordinator.policy.sized import SizedSettings

CHECK = SizedSettings().gain_check
# 64 workers finish 16 a second, so each job takes 4 s: 15 s are seen, and the backlog of 8 times
# 19 s is 2,432 jobs.
WAITING = 2_432
STEP = Baseline(workers=32, cycles=3, finished=100, per_s=16)


def busy(workers: int = 64, per_s: float = 16.0, seconds: int = 15) -> Ceiling:
    window = Window(workers=workers, cycles=seconds, seconds=seconds, finished=per_s * seconds)
    return Ceiling(window=window, saturated=True)


def asked(
    ceiling: Ceiling,
    *,
    backlog: int = WAITING,
    slower: float = 0.0,
    settings: GainCheckSettings = CHECK,
    least: int = 8,
) -> Ceiling:
    workers = ceiling.window.workers
    seen = Reading(at_s=0, backlog=backlog, workers=workers, busy=workers, finished_total=0)
    return doubted(ceiling, seen, slower, settings, least)


def test_half_of_the_workers_are_tried_while_the_pool_is_limited_to_them() -> None:
    begun = asked(busy())

    assert (begun.workers, begun.probe.tried, begun.probe.doubted) == (32, 32, 64)
    assert begun.careful
    assert begun.pause_left_s > 60


@pytest.mark.parametrize(
    "ceiling",
    [
        busy(seconds=14),
        busy(per_s=1.5),
        busy(workers=8, per_s=2.0),
        replace(busy(), careful=True),
        replace(busy(), before=STEP),
        replace(busy(), needed_s=1.5),
    ],
    ids=[
        "too short a time",
        "few have finished",
        "no fewer may run",
        "there was a ceiling",
        "a step is on trial",
        "all were needed",
    ],
)
def test_nothing_is_doubted_with(ceiling: Ceiling) -> None:
    assert asked(ceiling, backlog=9_000) is ceiling


def test_a_backlog_that_is_soon_gone_is_not_worth_a_doubt() -> None:
    assert asked(busy(), backlog=WAITING - 1).workers == 0
    assert asked(busy(), backlog=WAITING).workers == 32


def test_jobs_that_take_longer_than_is_usual_for_their_tasks_are_doubted_sooner() -> None:
    assert asked(busy(), backlog=WAITING // 4, slower=2.0).workers == 32
    assert asked(busy(), backlog=WAITING // 4, slower=1.9).workers == 0


def test_a_disabled_check_doubts_nothing() -> None:
    assert asked(busy(), settings=GainCheckSettings(enabled=False)).workers == 0


def test_jobs_that_take_three_times_as_long_as_when_all_were_needed_are_doubted_again() -> None:
    assert asked(replace(busy(), needed_s=1.4)).workers == 0
    assert asked(replace(busy(), needed_s=1.3)).workers == 32


@pytest.mark.parametrize(("per_s", "workers", "needed"), [(8, 0, 64), (16, 16, 0)])
def test_what_half_of_the_workers_finish_ends_the_doubt_or_goes_on(
    per_s: int, workers: int, needed: int
) -> None:
    state = asked(busy())
    for _ in range(20):
        seen = Reading(at_s=0, backlog=9_000, workers=32, busy=32, finished_total=0)
        state = state.observe(seen, 1.0, per_s, CHECK, 8)

    assert (state.workers, state.needed, state.careful) == (workers, needed, workers > 0)


def test_a_step_back_to_what_was_needed_is_not_judged() -> None:
    needed = Ceiling(window=busy(workers=32).window, needed=64)
    more = Ceiling(window=busy(workers=64).window, needed=64)
    demand = Demand(finished=1_000.0, worker_s=4_000.0)

    assert needed.step_up(demand, CHECK).before is None
    assert more.step_up(demand, CHECK).before is not None


def test_without_a_deep_backlog_a_doubt_ends() -> None:
    state = asked(busy())
    shallow = Reading(at_s=0, backlog=20, workers=32, busy=32, finished_total=0)

    ended = state.observe(shallow, 1.0, 8, CHECK).observe(shallow, 1.0, 8, CHECK)

    assert (ended.workers, ended.careful, ended.probe.running) == (0, False, False)
