"""The range in which present jobs end: its sides, and how often it holds the truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import pytest

from coordinator.policy import Limits, make_policy
from coordinator.simulator.engine import Run, simulate
from coordinator.simulator.load import loads_of
from coordinator.simulator.scenario import Burst, Flow, Scenario, Stream
from queuepool.models.eta import Eta, Pace, Part, at_rate, foretell, last_of

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
    assert last_of([Part(foretell(0, 0, Pace()), 0, 0.0), Part(None, 8, 1.0)]) is None
    assert last_of([]) is None


_WORKERS = 8


def draining(random: Random, waiting: int, service_s: float, seen: int) -> tuple[Part, float]:
    """Return what is told of a partition with busy workers, and when its last job really ends.

    seen: jobs of which the seconds per job were measured; 0: they are known.
    """
    measured_s = random.gammavariate(seen, service_s / seen) if seen else service_s
    left, count = waiting + _WORKERS, seen or 60
    eta = foretell(left, _WORKERS, Pace(count, count * measured_s))
    starts_s = random.gammavariate(waiting, service_s / _WORKERS) if waiting else 0.0
    longest_s = -service_s * math.log(-math.expm1(math.log(random.random()) / _WORKERS))
    return Part(eta, _WORKERS, measured_s), starts_s + longest_s


def share_held(
    partitions: int,
    waiting: Callable[[int], int],
    service_s: Callable[[int], float] = lambda _: 1.0,
    seen: int = 0,
) -> float:
    """Return how often the range of a total holds the truth."""
    random, runs, held = Random(7), min(300, 60_000 // partitions), 0
    for _ in range(runs):
        drawn = [draining(random, waiting(n), service_s(n), seen) for n in range(partitions)]
        total = last_of(part for part, _ in drawn)
        assert total is not None
        held += total.low_s <= max(end_s for _, end_s in drawn) <= total.high_s
    return held / runs


COUNTS = pytest.mark.parametrize("partitions", [1, 16, 64, 1_000])


@COUNTS
@pytest.mark.parametrize("seen", [0, 120, 30])
@pytest.mark.parametrize("waiting", [lambda _: 0, lambda n: n % 4], ids=["none", "few"])
def test_the_range_of_a_total_holds_the_truth_while_partitions_drain(
    partitions: int, seen: int, waiting: Callable[[int], int]
) -> None:
    assert 0.75 <= share_held(partitions, waiting, seen=seen) <= 0.95


@COUNTS
def test_it_holds_where_half_of_the_partitions_have_long_jobs(partitions: int) -> None:
    held = share_held(partitions, lambda _: 0, lambda n: 0.1 if n % 2 else 1.0, seen=60)

    assert 0.75 <= held <= 0.95


@COUNTS
@pytest.mark.parametrize("all_wait", [True, False])
def test_it_holds_where_jobs_wait_for_long(partitions: int, all_wait: bool) -> None:
    assert share_held(partitions, lambda n: 5_000 if all_wait or not n else 0) >= 0.9


@pytest.mark.parametrize("others", [15, 63, 999])
def test_a_large_backlog_keeps_its_range_beside_partitions_that_drain(others: int) -> None:
    pace = Pace(60, 60.0)
    large = foretell(5_000, _WORKERS, pace)
    few = Part(foretell(_WORKERS, _WORKERS, pace), _WORKERS, 1.0)

    total = last_of([Part(large, _WORKERS, 1.0), *[few] * others])

    assert total is not None
    assert large is not None
    assert total.low_s == pytest.approx(large.low_s)
    assert total.likely_s == pytest.approx(large.likely_s)
    assert total.high_s == pytest.approx(large.high_s)


def test_the_total_of_one_partition_is_its_own() -> None:
    for left in (0, 3, 8, 20, 10_000):
        eta = foretell(left, _WORKERS, Pace(60, 30.0))
        idle = Part(foretell(0, 8, Pace()), 0, 0.0)

        total = last_of([Part(eta, min(left, _WORKERS), 0.5), idle])

        assert eta is not None
        assert total is not None
        assert total.low_s == pytest.approx(eta.low_s)
        assert total.likely_s == pytest.approx(eta.likely_s)
        assert total.high_s == pytest.approx(eta.high_s)


def test_a_total_is_no_sooner_than_any_of_its_partitions() -> None:
    random = Random(3)
    for _ in range(200):
        parts = [
            draining(random, random.choice((0, 1, 9, 90)), random.choice((0.1, 1.0, 9.0)), 20)[0]
            for _ in range(random.randint(1, 20))
        ]

        total = last_of(parts)

        assert total is not None
        assert total.low_s <= total.likely_s <= total.high_s
        for part in parts:
            assert part.eta is not None
            assert total.low_s >= part.eta.low_s
            assert total.high_s >= part.eta.high_s


def test_a_part_without_known_seconds_per_job_counts_by_its_range() -> None:
    eta = Eta(low_s=1.0, likely_s=2.0, high_s=3.0)

    assert last_of([Part(eta, 8, 0.0), Part(eta, 8, 0.0)]) == eta


def test_absurd_counts_give_finite_ranges() -> None:
    eta = foretell(10**18, 1, Pace(0.5, 1e12))

    assert eta is not None
    assert all(math.isfinite(one) for one in (eta.low_s, eta.likely_s, eta.high_s))
    assert foretell(5, 10**12, Pace(1e9, 1e9)) is not None
    total = last_of([Part(eta, 1, 2e12), Part(foretell(5, 8, Pace(1e3, 1.0)), 5, 1e-3)])
    assert total is not None
    assert all(math.isfinite(one) for one in (total.low_s, total.likely_s, total.high_s))


def test_parked_jobs_start_at_the_rate_of_their_limit() -> None:
    eta = at_rate(400, 10.0)

    assert eta is not None
    assert eta.low_s < 40 == eta.likely_s < eta.high_s
    assert at_rate(400, 0.0) is None
    assert at_rate(0, 0.0) == replace(eta, low_s=0.0, likely_s=0.0, high_s=0.0)
