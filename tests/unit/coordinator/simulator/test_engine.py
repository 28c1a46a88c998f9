"""Leaders and consumers in virtual time: commands, gaps, failovers, late counts, restarts."""

import math

import pytest

from coordinator.policy import Limits
from coordinator.simulator.scenario import (
    Blind,
    BoundsChange,
    LateCounts,
    Leaderless,
    Restart,
)
from tests.unit.coordinator.simulator.runs import burst, play


def test_a_command_resizes_the_pool_after_the_reaction_of_the_consumer() -> None:
    run = play(burst(10_000, at_s=1.5), hears_s=2.9, until_s=8)

    assert [(at_s, made.target) for at_s, made in run.changes][:2] == [(2.0, 16), (5.0, 32)]
    assert list(run.samples.workers)[:6] == [8, 8, 8, 8, 16, 16]


def test_nothing_changes_while_observations_fail() -> None:
    gap = (Blind(at_s=2.5, for_s=20.0),)
    run = play(burst(30_000, at_s=1.5), events=gap, until_s=40)

    times = [at_s for at_s, _ in run.changes]
    assert times[0] == 2.0
    assert times[1] == 23.0


def test_a_gap_of_one_partition_leaves_the_others_alone() -> None:
    gap = (Blind(at_s=0.5, for_s=20.0, partition=1),)
    jobs = burst(20_000, at_s=1.5, lanes=2)
    run = play(jobs, events=gap, partitions=2, until_s=15)

    assert {made.partition for _, made in run.changes} == {0}


def test_a_new_leader_looks_first() -> None:
    gone = (Leaderless(at_s=2.5, for_s=10.0),)
    run = play(burst(30_000, at_s=1.5), events=gone, until_s=20)

    assert [at_s for at_s, _ in run.changes][:3] == [2.0, 14.0, 15.0]


def test_late_counts_delay_the_next_step() -> None:
    late = (LateCounts(at_s=0.0, for_s=60.0, by_s=4.0),)
    prompt, delayed = (
        [at_s for at_s, _ in play(burst(30_000, at_s=5.5), events=events).changes]
        for events in ((), late)
    )

    assert prompt[:3] == [6.0, 7.0, 8.0]
    assert delayed[0] == 6.0
    assert delayed[1] >= 6.0 + 4.0


def test_rare_reports_delay_no_step_since_what_was_obeyed_is_reported_at_once() -> None:
    rare = play(burst(30_000, at_s=5.5), reports_s=5.0)

    assert [at_s for at_s, _ in rare.changes][:3] == [6.0, 7.0, 8.0]


def test_a_restarted_consumer_begins_at_its_aged_checkpoint_and_repeats_what_ran() -> None:
    dies = (Restart(at_s=20.0, for_s=30.0),)
    run = play(burst(30_000, at_s=1.5), events=dies, until_s=200, tau_s=60.0)

    (pool,) = run.partitions
    workers = dict(zip(run.samples.at_s, run.samples.workers, strict=True))
    assert (workers[19.0], workers[21.0]) == (64, 0)
    assert workers[50.0] == math.ceil(64 * math.exp(-30 / 60))
    assert pool.finished == 30_000
    assert min(pool.waits_s) >= 0
    # What ran when it died was run twice, and finished once.
    assert pool.served_s == pytest.approx(30_000 * 0.12)


def test_bounds_may_change_in_a_run() -> None:
    lowered = (BoundsChange(at_s=10.5, bounds=Limits(min_workers=8, max_workers=20)),)
    run = play(burst(30_000, at_s=1.5), events=lowered, until_s=30)

    assert run.peak == 64
    assert run.partitions[0].target == 20
