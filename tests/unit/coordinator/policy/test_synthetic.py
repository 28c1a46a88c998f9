"""Synthetic loads on which `sized` was designed: its waits and its cost stay what they are.

Each row has a 99th percentile and a cost, as a multiple of the oracle's, that are bounds: what was
simulated when they were written, and a twentieth more. 8 to 64 workers, reports once a second.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from coordinator.policy import Limits, make_policy
from coordinator.simulator.scenario import (
    Blind,
    Burst,
    Event,
    Flow,
    Hidden,
    Limit,
    Scenario,
    ServiceChanges,
    Stream,
)
from coordinator.simulator.scorecard import Scorecard

pytestmark = pytest.mark.thorough
_BEGIN_S = 10.5


class Row(NamedTuple):
    streams: tuple[Stream, ...]
    until_s: float
    p99_s: float
    cost: float
    limit_per_s: float = 0.0
    hidden_per_s: float = 0.0
    events: tuple[Event, ...] = ()

    def scenario(self) -> Scenario:
        limit = Limit(name="mail", per_s=self.limit_per_s, burst=self.limit_per_s)
        return Scenario(
            streams=self.streams,
            limits=(limit,) if self.limit_per_s else (),
            hidden=Hidden(per_s=self.hidden_per_s) if self.hidden_per_s else Hidden(),
            events=self.events,
            bounds=Limits(min_workers=8, max_workers=64),
            reports_s=1.0,
            until_s=self.until_s,
        )


def bulk(
    count: int, service_s: float, *, cv: float = 0.0, limit: str = "", at_s: float = _BEGIN_S
) -> Stream:
    arrivals = (Burst(at_s=at_s, count=count),)
    return Stream(name="bulk", arrivals=arrivals, service_s=service_s, cv=cv, limit=limit)


def mail(count: int) -> Stream:
    return bulk(count, 0.5, cv=1.0, limit="mail")


def bursts(count: int, service_s: float, times: int, every_s: float) -> Stream:
    arrivals = tuple(Burst(at_s=_BEGIN_S + every_s * n, count=count) for n in range(times))
    return Stream(name="bursts", arrivals=arrivals, service_s=service_s)


def flow(
    per_s: float, *, cv: float = 1.0, until_s: float = 600.0, service_s: float = 0.5
) -> Stream:
    arrivals = (Flow(from_s=0, until_s=until_s, per_s=per_s),)
    return Stream(name="flow", arrivals=arrivals, service_s=service_s, cv=cv)


def rising(first_per_s: float, last_per_s: float, seconds: int) -> Stream:
    slope = (last_per_s - first_per_s) / seconds
    arrivals = tuple(
        Flow(from_s=s, until_s=s + 1, per_s=first_per_s + slope * (s + 0.5)) for s in range(seconds)
    )
    return Stream(name="rising", arrivals=arrivals, service_s=0.5, cv=1.0)


ROWS = {
    "a bulk": Row((bulk(100_000, 0.12),), 260, 196.5, 1.05),
    "a parked bulk": Row((mail(40_000),), 1_010, 1_038.8, 1.23, limit_per_s=40),
    "a parked bulk beside a load": Row(
        (mail(4_000), flow(30, until_s=450)),
        450,
        401,
        1.27,
        limit_per_s=10,
    ),
    "two bulks": Row((bursts(20_000, 0.12, 2, 90),), 180, 40.2, 1.06),
    "on and off": Row((bursts(2_267, 0.12, 29, 20),), 600, 5.02, 1.16),
    "a ramp": Row((rising(5, 100, 600),), 600, 0.40, 1.17),
    "a heavy tail": Row((flow(40, cv=3.0),), 600, 0.68, 1.27),
    "jobs that become twice as long": Row(
        (flow(40),), 600, 1.20, 1.20, events=(ServiceChanges(at_s=300, service_s=1.0),)
    ),
    "nothing seen for half a minute": Row(
        (bulk(24_000, 0.12),), 120, 48.4, 1.07, events=(Blind(at_s=20, for_s=30),)
    ),
    "jobs of 2 ms": Row((bulk(100_000, 0.002),), 60, 3.90, 1.13),
    "jobs of a minute": Row((bulk(128, 60.0, cv=0.3),), 300, 94.8, 1.07),
    "more than a hidden limit lets through": Row(
        (flow(45, until_s=311),), 600, 58.6, 1.29, hidden_per_s=40
    ),
    "a bulk on a slow database, beside a load": Row(
        (flow(40, until_s=1_000, service_s=0.05), bulk(40_000, 0.05, cv=1.0, at_s=100)),
        1_200,
        696,
        1.19,
        hidden_per_s=60,
    ),
    "jobs of 10 ms behind a hidden limit of 3 a second": Row(
        (bulk(2_000, 0.01, cv=1.0, at_s=50),), 900, 690, 1.70, hidden_per_s=3
    ),
    "jobs of 3 s behind a hidden limit of 4 a second": Row(
        (bulk(2_000, 3.0, cv=1.0, at_s=50),), 900, 528, 1.72, hidden_per_s=4
    ),
    "jobs of 3 s": Row((bulk(8_000, 3.0, at_s=50),), 900, 398, 1.05),
    "a hidden limit": Row((bulk(14_000, 0.5, cv=1.0),), 600, 376.0, 1.28, hidden_per_s=40),
}


@pytest.mark.parametrize("name", ROWS)
def test_waits_and_cost_of_a_synthetic_load(name: str) -> None:
    row = ROWS[name]

    score, _ = Scorecard(row.scenario()).score(make_policy("sized"))

    assert score.wait_p99_s <= row.p99_s
    assert score.cost <= row.cost
