"""Where jobs wait: turns of lanes and tiers, and gates of limits."""

import math

from coordinator.simulator.scenario import Limit
from coordinator.simulator.waiting import TIER_WEIGHTS, Gate, Rings


def test_lanes_of_a_tier_take_turns() -> None:
    rings = Rings()
    for job in range(6):
        rings.add(2, 0 if job < 4 else 1, job)

    assert [rings.take() for _ in range(6)] == [0, 4, 1, 5, 2, 3]
    assert rings.count == 0


def test_tiers_share_starts_by_their_weights() -> None:
    rings = Rings()
    for tier in range(4):
        for job in range(100):
            rings.add(tier, 0, 100 * tier + job)

    taken = [rings.take() // 100 for _ in range(2 * sum(TIER_WEIGHTS))]

    assert [taken.count(tier) for tier in range(4)] == [2 * weight for weight in TIER_WEIGHTS]


def test_a_recovered_job_goes_to_the_front_of_its_lane() -> None:
    rings = Rings()
    rings.add(2, 0, 1)
    rings.add(2, 0, 2, front=True)

    assert [rings.take(), rings.take()] == [2, 1]


def gate(waiting: int, **settings: float) -> Gate:
    limit = Limit(name="mail", **settings)
    made = Gate(limit, limit.per_s)
    made.parked.extend(range(waiting))
    return made


def test_a_gate_lets_in_the_burst_and_then_one_job_per_token() -> None:
    mail = gate(10, per_s=2, burst=3)

    assert mail.admit(0.0) == [0, 1, 2]
    for _ in range(3):
        mail.start(0.0)
    assert mail.due_s() == 0.5
    assert mail.admit(0.49) == []
    assert mail.admit(0.5) == [3]


def test_tokens_that_no_worker_uses_are_lost() -> None:
    mail = gate(10, per_s=2, burst=3)

    mail.admit(0.0)

    assert mail.admit(100.0) == []
    assert math.isinf(mail.due_s())


def test_a_gate_lets_in_no_more_jobs_than_may_run_at_once() -> None:
    mail = gate(5, concurrency=2)
    assert mail.admit(0.0) == [0, 1]

    mail.start(0.0)
    mail.start(0.0)
    assert mail.admit(1.0) == []

    mail.end(0.5)
    assert mail.admit(1.0) == [2]
    assert (mail.finished, mail.service_s) == (1, 0.5)
