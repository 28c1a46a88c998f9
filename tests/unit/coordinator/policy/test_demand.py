"""What readings say about arrivals and service times."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from coordinator.policy import LimitUse, Reading
from coordinator.policy.demand import Demand


def reading(second: float, **counts: int) -> Reading:
    values = {"backlog": 0, "workers": 64, "busy": 0, "finished_total": 0}
    return Reading(at_s=second, **(values | counts))  # type: ignore[arg-type]


def steady(seconds: int, *, per_s: int = 20, busy: int = 10) -> Demand:
    demand = Demand()
    for second in range(seconds):
        demand = demand.observe(reading(second, busy=busy, finished_total=per_s * second), 1.0)
    return demand


def test_a_steady_load_is_known_by_its_rate_and_its_service_time() -> None:
    demand = steady(120)

    assert demand.per_s == pytest.approx(20, rel=0.01)
    assert demand.service_s == pytest.approx(10 / 20, rel=0.01)


def test_the_last_25_jobs_are_remembered_however_long_ago_they_were() -> None:
    demand = steady(60)

    for second in range(60, 1_000):
        demand = demand.observe(reading(second, finished_total=20 * 59), 1.0)

    assert demand.finished == pytest.approx(25)
    assert demand.service_s == pytest.approx(10 / 20, rel=0.04)


def test_a_bulk_is_backlog_and_hardly_a_rate() -> None:
    demand = steady(60)

    after = demand.observe(reading(60, busy=10, backlog=100_000, finished_total=1_200), 1.0)

    assert after.per_s <= 20 + (40 - 20) * 0.3


def test_a_backlog_that_shrinks_is_not_mistaken_for_arrivals() -> None:
    demand = Demand()
    for second in range(60):
        seen = reading(second, busy=64, backlog=6_000 - 100 * second, finished_total=100 * second)
        demand = demand.observe(seen, 1.0)

    assert demand.per_s == 0


def test_jobs_in_flight_count_as_the_server_knows_them() -> None:
    late = changed(reading(1, busy=0), in_flight=30)

    demand = steady(2, per_s=0, busy=0).observe(changed(late, at_s=2), 1.0)

    assert demand.in_flight == 30
    assert demand.per_s > 0


def test_a_bulk_is_no_rate_for_a_new_leader_either() -> None:
    bulk = reading(1, busy=8, backlog=100_000, finished_total=20)

    assert Demand().observe(reading(0), 1.0).observe(bulk, 1.0).per_s <= 20


def test_a_new_leader_takes_what_finishes_for_the_rate() -> None:
    assert steady(2).per_s == 20


def test_a_gap_weighs_no_more_than_two_cycles() -> None:
    demand = steady(60)

    after = demand.observe(reading(659, busy=64, finished_total=1_180), 1.0)

    assert after.service_s < 1.1 * (demand.worker_s + 2 * 64) / demand.finished
    assert after.per_s > 20 / 2


@pytest.mark.parametrize(
    ("seen", "problem"),
    [
        (reading(59, busy=10, finished_total=1_180), "not newer than the last one"),
        (reading(12, busy=10, finished_total=1_180), "not newer than the last one"),
        (reading(60, busy=10, finished_total=1_179), "fell from 1180 to 1179"),
        (reading(60, backlog=10**15, finished_total=1_180), "impossibly large"),
        (reading(60, busy=10, workers=0, finished_total=1_180), "10 busy of no workers"),
    ],
)
def test_a_reading_that_contradicts_what_is_known_is_a_problem(seen: Reading, problem: str) -> None:
    assert problem in steady(60).problem(seen)


def limited(second: int, finished: int, *, parked: int = 500, granted: float = 20.0) -> Reading:
    mail = LimitUse(
        name="mail",
        parked=parked,
        granted_per_s=granted,
        finished_total=finished,
        service_s_total=finished * 0.5,
    )
    return changed(reading(second, busy=10, finished_total=finished), limits=(mail,))


def test_only_the_unused_part_of_a_grant_needs_workers() -> None:
    demand = Demand()
    for second in range(61):
        demand = demand.observe(limited(second, 15 * second), 1.0)

    unused = demand.unused_workers(limited(61, 915))

    assert unused == pytest.approx((20 - 15) * 0.5, rel=0.05)
    assert demand.unused_workers(limited(61, 915, parked=20)) == 0
    assert demand.unused_workers(limited(61, 915, granted=10.0)) == 0


def test_the_jobs_of_a_limit_take_no_more_than_twice_what_all_jobs_took() -> None:
    demand = Demand()
    for second in range(60):
        seen = limited(second, 10 * second)
        demand = demand.observe(changed(seen, busy=10), 1.0)
    [mail] = limited(60, 600).limits
    wrong = changed(limited(60, 600), busy=10, limits=(replace(mail, service_s_total=1_000_000.0),))

    assert demand.unused_workers(limited(59, 590)) == pytest.approx(10 * 0.5, rel=0.1)
    assert demand.observe(wrong, 1.0).unused_workers(wrong) <= 10 * 2.5
