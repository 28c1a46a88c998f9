"""The experiments that led to today's policy, on the same load: `make experiments`.

    python -m benchmarks.experiments [--write] [--real 20000]

Everything but --real runs in virtual time, by the simulator and the policies of the coordinator, so
it comes out the same each time. --real also runs a bulk of so many jobs with real processes, once a
policy. --write puts the tables of what has run, and the charts, into docs/experiments.md.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import describe_machine
from coordinator.policy import Decision, Limits, Policy, PolicyState, Reading, make_policy
from coordinator.policy.base import PolicySettings, bounded
from coordinator.simulator.chart import draw
from coordinator.simulator.engine import Run, simulate
from coordinator.simulator.scenario import Burst, Flow, Scenario, Stream
from coordinator.simulator.scorecard import Score, Scorecard
from tools.tables import markdown, replaced

ROOT = Path(__file__).resolve().parent.parent
PAGE, CHARTS = ROOT / "docs" / "experiments.md", ROOT / "docs" / "experiments"
BASE, MOST = 8, 64
JOBS, JOB_S = 100_000, 0.12
_BULK_AT_S, _SECOND_AT_S, _END_S = 10.5, 450.5, 720.0
_SMALL_AT_S = (290.2, 318.7, 347.1, 376.4, 405.3, 600.8, 640.3)


@dataclass(frozen=True, slots=True, kw_only=True)
class BacklogSettings(PolicySettings):
    """When the count doubles."""

    above: int = 10_000


class BacklogPolicy(Policy[BacklogSettings, PolicyState]):
    """Twice the base while more than so many jobs wait: what came before any of the others."""

    name, version = "backlog", 1

    def on_reading(self, reading: Reading, state: PolicyState, limits: Limits) -> Decision:
        above = self.settings.above
        target = BASE * 2 if reading.backlog > above else BASE
        why = f"{reading.backlog} jobs wait, {above} are the mark"
        return bounded(PolicyState(target=target), state.target, limits, why)


@dataclass(frozen=True, slots=True)
class Experiment:
    """One row. name: of its chart, too."""

    name: str
    label: str
    policy: Policy[Any, Any]


EXPERIMENTS = (
    Experiment("0-ratio", "0: ratio", make_policy("ratio")),
    Experiment("1-aimd", "1: AIMD", make_policy("aimd")),
    Experiment("2-pwqd", "2: PWQD, decay", make_policy("pwqd")),
    Experiment("sized", "today: sized", make_policy("sized")),
)


def bulk(jobs: int = JOBS) -> Scenario:
    """Return the reference: one bulk, and nothing else."""
    stream = Stream(name="bulk", arrivals=(Burst(at_s=0.0, count=jobs),), service_s=JOB_S)
    return _scenario("reference", (stream,), until_s=jobs * JOB_S / BASE + 10)


def spikes() -> Scenario:
    """Return the load of the experiments: two bulks, and others in between and beside."""
    bulks = Stream(
        name="bulks",
        arrivals=(Burst(at_s=_BULK_AT_S, count=JOBS), Burst(at_s=_SECOND_AT_S, count=40_000)),
        service_s=JOB_S,
    )
    beside = Stream(
        name="beside",
        arrivals=(
            Flow(from_s=0.0, until_s=_END_S, per_s=150.0),
            *(Burst(at_s=at_s, count=600) for at_s in _SMALL_AT_S),
        ),
        service_s=JOB_S,
        cv=1.0,
        lanes=20,
    )
    return _scenario("two bulks and small ones", (bulks, beside), until_s=_END_S)


def _scenario(name: str, streams: tuple[Stream, ...], *, until_s: float) -> Scenario:
    return Scenario(
        name=name,
        streams=streams,
        bounds=Limits(min_workers=BASE, max_workers=MOST),
        reports_s=1.0,
        until_s=until_s,
    )


def makespan_s(policy: Policy[Any, Any] | None, workers: int = BASE, jobs: int = JOBS) -> float:
    """Return when the last job of one bulk has finished."""
    scenario = bulk(jobs)
    most = max(workers, MOST)
    if policy is None:
        scenario = Scenario(
            streams=scenario.streams,
            workers=workers,
            bounds=Limits(min_workers=BASE, max_workers=most),
            until_s=scenario.until_s,
        )
    return simulate(scenario, policy).partitions[0].last_finish_s


def references() -> list[tuple[str, float, str]]:
    """Return (what, seconds, what the article that this began with reports)."""
    return [
        ("8 workers", makespan_s(None), "25 min"),
        ("16 workers above 10,000 waiting, else 8", makespan_s(BacklogPolicy()), "14 min"),
        ("experiment 0: `ratio`", makespan_s(make_policy("ratio")), ""),
        ("experiment 1: `aimd`", makespan_s(make_policy("aimd")), ""),
        ("experiment 2: `pwqd`", makespan_s(make_policy("pwqd")), "4 min"),
        ("`sized`, the default", makespan_s(make_policy("sized")), ""),
        ("64 workers from the first second", makespan_s(None, MOST), ""),
    ]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One experiment, run: how long the bulks took, the small ones in the middle."""

    experiment: Experiment
    score: Score
    run: Run
    first_s: float
    second_s: float
    small_s: float
    idle_s: float


