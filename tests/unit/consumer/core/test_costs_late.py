"""Equal worker seconds where the loop is late: jobs in memory go back, and are claimed again."""

from __future__ import annotations

from math import inf

import pytest

from consumer.core.costs import Costs
from consumer.core.jobs import ClaimedJob, End, Outcome, claimed
from tests.unit.consumer.core.slow_loop import SlowLoop
from tests.unit.consumer.core.world import World

pytestmark = pytest.mark.thorough


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


def _known(*lengths_s: float | None) -> Costs:
    costs = Costs()
    costs.on_ended([Outcome(_job(b"x", 0), End.DONE, 0.0, 1.0)])
    jobs = [_job(b"g%d" % n, n) for n in range(len(lengths_s))]
    costs.on_claimed(jobs, 1.0, claimed={job.id for job in jobs}, all_taken=False)
    ends = zip(jobs, lengths_s, strict=True)
    for job, length_s in ends:
        if length_s is not None:
            costs.on_ended([Outcome(job, End.DONE, 1.0, 1.0 + length_s)])
    return costs


@pytest.mark.parametrize(
    ("lengths_s", "ahead", "starting", "most"),
    [
        ((2.0, 0.02), [b"2g0"], 8, inf),  # only short ones have their turn
        ((2.0, 0.02), [b"2g1"], 8, 4),  # only long ones, and the next claim may see to the others
        ((2.0, 0.02), [b"2g1"], 0, 1),
        ((2.0, 0.02), [], 8, 8),  # of which half are long ones
        ((2.0, 0.02), [], 0, 1),
        ((0.05, 0.004), [b"2g1"], 0, 15),  # 0.1 s of 8 workers
        ((2.0, *[0.02] * 99), [], 0, 20),  # of which few are long ones
        ((0.03, 0.02), [], 0, inf),  # by jobs, as always
        ((2.0,), [], 0, inf),
        ((0.02, None), [], 0, 6),  # of which none has ended, but one of 8 runs
        ((0.02, None), [b"2g0"], 0, 3),
        ((0.02, None), [b"2g0"], 8, 4),
        ((*[None] * 8, 0.02), [], 0, 9),  # each of them has its part
        ((*[None] * 32, *[0.03] * 8), [], 0, 133),
    ],
)
def test_a_claim_takes_few_jobs_while_long_ones_may_have_their_turn(
    lengths_s: tuple[float | None, ...], ahead: list[bytes], starting: int, most: float
) -> None:
    assert _known(*lengths_s).most(ahead, 8, starting) == most


@pytest.mark.parametrize("late", [1000, 10])
@pytest.mark.parametrize("seed", range(3))
def test_shares_stay_equal_however_late_turns_are(late: int, seed: int) -> None:
    loop = SlowLoop({"long": 1.0, "short": 0.02}, workers=8, late=late, seed=seed)
    loop.enqueue(150, "long")
    loop.enqueue(5_000, "short")
    loop.run(5.0)
    before, apart_s = dict(loop.busy_s), list[float]()

    for _ in range(12):
        loop.run(1.0)
        long, short = (loop.busy_s[group] - before[group] for group in ("long", "short"))
        apart_s.append(abs(long - short))

    assert max(apart_s) < 8.0  # no more than all workers do in the time of one long job
