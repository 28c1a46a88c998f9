"""The oracle and the figures of a policy, on loads whose result is known."""

import math

import pytest

from coordinator.policy import Limits, make_policy
from coordinator.simulator.chart import draw
from coordinator.simulator.scenario import Hidden, Scenario, Stream
from coordinator.simulator.scorecard import Score, Scorecard, percentile
from tests.unit.coordinator.simulator.runs import burst, flow


def card(*streams: Stream, until_s: float = 60.0, **more: object) -> Scorecard:
    return Scorecard(Scenario(streams=streams, until_s=until_s, **more))  # type: ignore[arg-type]


def score(of: Scorecard, policy: str, **settings: object) -> Score:
    return of.score(make_policy(policy, **settings))[0]


def test_the_oracle_pays_for_the_work_and_for_the_least_workers_otherwise() -> None:
    bulk = card(burst(6_400, at_s=0.0, service_s=0.1), until_s=30)

    assert bulk.oracle_s == pytest.approx(64 * 10 + 8 * 20)


def test_the_oracle_has_no_worker_wait_downstream() -> None:
    hidden = Hidden(per_s=20)
    bounds = Limits(min_workers=1, max_workers=64)
    slow = card(burst(1_000, at_s=0.0, service_s=0.1), hidden=hidden, bounds=bounds)

    # 20 jobs a second of 0.1 s keep two workers busy.
    assert slow.oracle_s == pytest.approx(2 * 50 + 10, rel=0.02)
    assert slow.static.partitions[0].worker_s == pytest.approx(64 * 60)


def test_the_most_workers_add_no_wait_and_cost_what_they_are() -> None:
    calm = card(flow(cv=1.0))
    static = score(calm, "static", workers=64)

    assert calm.score_of(calm.static, "static").added_p99_s == 0
    assert static.worker_s == pytest.approx(64 * 60, rel=0.05)
    assert static.cost > 1.3
    assert not static.meets_goal


def test_too_few_workers_add_waits_job_by_job() -> None:
    bulk = card(burst(640, at_s=0.5, service_s=0.1), until_s=30)
    slow = score(bulk, "static", workers=8)

    # With 64 workers the last job starts after 0.9 s, with 8 after 7.9 s.
    assert slow.wait_max_s == pytest.approx(7.9)
    assert slow.added_p99_s == pytest.approx(7.0, abs=0.1)
    assert slow.cost == pytest.approx(8 * 30 / bulk.oracle_s)
    assert slow.changes_per_h == 0


def test_jobs_that_never_start_wait_until_the_end() -> None:
    overload = card(burst(8_000, at_s=0.5, service_s=1.0), until_s=31.5)
    slow = score(overload, "static", workers=8)

    assert slow.left > 7_000
    assert slow.wait_p50_s == pytest.approx(31.0)
    assert slow.wait_p99_s <= 1.1 * slow.static_p99_s
    assert slow.cost < 1.3
    assert not slow.meets_goal


def test_changes_and_reversals_are_counted_per_hour() -> None:
    waves = [burst(400, at_s=at_s, name=f"wave{at_s}") for at_s in (10.5, 40.5)]
    ratio = score(card(*waves, until_s=100), "ratio")
    run = card(*waves, until_s=100).score(make_policy("ratio"))[1]

    ways = [made.direction for _, made in run.changes]
    assert ratio.changes_per_h == pytest.approx(len(ways) * 36)
    assert ratio.reversals_per_h == pytest.approx(3 * 36)
    assert ways[0] == "up"
    assert ways[-1] == "down"


@pytest.mark.parametrize(("share", "value"), [(0.0, 1), (0.5, 5), (0.99, 10), (1.0, 10)])
def test_a_percentile_is_one_of_the_values(share: float, value: float) -> None:
    assert percentile([float(x) for x in range(1, 11)], share) == value


def test_a_chart_has_a_line_per_run_and_reaches_the_peak() -> None:
    bulk = card(burst(10_000), until_s=60)
    runs = [(name, bulk.score(make_policy(name))[1]) for name in ("pwqd", "aimd")]

    drawn = draw("a < b", runs)

    assert drawn.count("<polyline") == 4
    assert "a &lt; b" in drawn
    assert ">64<" in drawn
    heights = [
        float(point.split(",")[1]) for point in drawn.split('points="')[1].split('"')[0].split()
    ]
    assert min(heights) == 40.0
    assert not any(math.isnan(height) for height in heights)