def outcomes() -> Iterator[Outcome]:
    """Yield every experiment, on the same jobs."""
    card = Scorecard(spikes())
    for experiment in EXPERIMENTS:
        score, run = card.score(experiment.policy, experiment.label)
        took_s = _took_s(run)
        yield Outcome(
            experiment,
            score,
            run,
            took_s[_BULK_AT_S],
            took_s[_SECOND_AT_S],
            sum(took_s[at_s] for at_s in _SMALL_AT_S) / len(_SMALL_AT_S),
            score.worker_s - run.partitions[0].served_s,
        )


def _took_s(run: Run) -> dict[float, float]:
    """Return how long each bulk took, by its arrival."""
    [pool] = run.partitions
    load = pool.load
    took: dict[float, float] = {}
    for at_s, wait_s, share, stream in zip(
        load.at_s, pool.waits_s, load.share, load.stream, strict=True
    ):
        took[at_s] = max(took.get(at_s, 0.0), wait_s + share * pool.mean_s[stream])
    return took


def clock(seconds: float) -> str:
    """Return minutes and seconds."""
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02}"


def reference_table(rows: Sequence[tuple[str, float, str]]) -> str:
    """Return the table of one bulk."""
    heads = ["100,000 jobs of 120 ms", "simulated", "the article"]
    return markdown(heads, ((what, clock(seconds), told) for what, seconds, told in rows))


def outcome_table(found: Sequence[Outcome]) -> str:
    """Return the table of the experiments."""
    heads = [
        *("experiment", "first bulk", "second bulk", "small bulks", "idle worker hours"),
        *("x oracle", "changes", "reversals"),
    ]
    return markdown(heads, map(_outcome_row, found))


def _outcome_row(one: Outcome) -> list[str]:
    score, hours = one.score, _END_S / 3600
    return [
        one.experiment.label,
        clock(one.first_s),
        clock(one.second_s),
        f"{one.small_s:.1f} s",
        f"{one.idle_s / 3600:.2f}",
        f"{score.cost:.2f}",
        f"{score.changes_per_h * hours:.0f}",
        f"{score.reversals_per_h * hours:.0f}",
    ]


def charts(found: Sequence[Outcome]) -> dict[str, str]:
    """Return the pictures by file name."""
    made = {
        f"{one.experiment.name}.svg": draw(
            f"Experiment {one.experiment.label}"
            if one.experiment.name[0].isdigit()
            else "The default, sized",
            [(one.experiment.policy.name, one.run)],
        )
        for one in found
    }
    together = [(one.experiment.policy.name, one.run) for one in found]
    return made | {"all.svg": draw("All four on the same load", together)}


def filled(page: str, tables: Mapping[str, str]) -> str:
    """Return the page with its tables in their places. Raises LookupError if one has none."""
    for name, table in tables.items():
        page = replaced(page, name, table)
    return page


def real_table(jobs: int) -> str:
    """Run one bulk with real processes, once a policy; return the table, beside its simulation."""
    from benchmarks.scaling import run

    rows = []
    for name in ("ratio", "aimd", "pwqd", "sized"):
        result = run(
            jobs, JOB_S * 1000, BASE, MOST, wait_return=False,
            environment={"COORDINATOR_POLICY": name},
        )  # fmt: skip
        simulated_s = makespan_s(make_policy(name), jobs=jobs)
        rows.append((f"`{name}`", f"{result.makespan_s:.1f} s", f"{simulated_s:.1f} s"))
    cores, load = describe_machine()["cores"], os.getloadavg()[0]
    said = f"{jobs:,} jobs, on {cores} cores; load average at the end: {load:.1f}."
    return f"{markdown(['policy', 'real processes', 'simulated'], rows)}\n\n{said}"


def main(argv: list[str] | None = None) -> int:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--write", action="store_true", help="update docs/experiments.md")
    parser.add_argument("--real", type=int, metavar="JOBS", help="also with real processes")
    flags = parser.parse_args(argv)
    found = list(outcomes())
    tables = {"reference": reference_table(references()), "experiments": outcome_table(found)}
    if flags.real:
        tables["real"] = real_table(flags.real)
    print("\n\n".join(tables.values()))
    if flags.write:
        PAGE.write_text(filled(PAGE.read_text(), tables))
        CHARTS.mkdir(exist_ok=True)
        for name, picture in charts(found).items():
            (CHARTS / name).write_text(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
