"""The jobs of a scenario: when each arrives, how long it takes, where it waits. Pure, seeded."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from coordinator.simulator.scenario import Burst, Flow, Scenario

_MOST_JOBS = 20_000_000  # about 0.5 GB


@dataclass(slots=True)
class Load:
    """The jobs of one partition, in the order of their arrival; a job is its index.

    share: its service time as a multiple of its stream's mean. stream: an index, as is lane.
    """

    at_s: array[float] = field(default_factory=lambda: array("d"))
    share: array[float] = field(default_factory=lambda: array("d"))
    stream: array[int] = field(default_factory=lambda: array("H"))
    lane: array[int] = field(default_factory=lambda: array("L"))

    def __len__(self) -> int:
        return len(self.at_s)


def loads_of(scenario: Scenario) -> list[Load]:
    """Return the jobs of each partition. Raises ValueError for more than can be simulated."""
    _refuse_too_many(scenario)
    seeds = [scenario.seed * 1_000 + number for number in range(len(scenario.streams))]
    randoms, scatters = [Random(f"times {seed}") for seed in seeds], [Random(s) for s in seeds]
    loads = [Load() for _ in range(scenario.partitions)]
    for at_s, number, index in _merged(scenario, randoms):
        stream = scenario.streams[number]
        lane = index % stream.lanes
        load = loads[lane % scenario.partitions if stream.partition is None else stream.partition]
        load.at_s.append(at_s)
        load.share.append(_share(stream.cv, scatters[number]))
        load.stream.append(number)
        load.lane.append(lane)
    return loads


def _refuse_too_many(scenario: Scenario) -> None:
    expected = sum(
        arrival.count
        if isinstance(arrival, Burst)
        else max(arrival.until_s - arrival.from_s, 0) * arrival.per_s
        for stream in scenario.streams
        for arrival in stream.arrivals
    )
    if expected > _MOST_JOBS:
        raise ValueError(f"{expected:,.0f} jobs are too many to simulate, at most {_MOST_JOBS:,}")


def _merged(scenario: Scenario, randoms: list[Random]) -> Iterator[tuple[float, int, int]]:
    """Yield (time, stream, index in the stream) of every job, in order."""
    times = [
        sorted(at_s for arrival in stream.arrivals for at_s in _times(arrival, random))
        for stream, random in zip(scenario.streams, randoms, strict=True)
    ]
    if len(times) == 1:
        yield from ((at_s, 0, index) for index, at_s in enumerate(times[0]))
        return
    yield from sorted(
        (at_s, number, index) for number, own in enumerate(times) for index, at_s in enumerate(own)
    )


def _times(arrival: Burst | Flow, random: Random) -> Iterator[float]:
    if isinstance(arrival, Burst):
        yield from [arrival.at_s] * arrival.count
        return
    at_s = arrival.from_s
    while arrival.per_s > 0:
        at_s += random.expovariate(arrival.per_s)
        if at_s >= arrival.until_s:
            return
        yield at_s


def _share(cv: float, random: Random) -> float:
    if not cv:
        return 1.0
    variance = math.log(1 + cv**2)
    return random.lognormvariate(-variance / 2, math.sqrt(variance))
