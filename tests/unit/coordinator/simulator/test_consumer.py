"""When a simulated consumer reports its counts."""

import pytest

from coordinator.core.model import ScaleCommand
from coordinator.simulator.consumer import SimulatedConsumer
from coordinator.simulator.load import loads_of
from coordinator.simulator.partition import SimulatedPartition
from coordinator.simulator.scenario import Scenario
from queuepool.models import Owner
from tests.unit.coordinator.simulator.runs import burst


def consumer(jobs: int, *, service_s: float, workers: int, reports_s: float) -> SimulatedConsumer:
    """Return one whose jobs come after half a second."""
    scenario = Scenario(
        streams=(burst(jobs, at_s=0.5, service_s=service_s),), reports_s=reports_s, until_s=60
    )
    [load] = loads_of(scenario)
    pool = SimulatedPartition(load, scenario.streams, workers=workers)
    return SimulatedConsumer(0, pool, scenario)


def looked(one: SimulatedConsumer, until_s: float) -> list[tuple[float, int, int]]:
    """Let it look whenever it wants to; return each report: when, workers, busy ones."""
    next_s, found = one.partition.now_s, list[tuple[float, int, int]]()
    while next_s <= until_s:
        one.partition.advance(next_s)
        next_s = one.look()
        said = reported(one)
        if (report := (said.heartbeat_ms / 1000, said.workers, said.busy)) not in found:
            found.append(report)
    return found


def reported(one: SimulatedConsumer) -> Owner:
    state = one.observation().state
    assert state is not None
    assert state.owner is not None
    return state.owner


def command(target: int) -> ScaleCommand:
    return ScaleCommand(partition=0, sequence=1, type="SCALE", target=target, reason="")


@pytest.mark.parametrize("period_s", [1.0, 5.0])
def test_counts_that_stay_are_reported_once_a_period(period_s: float) -> None:
    calm = consumer(0, service_s=1, workers=8, reports_s=period_s)

    assert [at_s for at_s, _, _ in looked(calm, 3 * period_s)] == [n * period_s for n in range(4)]


def test_a_report_is_sent_when_it_is_due_and_not_at_the_next_look() -> None:
    often = consumer(0, service_s=1, workers=8, reports_s=0.6)

    assert [at_s for at_s, _, _ in looked(often, 1.5)] == pytest.approx([0.0, 0.6, 1.2])


def test_counts_that_change_are_reported_soon() -> None:
    assert looked(consumer(8, service_s=2, workers=8, reports_s=5), 3) == [
        (0.0, 8, 0),
        (0.5, 8, 8),
        (2.5, 8, 0),
    ]


def test_what_was_obeyed_is_reported_at_once_and_the_period_begins_anew() -> None:
    one = consumer(0, service_s=1, workers=8, reports_s=5)
    assert looked(one, 3) == [(0.0, 8, 0)]

    one.obey(command(16), "1-1")

    assert (reported(one).workers, reported(one).applied) == (16, "1-1")
    assert [at_s for at_s, _, _ in looked(one, 12.9)] == [3.0, 8.0]


def test_workers_that_leave_after_their_job_are_reported_when_they_have_left() -> None:
    one = consumer(62, service_s=2, workers=32, reports_s=5)
    looked(one, 2.25)

    one.obey(command(30), "1-1")

    assert looked(one, 3) == [(2.25, 32, 32), (2.5, 30, 30)]
