"""How good a policy is: waits and costs, against the most workers and a clairvoyant oracle. Pure.

The oracle knows every job and its length. It runs exactly the workers that 64 (the most) would
keep busy, and never fewer than the least: no job waits longer than it must, and no worker idles. A
hidden limit is known to it, so no worker of it waits downstream.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from coordinator.policy import Policy
from coordinator.simulator.engine import Run, simulate
from coordinator.simulator.load import Load, loads_of
from coordinator.simulator.scenario import Scenario

WAIT_GOAL_S: Final = 10.0
WAIT_GOAL: Final = 1.1  # times the p99 with the most workers
COST_GOAL: Final = 1.3  # times the oracle's cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The figures of one policy in one scenario.

    added_p99_s: 99 % of the jobs waited at most this much longer than with the most workers.
    left: jobs not finished at the end; those that have not started count as waiting until then.
    """

    policy: str
    jobs: int
    left: int
    wait_p50_s: float
    wait_p99_s: float
    wait_max_s: float
    added_p99_s: float
    static_p99_s: float
    worker_s: float
    oracle_s: float
    changes_per_h: float
    reversals_per_h: float
    peak: int
    last_finish_s: float

    @property
    def cost(self) -> float:
        """Return the cost as a multiple of the oracle's."""
        return self.worker_s / self.oracle_s if self.oracle_s else math.inf

    @property
    def meets_goal(self) -> bool:
        """Return whether waits and cost are within the goals."""
        wait_s = max(WAIT_GOAL * self.static_p99_s, WAIT_GOAL_S)
        # Job by job as well: at the end of a run, jobs that wait have equally long waits.
        added_s = max((WAIT_GOAL - 1) * self.static_p99_s, WAIT_GOAL_S)
        waits = self.wait_p99_s <= wait_s and self.added_p99_s <= added_s
        return waits and self.cost <= COST_GOAL

    def figures(self) -> dict[str, Any]:
        """Return everything, rounded, for JSON."""
        names = [name for name in self.__slots__ if name != "policy"]
        rounded = {name: _rounded(getattr(self, name)) for name in names}
        return {
            "policy": self.policy, **rounded, "cost": _rounded(self.cost),
            "meets_goal": self.meets_goal,
        }  # fmt: skip


class Scorecard:
    """Runs policies on the same jobs, one after the other."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._loads = loads_of(scenario)
        self.static = simulate(_with_the_most(scenario), None, self._loads)
        self._waits_s = _waits_s(self.static)
        self._static_p99_s = percentile(sorted(self._waits_s), 0.99)
        self.oracle_s = self._oracle_s()

    @property
    def loads(self) -> Sequence[Load]:
        """Return the jobs of each partition."""
        return self._loads

    def score(self, policy: Policy[Any, Any], name: str = "") -> tuple[Score, Run]:
        """Return the figures of a policy, and its run."""
        run = simulate(self.scenario, policy, self._loads)
        return self.score_of(run, name or policy.name), run

    def score_of(self, run: Run, name: str) -> Score:
        """Return the figures of a run of the same scenario."""
        waits_s = _waits_s(run)
        ordered = sorted(waits_s)
        added_s = sorted(
            wait_s - least_s for wait_s, least_s in zip(waits_s, self._waits_s, strict=True)
        )
        hours = self.scenario.until_s / 3600
        return Score(
            policy=name,
            jobs=len(waits_s),
            left=sum(pool.left for pool in run.partitions),
            wait_p50_s=percentile(ordered, 0.5),
            wait_p99_s=percentile(ordered, 0.99),
            wait_max_s=percentile(ordered, 1.0),
            added_p99_s=percentile(added_s, 0.99),
            static_p99_s=self._static_p99_s,
            worker_s=sum(pool.worker_s for pool in run.partitions),
            oracle_s=self.oracle_s,
            changes_per_h=len(run.changes) / hours,
            reversals_per_h=_reversals(run) / hours,
            peak=run.peak,
            last_finish_s=max(pool.last_finish_s for pool in run.partitions),
        )

    def _oracle_s(self) -> float:
        known = self.scenario.with_everything_declared()
        same = known is self.scenario
        run = self.static if same else simulate(_with_the_most(known), None, self._loads)
        return sum(pool.needed_s for pool in run.partitions)


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return the value below which this share of sorted values lies; 0 if there are none."""
    if not ordered:
        return 0.0
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


def _with_the_most(scenario: Scenario) -> Scenario:
    return replace(scenario, workers=scenario.bounds.max_workers)


def _waits_s(run: Run) -> array[float]:
    return array("d", _each_wait_s(run))


def _each_wait_s(run: Run) -> Iterator[float]:
    until_s = run.scenario.until_s
    for pool in run.partitions:
        for at_s, wait_s in zip(pool.load.at_s, pool.waits_s, strict=True):
            yield wait_s if wait_s >= 0 else max(until_s - at_s, 0.0)


def _reversals(run: Run) -> int:
    ways: dict[int, list[str]] = {}
    for _, made in run.changes:
        ways.setdefault(made.partition, []).append(made.direction)
    return sum(one != other for own in ways.values() for one, other in pairwise(own))


def _rounded(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value
