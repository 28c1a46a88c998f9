"""The figures of a run, as a table by file and a list of those that live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from queuepool.verbs.scripts import PARTS
from tests.mutation.judge import Verdict
from tests.mutation.survivors import Reason
from tools.tables import markdown

HEADS = ("file or folder", "mutants", "killed", "by time", "survived", "not compiling", "seconds")


@dataclass(frozen=True, slots=True)
class Figures:
    """The outcome of the mutants of one file, or of several."""

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
    """Return a row a file of a verb, one a folder of parts, and the sums."""
    rows = []
    for row in sorted({_row(file) for file in not_compiling}):
        own = [v for v in verdicts if _row(v.file) == row]
        broken = sum(n for file, n in not_compiling.items() if _row(file) == row)
        rows.append((f"`{row}`", *figures(own, broken).row))
    rows.append(("**all**", *figures(verdicts, sum(not_compiling.values())).row))
    return markdown(HEADS, rows)


def _row(file: str) -> str:
    return f"{file.rpartition('/')[0]}/" if file.startswith(PARTS) else file


def living(verdicts: Sequence[Verdict], reasons: Sequence[Reason]) -> str:
    """Return those that live, with the reason where there is one; '' when none does."""
    known = {(r.file, r.line): r.reason for r in reasons}
    rows = [
        (f"`{v.file}`", v.line, f"`{v.text}`", known.get((v.file, v.text), ""))
        for v in sorted(verdicts, key=lambda v: (v.file, v.line))
        if v.killer is None
    ]
    return markdown(("file", "line", "without", "why it lives"), rows) if rows else ""
