"""Faults by number: what each one does, what is expected, and the row it adds to the table.

See the package's docstring for how to add one.
"""

from __future__ import annotations

import importlib
import pkgutil
import random
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import tests.chaos as package
from tests.chaos.checker import Verdict
from tools.tables import markdown

LEASE_S = 1.5
HEADS = (
    "fault",
    "expected",
    "runs",
    "jobs",
    "lost",
    "duplicate starts, of allowed",
    "duplicate terminals",
    "takeover p50 / max, s",
    "violations",
    "note",
)


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of a fault. number: from 0; quick: the small form; directory: its own, to be made."""

    number: int
    quick: bool
    directory: Path

    @property
    def random(self) -> random.Random:
        """Return randomness that depends on the number alone."""
        return random.Random(self.number)

    @property
    def lease_s(self) -> float:
        """The lease of owners that are killed, so that it need not end for a successor.

        `make test` keeps the machine busy: it may stop an owner for longer than a short lease.
        """
        return 10.0 if self.quick else LEASE_S

    @property
    def late_s(self) -> float:
        """How much later than promised anything may be, as a busy machine may be the reason."""
        return 20.0 if self.quick else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one run of a fault showed. sums and peaks are figures for the note, by their names."""

    verdict: Verdict
    sums: Mapping[str, float] = field(default_factory=dict)
    peaks: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: a fault and the results of all its runs."""

    fault: Fault
    results: Sequence[Result]

    @property
    def violations(self) -> list[str]:
        """Return everything that must not be, of all runs."""
        return [
            f"run {n}: {text}"
            for n, result in enumerate(self.results)
            for text in result.verdict.violations
        ]

    def cells(self) -> Sequence[object]:
        """Return the cells under HEADS."""
        verdicts = [result.verdict for result in self.results]
        return (
            f"{self.fault.number} {self.fault.name}",
            self.fault.expected,
            len(verdicts),
            f"{sum(v.jobs for v in verdicts):,}",
            sum(len(v.lost) for v in verdicts),
            f"{sum(v.starts for v in verdicts)} of {sum(v.starts_allowed for v in verdicts)}",
            sum(v.terminals for v in verdicts),
            _takeovers([s for v in verdicts for s in v.takeovers_s]),
            len(self.violations),
            self._note(),
        )

    def _note(self) -> str:
        sums = dict.fromkeys(name for result in self.results for name in result.sums)
        peaks = dict.fromkeys(name for result in self.results for name in result.peaks)
        parts = [f"{n} {sum(r.sums.get(n, 0) for r in self.results):g}" for n in sums]
        parts += [f"{n} at most {max(r.peaks.get(n, 0) for r in self.results):.3g}" for n in peaks]
        return ", ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault of the table.

    expected: in the words of the table. procedure: one run; whatever it raises is a violation.
    runs: by `make chaos`. quick: whether `make test` runs it once in its small form. tables:
    name of another table of docs/reliability.md -> its text, made of this fault's results.
    """

    number: str
    name: str
    expected: str
    procedure: Callable[[Trial], Result]
    runs: int = 5
    quick: bool = True
    tables: Mapping[str, Callable[[Sequence[Result]], str]] = field(default_factory=dict)

    def run(self, trial: Trial) -> Result:
        """Run it once; a procedure that fails is a result with a violation."""
        try:
            return self.procedure(trial)
        except Exception as error:
            what = "".join(traceback.format_exception(error)[-2:])
            return Result(verdict=Verdict(jobs=0, violations=(f"the run failed: {what}",)))


def faults() -> list[Fault]:
    """Return all faults of the modules of this package, in the order of their numbers."""
    found: list[Fault] = []
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith(("f0", "f1", "x_")):
            loaded = importlib.import_module(f"{package.__name__}.{module.name}")
            found += loaded.FAULTS
    numbers = [fault.number for fault in found]
    assert len(set(numbers)) == len(numbers), f"a number is there twice: {numbers}"
    return found


def chosen(all_faults: Iterable[Fault], only: str) -> list[Fault]:
    """Return the faults named in `only`, such as "F1,F7"; F5 also means F5a. All when empty.

    Raises LookupError for a name that is not there.
    """
    known = list(all_faults)
    found: list[Fault] = []
    for name in filter(None, (part.strip().upper() for part in only.split(","))):
        named = [f for f in known if f.number.upper().rstrip("ABCDEFGH") == name.rstrip("ABCDEFGH")]
        named = [f for f in named if f.number.upper() == name] or named
        if not named:
            raise LookupError(f"no fault {name}; there are {', '.join(f.number for f in known)}")
        found += named
    return found or known


def table(rows: Iterable[Row]) -> str:
    """Return the table of faults."""
    return markdown(HEADS, [row.cells() for row in rows])


def _takeovers(seconds: Sequence[float]) -> str:
    return f"{median(seconds):.2f} / {max(seconds):.2f}" if seconds else "none"
