"""Runs of partitions whose worker count never changes."""

import pytest

from coordinator.policy import Limits
from coordinator.simulator.scenario import Hidden, Limit, ServiceChanges
from tests.unit.coordinator.simulator.runs import burst, flow, play


def test_a_bulk_takes_as_long_as_its_work_divided_by_the_workers() -> None:
    (pool,) = play(burst(800, at_s=0.5, service_s=0.1), policy=None, workers=8).partitions

    assert pool.last_finish_s == pytest.approx(0.5 + 800 * 0.1 / 8)
    assert (pool.finished, pool.left) == (800, 0)
    assert pool.waits_s[0] == 0
    assert max(pool.waits_s) == pytest.approx(99 * 0.1)


def test_costs_are_worker_seconds_and_needed_ones_never_fall_below_the_least() -> None:
    bounds = Limits(min_workers=2, max_workers=64)
    run = play(
        burst(800, at_s=0.0, service_s=0.1), policy=None, workers=8, until_s=30, bounds=bounds
    )

    (pool,) = run.partitions
    assert pool.worker_s == pytest.approx(8 * 30)
    assert pool.served_s == pytest.approx(80)
    assert pool.needed_s == pytest.approx(8 * 10 + 2 * 20)


def test_every_job_that_arrived_is_finished_or_left() -> None:
    run = play(flow(per_s=100, cv=1.0), burst(50), policy=None, workers=8, partitions=2)

    for pool in run.partitions:
        arrived = sum(at_s <= 60 for at_s in pool.load.at_s)
        assert pool.finished + pool.left == arrived
        assert pool.left == pool.backlog + pool.busy


def test_jobs_of_a_limit_start_at_its_rate_and_are_no_backlog() -> None:
    mail = Limit(name="mail", per_s=10, burst=5)
    run = play(burst(1_000, limit="mail"), policy=None, workers=64, limits=(mail,), until_s=20.5)

    (pool,) = run.partitions
    starts_s = sorted(at + wait for at, wait in zip(pool.load.at_s, pool.waits_s, strict=True)
                      if wait >= 0)  # fmt: skip
    assert len(starts_s) == pytest.approx(10 * 20 + 5, abs=1)
    assert (pool.backlog, pool.parked) == (0, 1_000 - len(starts_s))
    for index, start_s in enumerate(starts_s[5:], 5):
        assert index - 4 <= 10 * (start_s - 0.5) + 1e-6


def test_partitions_share_the_rate_of_a_limit() -> None:
    mail = Limit(name="mail", per_s=20, burst=1)
    streams = (
        burst(10_000, limit="mail", partition=0),
        burst(10_000, name="other", limit="mail", partition=1),
        burst(0, name="idle", limit="mail", partition=2),
    )
    run = play(*streams, policy=None, workers=64, limits=(mail,), until_s=60.5, partitions=3)

    finished = [pool.finished for pool in run.partitions]
    assert sum(finished) == pytest.approx(20 * 60, rel=0.02)
    assert finished[0] == pytest.approx(finished[1], rel=0.02)


def test_more_workers_do_not_help_against_a_hidden_limit() -> None:
    hidden = Hidden(per_s=40)
    few, many = (
        play(burst(1_000), policy=None, workers=workers, hidden=hidden).partitions[0]
        for workers in (8, 64)
    )

    assert few.last_finish_s == pytest.approx(0.5 + 1_000 / 40 + 0.12, abs=0.1)
    assert many.last_finish_s == pytest.approx(few.last_finish_s, abs=0.1)
    assert many.worker_s == pytest.approx(8 * few.worker_s)


def test_a_hidden_limit_of_concurrency_makes_workers_wait() -> None:
    (pool,) = play(
        burst(300, service_s=0.1), policy=None, workers=30, hidden=Hidden(concurrency=3)
    ).partitions

    assert pool.last_finish_s == pytest.approx(0.5 + 300 * 0.1 / 3)


def test_jobs_that_start_after_a_change_take_the_new_time() -> None:
    changes = (ServiceChanges(at_s=10.45, service_s=0.2),)
    (pool,) = play(burst(1_600, service_s=0.1), policy=None, workers=8, events=changes).partitions

    assert pool.last_finish_s == pytest.approx(10.5 + 800 * 0.2 / 8)


def test_two_policies_see_the_same_jobs() -> None:
    one, other = (play(flow(cv=1.0), policy=name).partitions[0] for name in ("static", "ratio"))

    assert list(one.load.at_s) == list(other.load.at_s)
    assert list(one.load.share) == list(other.load.share)
    assert len(one.load.at_s) == pytest.approx(20 * 60, rel=0.1)
