"""The comparison of real runs with the simulator begins both at the same part of a cycle."""

from typing import Any

import pytest

from benchmarks import agreement
from coordinator.policy.base import Policy
from coordinator.simulator import engine
from coordinator.simulator.scenario import Burst, Scenario
from tools.tables import DOCS


@pytest.mark.parametrize(
    ("decided_ms", "looked_s"),
    [
        ([9_000, 10_300, 11_300], 0.3),
        ([9_000, 12_300], 0.3),  # the first look after the load changed nothing
        ([9_000], 0.5),
        ([], 0.5),
    ],
)
def test_the_next_look_is_found_by_the_first_decision_after_the_load(
    decided_ms: list[int], looked_s: float
) -> None:
    assert agreement._looked_s(decided_ms, 10_000) == pytest.approx(looked_s)


@pytest.mark.parametrize("looked_s", [0.1, 0.9])
@pytest.mark.parametrize("came", [[(0.0, 15_000)], [(0.2, 5_000), (0.5, 10_000)]])
def test_a_simulated_bulk_comes_as_long_before_a_look_as_the_real_one_and_takes_as_long(
    looked_s: float, came: list[tuple[float, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = list[Scenario]()

    def simulate(scenario: Scenario, policy: Policy[Any, Any]) -> engine.Run:
        ran.append(scenario)
        return engine.simulate(scenario, policy)

    monkeypatch.setattr(agreement, "simulate", simulate)
    agreement.run_simulated(agreement.TRIALS["bulk"], looked_s, came)

    for scenario in ran:
        [stream] = scenario.streams
        for burst, (after_s, count) in zip(stream.arrivals, came, strict=True):
            assert isinstance(burst, Burst)
            assert burst.count == count
            before_s = burst.at_s - after_s + looked_s
            assert before_s % scenario.cycle_s == pytest.approx(0.0)
    assert ran


def test_the_page_has_a_table_of_every_trial() -> None:
    page = (DOCS / "simulation.md").read_text()
    written = page.partition("<!-- table: agreement,")[2].partition("<!-- end of table -->")[0]

    assert [name for name in agreement.TRIALS if f"| `{name}` |" in written] == list(
        agreement.TRIALS
    )
    assert "load average" in written
