"""A candidate in its would-be world, beside what was decided."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as changed

from coordinator.core.replay.cycle import Cycle
from coordinator.core.replay.shadow import Comparison, Shadow
from coordinator.core.replay.world import Waits, World
from coordinator.policy import POLICIES, make_policy
from coordinator.simulator.scenario import Blind, Burst, Scenario, Stream
from coordinator.simulator.scorecard import Scorecard
from tests.unit.coordinator.core.replay.cycles import bounded_cycles, bursty, cycles_of
from tests.unit.coordinator.observed import World as Observed
from tests.unit.coordinator.observed import owner

pytestmark = pytest.mark.thorough

BULK = Stream(name="bulk", arrivals=(Burst(at_s=10.5, count=2_000),), service_s=0.2)


def compared(cycles: Iterable[Cycle], name: str, **settings: int) -> Comparison:
    cycles = list(cycles)
    shadow = Shadow(replace(cycles[0].planner, policy=make_policy(name, **settings)))
    for cycle in cycles:
        shadow.see(cycle)
    return shadow.comparison()


@pytest.mark.parametrize("name", POLICIES)
def test_the_live_policy_as_its_own_candidate_costs_and_waits_the_same(name: str) -> None:
    cycles = cycles_of(bursty(300.0, count=3_000), make_policy(name))

    found = compared(cycles, name)

    assert found.live.worker_s > 300 * 2 * 4 * 0.9
    assert found.candidate.worker_s == pytest.approx(found.live.worker_s, rel=0.15)
    assert found.candidate.wait_mean_s == pytest.approx(found.live.wait_mean_s, rel=0.6, abs=0.2)
    assert found.seconds == pytest.approx(299, abs=2)


def test_a_static_candidate_costs_its_workers() -> None:
    found = compared(cycles_of(bursty()), "static", workers=20)

    assert found.candidate.worker_s == pytest.approx(2 * 20 * 89, rel=0.05)
    assert found.candidate.changes == 2  # one of each partition, at the start
    assert found.live.changes > 4


def bounded() -> Observed:
    return Observed(policy=make_policy("static", workers=64), backlog=900, most=20)


@pytest.mark.parametrize("manual", [{}, {0: 60}], ids=["policy", "by hand"])
def test_a_candidate_gets_no_workers_that_the_consumer_would_not_start(
    manual: dict[int, int],
) -> None:
    cycles = bounded_cycles(bounded(), manual)[10:]

    found = compared(cycles, "static", workers=48)

    assert found.live.worker_s == pytest.approx(20 * 49)
    assert found.candidate.worker_s == pytest.approx(found.live.worker_s)
    assert found.candidate.wait_mean_s == pytest.approx(found.live.wait_mean_s)


def test_a_candidate_gets_no_fewer_workers_than_the_consumer_keeps() -> None:
    world = Observed(policy=make_policy("static", workers=8), consumer=owner(16), least=12)
    cycles = bounded_cycles(world, {})[10:]

    found = compared(cycles, "static", workers=10)

    assert found.candidate.worker_s == pytest.approx(found.live.worker_s) == 12 * 49


def test_the_bound_of_a_former_consumer_does_not_bound_the_candidate() -> None:
    world = bounded()
    before = bounded_cycles(world, {})[10:]
    world.consumer, world.most = owner(20, epoch=2), 64
    assert before[-1].plan is not None
    after = bounded_cycles(world, {}, memories=before[-1].plan.memories)

    found = compared(before + after, "static", workers=48)

    assert found.candidate.worker_s == pytest.approx(20 * 50 + 48 * 59, rel=0.05)


@pytest.mark.parametrize(("live", "candidate"), [("sized", "pwqd"), ("pwqd", "sized")])
def test_what_the_shadow_foretells_is_what_the_candidate_then_does(
    live: str, candidate: str
) -> None:
    bulk = Stream(name="bulk", arrivals=(Burst(at_s=10.5, count=8_000),), service_s=0.1)
    calm = bursty(400.0, partitions=1).streams[0]
    scenario = replace(bursty(400.0, partitions=1), streams=(bulk, calm), limits=())

    found = compared(cycles_of(scenario, make_policy(live)), candidate)

    real = Scorecard(scenario).score(make_policy(candidate))[0]
    assert found.candidate.worker_s == pytest.approx(real.worker_s, rel=0.15)
    assert found.candidate.wait_p99_s == pytest.approx(real.wait_p99_s, rel=0.3, abs=0.5)


def test_unobserved_time_counts_for_neither() -> None:
    cycles = cycles_of(bursty(events=(Blind(at_s=30, for_s=20),)))

    found = compared(cycles, "sized")

    whole = compared(cycles_of(bursty()), "sized")
    assert found.live.worker_s < 0.95 * whole.live.worker_s
    assert found.candidate.worker_s == pytest.approx(found.live.worker_s, rel=0.15)


@pytest.mark.parametrize(
    "counts",
    [{"counters": {"done": 10**8}}, {"ready": (0, 0, 10**8, 0)}, {"in_flight": 10**8}],
    ids=str,
)
def test_a_reading_that_is_hardly_true_counts_for_neither(counts: dict[str, Any]) -> None:
    cycles = cycles_of(bursty())
    whole = compared(cycles, "sized")
    [first, *others] = cycles[60].observations
    assert first.state is not None
    wrong = changed(first, state=changed(first.state, **counts))

    cycles[60] = replace(cycles[60], observations=[wrong, *others])
    found = compared(cycles, "sized")

    assert found.jobs == pytest.approx(whole.jobs, rel=0.05)
    assert found.candidate.worker_s == pytest.approx(whole.candidate.worker_s, rel=0.05)
    # Two buckets: the candidate also doubts it, so it is later by a cycle.
    assert found.candidate.wait_p99_s == pytest.approx(whole.candidate.wait_p99_s, rel=0.35)


def test_jobs_that_wait_already_are_counted_from_then() -> None:
    cycles = cycles_of(replace(bursty(), streams=(BULK,), limits=()))

    found = compared([one for one in cycles if one.now_s >= 12], "static", workers=20)

    assert 1_500 < found.jobs <= 2_000
    assert found.candidate.wait_mean_s > 2.0
    assert found.candidate.wait_p99_s > found.live.wait_p99_s > 1.0


def test_what_arrives_waits_behind_the_jobs_that_are_there() -> None:
    for known in (World(workers=10, jobs=210.0), World(workers=10, jobs=5.0)):
        waits = Waits()
        known.reset(210.0)
        known.pass_s(1.0, 10.0, 1.0, waits)  # the last of these starts after 20 s
        for _ in range(21):
            known.pass_s(1.0, 0.0, 1.0, waits)

        assert waits.jobs == pytest.approx(210)
        assert waits.mean_s == pytest.approx(10.5, abs=0.5)
        assert waits.percentile_s(0.99) == pytest.approx(20, rel=0.15)


def test_a_fluid_flows_as_its_equation_says() -> None:
    """Against steps of a millisecond, across being full and not."""
    for jobs, per_s, workers, service_s in (
        (0.0, 50.0, 8, 0.1), (500.0, 20.0, 8, 0.1), (0.0, 200.0, 8, 0.1), (30.0, 0.0, 4, 0.5),
        (8.0, 80.0, 8, 0.1), (9.0, 79.0, 8, 0.1),
    ):  # fmt: skip
        world, waits = World(workers=workers, jobs=jobs), Waits()
        world.pass_s(3.0, per_s * 3.0, service_s, waits)
        slow = jobs
        for _ in range(30_000):
            slow += (per_s - min(slow, workers) / service_s) * 1e-4
        assert world.jobs == pytest.approx(slow, abs=0.01 * max(slow, 1.0)), (jobs, per_s)
        assert world.finished == pytest.approx(jobs + 3 * per_s - slow, abs=1.0)


def test_waits_are_told_to_within_a_bucket() -> None:
    waits = Waits()
    for wait_s in range(1, 101):
        waits.add(2.0, float(wait_s))

    assert waits.mean_s == pytest.approx(50.5)
    assert waits.percentile_s(0.5) == pytest.approx(50, rel=0.16)
    assert waits.percentile_s(0.99) == pytest.approx(99, rel=0.16)
    waits.add(1.0, 1e9)  # nothing is longer than the last bucket
    assert waits.percentile_s(1.0) > 1_000


def test_a_scenario_without_jobs_compares_nothing() -> None:
    found = compared(cycles_of(Scenario(until_s=20.0)), "pwqd")

    assert (found.jobs, found.live.wait_p99_s, found.candidate.wait_mean_s) == (0, 0, 0)
