"""target-wait and utilisation, cycle by cycle."""

from coordinator.policy import Decision, Limits, PolicyState, Reading, make_policy
from coordinator.policy.target_wait import workers_for

LIMITS = Limits(min_workers=1, max_workers=256)


def play(name: str, *readings: Reading, **settings: float) -> list[Decision]:
    policy, decisions = make_policy(name, **settings), list[Decision]()
    state: PolicyState = policy.initial(8)
    for reading in readings:
        decisions.append(policy.decide(reading, state, LIMITS))
        state = decisions[-1].state
    return decisions


def reading(second: float, **counts: int) -> Reading:
    values = {"backlog": 0, "workers": 8, "busy": 0, "finished_total": 0}
    return Reading(at_s=second, **(values | counts))  # type: ignore[arg-type]


def two_second_jobs(seconds: int) -> list[Reading]:
    return [reading(s, busy=8, finished_total=4 * s) for s in range(seconds)]


def test_target_wait_divides_the_work_by_the_wait() -> None:
    # The formula that is often copied gives 17: it divides by the seconds per job.
    assert workers_for(10_000, 2.0, 300.0) == 67

    last = reading(1_000, busy=8, backlog=10_000, finished_total=4_000)
    decisions = play("target-wait", *two_second_jobs(1_000), last, wait_s=300.0)

    assert 8 + 64 <= decisions[-1].target <= 8 + 67
    assert "8 busy, and 10000 waiting jobs of 1.9" in decisions[-1].reason


def test_target_wait_keeps_what_is_busy() -> None:
    assert play("target-wait", *two_second_jobs(20))[-1].target == 8


def test_target_wait_holds_on_a_reading_that_cannot_be_true() -> None:
    decisions = play("target-wait", *two_second_jobs(20), reading(20, backlog=9, finished_total=3))

    assert decisions[-1].target == 8
    assert "fell from 76 to 3: held" in decisions[-1].reason


def test_utilisation_has_a_worker_for_each_job() -> None:
    decisions = play("utilisation", reading(0), reading(1, busy=8, backlog=32))

    assert decisions[-1].target == 40


def test_utilisation_keeps_idle_workers_alive_after_a_rise() -> None:
    rise = [reading(0), reading(1, busy=8, backlog=32)]
    idle = [reading(2 + s, workers=40, busy=5) for s in range(40)]

    targets = [made.target for made in play("utilisation", *rise, *idle, keep_alive_s=30.0)]

    assert targets[1:31] == [40] * 30
    assert targets[31:] == [5] * 11


def test_utilisation_without_keep_alive_follows_at_once() -> None:
    seen = [reading(0), reading(1, busy=8, backlog=32), reading(2, workers=40, busy=5)]

    assert [made.target for made in play("utilisation", *seen, keep_alive_s=0.0)] == [8, 40, 5]
