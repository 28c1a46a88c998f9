"""The range in which present jobs end: its sides, and how often it holds the truth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from coordinator.policy import Limits, make_policy
from coordinator.simulator.engine import Run, simulate
from coordinator.simulator.load import loads_of
from coordinator.simulator.scenario import Burst, Flow, Scenario, Stream
from queuepool.models.eta import Eta, Pace, at_rate, foretell, last_of

pytestmark = pytest.mark.thorough

_FADE_S = 15.0


def spiky(seed: int) -> Scenario:
    """Rates that wander and jump as counts of messages do, and jobs of 0.5 s with a long tail."""
    random, rate = Random(seed), 15.0
    flows = []
    for row in range(48):
        rate = min(max(rate * random.lognormvariate(0, 0.25), 5.0), 60.0)
        spike = 3.0 if random.random() < 0.06 else 1.0
        flows.append(Flow(from_s=row * 10, until_s=row * 10 + 10, per_s=rate * spike))
    return _scenario(Stream(name="spiky", arrivals=tuple(flows), service_s=0.5, cv=1.0), seed)


def daily(seed: int) -> Scenario:
    """A wave with noise, and bulks on top of it."""
    random = Random(seed)
    flows = tuple(
        Flow(
            from_s=row * 10,
            until_s=row * 10 + 10,
            per_s=(30 + 20 * math.sin(row / 7)) * random.uniform(0.8, 1.2),
        )
        for row in range(48)
    )
    bulks = tuple(Burst(at_s=100.5 + 120 * i, count=2_000) for i in range(3))
    return _scenario(Stream(name="d", arrivals=flows + bulks, service_s=0.4, cv=1.0), seed)


def _scenario(stream: Stream, seed: int) -> Scenario:
    return Scenario(
        streams=(stream,),
        bounds=Limits(min_workers=8, max_workers=64),
        reports_s=1.0,
        until_s=480.0,
        seed=seed,
    )


def ends_of(run: Run) -> list[tuple[float, float]]:
    """Return (arrival, end) of every job that ended."""
    [pool] = run.partitions
    load = pool.load
    return [
        (at_s, at_s + wait_s + share * pool.mean_s[stream])
        for at_s, wait_s, share, stream in zip(
            load.at_s, pool.waits_s, load.share, load.stream, strict=True
        )
        if wait_s >= 0
    ]


def told(scenario: Scenario, policy: str) -> Iterator[tuple[Eta, float, bool]]:
    """Yield (what is told, the truth, whether a backlog stood) of each cycle of a run."""
    run = simulate(scenario, make_policy(policy), loads_of(scenario))
    jobs, samples = sorted(ends_of(run)), run.samples
    ends = sorted(end for _, end in jobs)
    alive: list[float] = []
    begun, pace, done, last_s = 0, Pace(), 0, 0.0
    for index, at_s in enumerate(samples.at_s):
        while begun < len(jobs) and jobs[begun][0] <= at_s:
            alive.append(jobs[begun][1])
            begun += 1
        alive = [end for end in alive if end > at_s]
        ended = sum(1 for _ in _until(ends, done, at_s))
        passed_s, busy = at_s - last_s, samples.busy[index]
        pace = pace.faded(math.exp(-passed_s / _FADE_S), ended, busy * passed_s)
        done, last_s = done + ended, at_s
        # The target of this cycle's decision, which the coordinator knows.
        workers = samples.workers[min(index + 1, len(samples.workers) - 1)]
        eta = foretell(len(alive), workers, pace)
        if at_s > 20 and alive and eta is not None:
            yield eta, max(alive) - at_s, samples.backlog[index] > workers


def _until(ends: list[float], start: int, at_s: float) -> Iterator[float]:
    for end in ends[start:]:
        if end > at_s:
            return
        yield end


@pytest.mark.parametrize("policy", ["sized", "pwqd"])
@pytest.mark.parametrize("make", [spiky, daily])
def test_the_range_holds_the_truth_four_times_out_of_five(make: object, policy: str) -> None:
    found = [one for seed in (1, 2) for one in told(make(seed), policy)]  # type: ignore[operator]

    held = sum(eta.low_s <= truth <= eta.high_s for eta, truth, _ in found) / len(found)
    later = sum(truth > eta.likely_s for eta, truth, _ in found) / len(found)
    assert len(found) > 800
    assert 0.75 <= held <= 0.9, held
    assert 0.4 <= later <= 0.6, later


def test_it_holds_while_a_backlog_stands_as_well() -> None:
    found = [one for seed in range(3) for one in told(daily(seed), "pwqd") if one[2]]

    held = sum(eta.low_s <= truth <= eta.high_s for eta, truth, _ in found) / len(found)
    assert len(found) > 50
    assert held >= 0.75


def test_more_workers_end_sooner_and_more_jobs_later() -> None:
    pace = Pace(100, 12.0)
    few, many = foretell(10_000, 8, pace), foretell(10_000, 64, pace)
    longer = foretell(20_000, 8, pace)

    assert few is not None
    assert many is not None
    assert longer is not None
    assert few.likely_s == pytest.approx(150, rel=0.02)
    assert many.likely_s == pytest.approx(few.likely_s / 8, rel=0.05)
    assert longer.low_s > few.low_s
    assert few.low_s < few.likely_s < few.high_s


def test_what_was_seen_less_often_has_a_wider_range() -> None:
    sure, unsure = foretell(1000, 8, Pace(500, 50.0)), foretell(1000, 8, Pace(2, 0.2))

    assert sure is not None
    assert unsure is not None
    assert unsure.high_s / unsure.low_s > 1.5 * sure.high_s / sure.low_s


def test_nothing_is_told_of_what_was_never_seen() -> None:
    assert foretell(10, 8, Pace()) is None
    assert foretell(10, 0, Pace(5, 1.0)) is None
    assert foretell(10, 8, Pace(0.0, 9.0)) is None
    assert foretell(0, 0, Pace()) == Eta(low_s=0.0, likely_s=0.0, high_s=0.0)
    assert last_of([foretell(0, 0, Pace()), None]) is None
    assert last_of([]) is None


def test_absurd_counts_give_finite_ranges() -> None:
    eta = foretell(10**18, 1, Pace(0.5, 1e12))

    assert eta is not None
    assert all(math.isfinite(one) for one in (eta.low_s, eta.likely_s, eta.high_s))
    assert foretell(5, 10**12, Pace(1e9, 1e9)) is not None


def test_parked_jobs_start_at_the_rate_of_their_limit() -> None:
    eta = at_rate(400, 10.0)

    assert eta is not None
    assert eta.low_s < 40 == eta.likely_s < eta.high_s
    assert at_rate(400, 0.0) is None
    assert at_rate(0, 0.0) == replace(eta, low_s=0.0, likely_s=0.0, high_s=0.0)
