"""Equal worker seconds where the loop is late: jobs in memory go back, and are claimed again."""

from __future__ import annotations

import pytest

from consumer.core.costs import Costs
from consumer.core.jobs import ClaimedJob, End, Outcome, claimed
from tests.unit.consumer.core.slow_loop import SlowLoop
from tests.unit.consumer.core.world import World


def _job(group: bytes, n: int) -> ClaimedJob:
    body = b"12" + b"0" * 11 + b"007" + b"%02x" % len(group) + group
    return claimed(b"%s-%d" % (group, n), body, 1, 0, 0, 0.0)


def _counted(costs: Costs) -> tuple[int, float]:
    lanes = costs._lanes.values()
    return sum(lane.running for lane in lanes), sum(lane.began_s for lane in lanes)


def test_a_job_that_is_handed_back_and_claimed_again_in_one_turn_is_counted_once() -> None:
    costs = Costs()
    costs.on_ended([Outcome(_job(b"x", 0), End.DONE, 0.0, 1.0)])
    job = _job(b"a", 1)

    costs.on_claimed([job], 1.0, claimed={job.id}, all_taken=False)
    costs.on_claimed([job], 3.0, claimed={job.id}, all_taken=False)
    assert _counted(costs) == (1, 3.0)

    costs.on_ended([Outcome(job, End.DONE, 3.0, 3.5)])
    assert _counted(costs) == (0, 0.0)
    assert costs._lanes[b"2a"].charged_s(100.0, 8) == costs._lanes[b"2a"].cost_s


def test_jobs_that_go_back_after_a_stall_are_no_debt_when_the_next_claim_is_planned() -> None:
    world = World(workers=2)
    world.enqueue(1, "x")
    world.turn()
    world.clock.advance(0.02)
    world.end(list(world.running), took_s=0.02)
    world.turn(took_s=0.05)
    world.enqueue(20, "short")
    world.core.on_wake(b"w", world.now)
    world.turn()
    costs, waiting = world.core.state.costs, world.running[2:]
    assert waiting
    assert _counted(costs)[0] == len(world.running)

    world.clock.advance(1.0)
    del world.running[2:]
    world.core.on_stall(waiting, world.now)

    assert _counted(costs)[0] == 2


@pytest.mark.parametrize("late", [1000, 10])
@pytest.mark.parametrize("seed", range(2))
def test_shares_stay_equal_however_late_turns_are(late: int, seed: int) -> None:
    loop = SlowLoop({"long": 1.0, "short": 0.02}, workers=8, late=late, seed=seed)
    loop.enqueue(300, "long")
    loop.enqueue(12_000, "short")
    loop.run(5.0)
    before = dict(loop.busy_s)

    loop.run(20.0)

    long, short = (loop.busy_s[group] - before[group] for group in ("long", "short"))
    assert loop.stalls > 0
    assert 0.85 < long / short < 1.15
