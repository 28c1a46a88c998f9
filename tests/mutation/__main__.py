"""Judge the tests: each line of each Lua file is dropped, and a test must notice.

Run: `python -m tests.mutation [--file NAME] [--record FILE] [--jobs N] [--operators] [--write]`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from tests.mutation import report, survivors
from tests.mutation.compiling import Compiler, compiler
from tests.mutation.court import verdicts
from tests.mutation.files import named, texts
from tests.mutation.judge import JUDGES, Known, Survey, Verdict
from tests.mutation.marks import Marks, possible
from tests.mutation.mutants import Mutant, Mutants, with_other_operators, without_lines
from tests.mutation.record import Record
from tools import tables

AT_LEAST = 0.95


def main() -> int:
    """Judge mutants; return 0 when enough die, and each that lives has a reason."""
    options = _parser().parse_args()
    chosen = named(options.file)
    with compiler() as compiles:
        change = with_other_operators if options.operators else without_lines
        made = _made(compiles, chosen, change)
        marks = {file: possible(file, text, compiles.somewhere) for file, text in texts().items()}
    reasons = [] if options.operators else survivors.read()
    record = Record(options.record)
    found = _judged(made, reasons, record, marks, again=options.again, jobs=options.jobs)

    text = report.table(found, {name: m.not_compiling for name, m in made.items()})
    lived = report.living(found, reasons)
    share = report.killed_share(found)
    _say(f"\n{text}\n\n{lived}\n\n{share:.1%} killed")
    if options.operators:
        return 0
    wrong = survivors.problems(found, reasons, chosen)
    if share < AT_LEAST and not options.file:
        wrong.append(f"only {share:.1%} were killed; at least {AT_LEAST:.0%} must be")
    for line in wrong:
        _say(line)
    if options.write and not wrong:
        rest = f" Those that live:\n\n{lived}" if lived else ""
        tables.write("mutants", f"{text}\n\n{share:.1%} were killed.{rest}")
    return bool(wrong)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    only = parser.add_argument("--file", action="append", default=[], metavar="NAME")
    only.help = "only this file or folder: owner/claim, parts/fence, producer; may be repeated"
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="keep verdicts; skip known ones"
    )
    parser.add_argument("--again", action="store_true", help="judge again what lives on record")
    parser.add_argument("--jobs", type=int, default=1, help="processes that judge")
    parser.add_argument("--write", action="store_true", help="write docs/reliability.md")
    parser.add_argument("--operators", action="store_true", help="change operators instead")
    return parser


def _judged(
    made: dict[str, Mutants], reasons: Iterable[survivors.Reason], record: Record, marks: Marks,
    *, again: bool, jobs: int,
) -> list[Verdict]:  # fmt: skip
    """Return the verdicts on record that hold, and judge the rest."""
    listed = {(reason.file, reason.line) for reason in reasons}
    found: list[Verdict] = []
    lists: dict[str, list[Mutant]] = {}
    last, killers = [], {}
    for mutant in (mutant for mutants in made.values() for mutant in mutants.mutants):
        held, older = record.known(mutant), record.before(mutant)
        if held is not None and (held.killer or not again):
            found.append(held)
        elif (mutant.file, mutant.text) in listed or (older and not older.killer):
            last.append(mutant)
        else:
            lists.setdefault(mutant.file, []).append(mutant)
            if older and older.killer:
                killers[mutant] = older.killer
    _say(f"{len(found)} are judged, {len(last) + sum(map(len, lists.values()))} are not")
    if not last and not lists:
        return found
    known = Known(marks, record.surveys, killers)
    for one in verdicts(lists.values(), last=last, known=known, jobs=jobs, tests=JUDGES):
        if isinstance(one, Survey):
            record.learn(one)
            continue
        mutant, verdict = one
        record.add(mutant, verdict)
        found.append(verdict)
        if verdict.killer is None and (mutant.file, mutant.text) not in listed:
            _say(f"lives: {mutant}")
    return found


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _made(
    compiler: Compiler, chosen: list[str], change: Callable[..., Mutants]
) -> dict[str, Mutants]:
    made = {}
    for name in chosen:
        made[name] = change(name, texts()[name], partial(compiler.everywhere, name))
        compiler.forget()
    return made


if __name__ == "__main__":
    sys.exit(main())
