"""Short runs for the tests of the simulator."""

from typing import Any

from coordinator.policy import make_policy
from coordinator.simulator.engine import Run, simulate
from coordinator.simulator.scenario import Burst, Flow, Scenario, Stream


def burst(count: int = 1_000, at_s: float = 0.5, **settings: Any) -> Stream:
    return Stream(**{"name": "bulk", "arrivals": (Burst(at_s=at_s, count=count),)} | settings)


def flow(per_s: float = 20.0, until_s: float = 60.0, **settings: Any) -> Stream:
    arrivals = (Flow(from_s=0.0, until_s=until_s, per_s=per_s),)
    return Stream(**{"name": "flow", "arrivals": arrivals} | settings)


def play(*streams: Stream, policy: str | None = "pwqd", until_s: float = 60.0, **more: Any) -> Run:
    scenario = Scenario(streams=streams, until_s=until_s, **more)
    return simulate(scenario, make_policy(policy) if policy else None)
