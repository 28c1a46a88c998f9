"""The figures of a run, as a table a script and a list of those that live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.mutation.judge import Verdict
from tests.mutation.survivors import Reason
from tools.tables import markdown

HEADS = ("script", "mutants", "killed", "by time", "survived", "not compiling", "seconds")


@dataclass(frozen=True, slots=True)
class Figures:
    """The outcome of the mutants of one script."""

    mutants: int
    killed: int
    out_of_time: int
    not_compiling: int
    seconds: float

    @property
    def row(self) -> tuple[str, ...]:
        """Return the cells of a table."""
        lived = self.mutants - self.killed
        numbers = (self.mutants, self.killed, self.out_of_time, lived, self.not_compiling)
        return (*map(str, numbers), f"{self.seconds:.0f}")


def figures(verdicts: Sequence[Verdict], not_compiling: int) -> Figures:
    """Return the figures of some verdicts."""
    return Figures(
        mutants=len(verdicts),
        killed=sum(v.killer is not None for v in verdicts),
        out_of_time=sum(v.out_of_time for v in verdicts),
        not_compiling=not_compiling,
        seconds=sum(v.seconds for v in verdicts),
    )


def killed_share(verdicts: Sequence[Verdict]) -> float:
    """Return which part of the mutants a test noticed."""
    return sum(v.killer is not None for v in verdicts) / max(1, len(verdicts))


def table(verdicts: Sequence[Verdict], not_compiling: Mapping[str, int]) -> str:
    """Return a row a script, and the sums."""
    rows = []
    for script, broken in sorted(not_compiling.items()):
        own = [v for v in verdicts if v.script == script]
        rows.append((f"`{script}`", *figures(own, broken).row))
    rows.append(("**all**", *figures(verdicts, sum(not_compiling.values())).row))
    return markdown(HEADS, rows)


def living(verdicts: Sequence[Verdict], reasons: Sequence[Reason]) -> str:
    """Return those that live, with the reason where there is one; '' when none does."""
    known = {(r.script, r.line): r.reason for r in reasons}
    rows = [
        (f"`{v.script}`", v.line, f"`{v.text}`", known.get((v.script, v.text), ""))
        for v in sorted(verdicts, key=lambda v: (v.script, v.line))
        if v.killer is None
    ]
    return markdown(("script", "line", "without", "why it lives"), rows) if rows else ""
