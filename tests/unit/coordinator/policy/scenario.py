"""Scenarios as text: what happens to a partition above the line, what the policy did below it.

policy pwqd threshold_pwqd=4      the policy and its settings
limits 8 64                       least and most workers
workers 8                         at the start (default: the least)
jobs 120 ms [cv 1] [serial 20 ms] service time of every job
cycle 1 s / react 0.2 s           of the coordinator, of the consumer
at 0.5 enqueue 100000             a burst
every 2 from 10 to 60 enqueue 50  bursts that repeat
at 30 jobs 240 ms                 jobs that start from now on take so long
at 30 blind 20 s                  no observations
at 30 leaderless 20 s             no coordinator; then a new one that knows the checkpoint
at 30 limits 8 32                 the operator changes the limits
until 420                         end, in seconds
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from coordinator.policy import Limits, Policy, make_policy
from coordinator.simulator.engine import Run, simulate
from coordinator.simulator.scenario import (
    Blind,
    BoundsChange,
    Burst,
    Event,
    Hidden,
    Leaderless,
    Scenario,
    ServiceChanges,
    Stream,
)

LINE = "----"


@dataclass(slots=True)
class WrittenRun:
    """A parsed file: what is simulated, and the expected text."""

    source: str
    policy: Policy[Any, Any]
    scenario: Scenario
    expected: str

    def run(self) -> Run:
        return simulate(self.scenario, self.policy)


def load(path: Path) -> WrittenRun:
    source, _, expected = path.read_text().partition(LINE + "\n")
    words = [line.split() for line in source.splitlines() if line and not line.startswith("#")]
    head = {line[0]: line[1:] for line in words if line[0] not in {"at", "every"}}
    name, *settings = head["policy"]
    happening = [each for line in words for each in _happenings(line)]
    service_s, cv, serial_s = _jobs(head["jobs"])
    stream = Stream(
        name="jobs",
        service_s=service_s,
        cv=cv,
        arrivals=tuple(each for each in happening if isinstance(each, Burst)),
    )
    scenario = Scenario(
        streams=(stream,),
        hidden=Hidden(per_s=1 / serial_s) if serial_s else Hidden(),
        events=tuple(each for each in happening if isinstance(each, Event)),
        bounds=_limits(head["limits"]),
        workers=int(head.get("workers", ["0"])[0]),
        cycle_s=float(head.get("cycle", ["1"])[0]),
        hears_s=float(head.get("react", ["0.2"])[0]),
        until_s=float(head["until"][0]),
    )
    policy = make_policy(name, **{key: float(value) for key, value in _pairs(settings)})
    return WrittenRun(source, policy, scenario, expected)


def report(run: Run) -> str:
    """Return every change of the target with its reason, and a summary."""
    lines = [
        f"{at_s:7.1f}  {made.previous:>3} -> {made.target:<3} {made.reason}"
        + (f" [{', '.join(made.clamps)}]" if made.clamps else "")
        for at_s, made in run.changes
    ]
    (partition,) = run.partitions
    waits = sorted(wait for wait in partition.waits_s if wait >= 0)
    ways = [made.direction for _, made in run.changes]
    lines += [
        "",
        f"finished {partition.finished}, left {partition.left}, "
        f"last end {partition.last_finish_s:.1f} s",
        f"wait p50 {waits[len(waits) // 2]:.1f} s, p99 {waits[len(waits) * 99 // 100]:.1f} s",
        f"workers at most {run.peak}, at the end {partition.workers}; worker-seconds "
        f"{partition.worker_s:.0f}",
        f"changes {len(run.changes)}, reversals {sum(a != b for a, b in pairwise(ways))}",
    ]
    return "\n".join(lines) + "\n"


def _happenings(line: list[str]) -> Iterator[Burst | Event]:
    if line[0] == "at":
        yield _happening(float(line[1]), line[2], line[3:])
    elif line[0] == "every":
        step_s, at_s, end_s = float(line[1]), float(line[3]), float(line[5])
        while at_s <= end_s:
            yield _happening(at_s, line[6], line[7:])
            at_s += step_s


def _happening(at_s: float, verb: str, words: list[str]) -> Burst | Event:
    match verb:
        case "enqueue":
            return Burst(at_s=at_s, count=int(words[0]))
        case "jobs":
            return ServiceChanges(at_s=at_s, service_s=_jobs(words)[0])
        case "limits":
            return BoundsChange(at_s=at_s, bounds=_limits(words))
        case "blind":
            return Blind(at_s=at_s, for_s=float(words[0]))
        case "leaderless":
            return Leaderless(at_s=at_s, for_s=float(words[0]))
        case _:
            raise ValueError(f"a scenario cannot {verb!r}")


def _jobs(words: list[str]) -> tuple[float, float, float]:
    """Return mean service time, its scatter, and the time of the serial part."""
    text = " ".join(words)
    found = re.fullmatch(r"([\d.]+) ms(?: cv ([\d.]+))?(?: serial ([\d.]+) ms)?", text)
    if found is None:
        raise ValueError(f"jobs {text!r}: expected '120 ms [cv 1] [serial 20 ms]'")
    mean_ms, cv, serial_ms = (float(value or 0) for value in found.groups())
    return mean_ms / 1000, cv, serial_ms / 1000


def _limits(words: list[str]) -> Limits:
    return Limits(min_workers=int(words[0]), max_workers=int(words[1]))


def _pairs(settings: list[str]) -> Iterator[tuple[str, str]]:
    for setting in settings:
        key, _, value = setting.partition("=")
        yield key, value
