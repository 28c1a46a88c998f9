"""The comparison of real runs with the simulator begins both at the same part of a cycle."""

from typing import Any

import pytest

from benchmarks import agreement
from benchmarks.trials import TRIALS
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
    agreement.run_simulated(TRIALS["bulk"], looked_s, came)

    for scenario in ran:
        [stream] = scenario.streams
        for burst, (after_s, count) in zip(stream.arrivals, came, strict=True):
            assert isinstance(burst, Burst)
            assert burst.count == count
            before_s = burst.at_s - after_s + looked_s
            assert before_s % scenario.cycle_s == pytest.approx(0.0)
    assert ran


def ran(rates: list[int]) -> agreement.Result:
    """Return a run with so many jobs finished in each second."""
    finished = [(s * 0.5, sum(rates[: s // 2]) + rates[s // 2] * (s % 2) // 2)
                for s in range(2 * len(rates))]  # fmt: skip
    return agreement.Result(makespan_s=float(len(rates)), finished=finished)


def test_a_stall_of_the_machine_is_seen_by_the_slowest_seconds() -> None:
    assert ran([80] * 20).slowest_per_s == pytest.approx(80)
    assert ran([80] * 8 + [20, 60] + [80] * 10).slowest_per_s == pytest.approx(60)


def test_the_begin_and_the_end_of_a_run_are_no_stall() -> None:
    assert ran([0, 20] + [80] * 20 + [10]).slowest_per_s == pytest.approx(80)
    assert ran([80] * 4).slowest_per_s == 0


def test_the_page_has_a_table_of_every_trial() -> None:
    page = (DOCS / "simulation.md").read_text()
    written = page.partition("<!-- table: agreement,")[2].partition("<!-- end of table -->")[0]

    assert [name for name in TRIALS if f"| `{name}` |" in written] == list(TRIALS)
    assert "load average" in written
