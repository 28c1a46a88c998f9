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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from coordinator.policy import Limits, make_policy
from tests.unit.coordinator.policy.simulator import Jobs, Run, SimulatedPartition, Simulation

LINE = "----"
Action = Callable[[Simulation], None]


@dataclass(slots=True)
class Scenario:
    """A parsed file: the simulation, its end in seconds, and the expected text."""

    source: str
    simulation: Simulation
    until_s: float
    expected: str

    def run(self) -> Run:
        return self.simulation.run(self.until_s)


def load(path: Path) -> Scenario:
    source, _, expected = path.read_text().partition(LINE + "\n")
    words = [line.split() for line in source.splitlines() if line and not line.startswith("#")]
    head = {line[0]: line[1:] for line in words if line[0] not in {"at", "every"}}
    name, *settings = head["policy"]
    limits = _limits(head["limits"])
    start = int(head["workers"][0]) if "workers" in head else limits.min_workers
    simulation = Simulation(
        policy=make_policy(name, **{key: float(value) for key, value in _pairs(settings)}),
        partition=SimulatedPartition(start, _jobs(head["jobs"])),
        limits=limits,
        cycle_s=float(head.get("cycle", ["1"])[0]),
        reaction_s=float(head.get("react", ["0.2"])[0]),
        events=[event for line in words for event in _events(line)],
    )
    return Scenario(source, simulation, float(head["until"][0]), expected)


def report(run: Run) -> str:
    """Return every change of the target with its reason, and a summary."""
    lines = [
        f"{at_s:7.1f}  {made.previous:>3} -> {made.target:<3} {made.reason}"
        + (f" [{', '.join(made.clamps)}]" if made.clamps else "")
        for at_s, made in run.changes
    ]
    partition = run.partition
    waits = sorted(partition.waits_s)
    lines += [
        "",
        f"finished {partition.finished}, left {partition.backlog + partition.busy}, "
        f"last end {partition.last_finish_s:.1f} s",
        f"wait p50 {waits[len(waits) // 2]:.1f} s, p99 {waits[len(waits) * 99 // 100]:.1f} s",
        f"workers at most {run.peak}, at the end {partition.workers}; worker-seconds "
        f"{partition.worker_s:.0f}",
        f"changes {len(run.changes)}, reversals {run.reversals}",
    ]
    return "\n".join(lines) + "\n"


def _events(line: list[str]) -> Iterator[tuple[float, Action]]:
    if line[0] == "at":
        yield float(line[1]), _action(line[2], line[3:])
    elif line[0] == "every":
        step_s, at_s, end_s = float(line[1]), float(line[3]), float(line[5])
        while at_s <= end_s:
            yield at_s, _action(line[6], line[7:])
            at_s += step_s


def _action(verb: str, words: list[str]) -> Action:
    def act(simulation: Simulation) -> None:
        now_s = simulation.partition.now_s
        match verb:
            case "enqueue":
                simulation.partition.enqueue(int(words[0]))
            case "jobs":
                simulation.partition.jobs = _jobs(words)
            case "limits":
                simulation.limits = _limits(words)
            case "blind":
                simulation.blind_until_s = now_s + float(words[0])
            case "leaderless":
                simulation.leaderless_until_s = now_s + float(words[0])
            case _:
                raise ValueError(f"a scenario cannot {verb!r}")

    return act


def _jobs(words: list[str]) -> Jobs:
    text = " ".join(words)
    found = re.fullmatch(r"([\d.]+) ms(?: cv ([\d.]+))?(?: serial ([\d.]+) ms)?", text)
    if found is None:
        raise ValueError(f"jobs {text!r}: expected '120 ms [cv 1] [serial 20 ms]'")
    mean_ms, cv, serial_ms = (float(value or 0) for value in found.groups())
    return Jobs(mean_s=mean_ms / 1000, cv=cv, serial_s=serial_ms / 1000)


def _limits(words: list[str]) -> Limits:
    return Limits(min_workers=int(words[0]), max_workers=int(words[1]))


def _pairs(settings: list[str]) -> Iterator[tuple[str, str]]:
    for setting in settings:
        key, _, value = setting.partition("=")
        yield key, value
