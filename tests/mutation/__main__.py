"""Run: `python -m tests.mutation [--script NAME] [--jobs N] [--operators] [--write]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import redis

from queuepool.embedded import EmbeddedServer
from queuepool.verbs.scripts import names, script
from tests.mutation import report, survivors
from tests.mutation.court import verdicts
from tests.mutation.judge import JUDGES, Verdict
from tests.mutation.mutants import Mutants, with_other_operators, without_lines
from tools import tables

AT_LEAST = 0.95


def main() -> int:
    """Judge mutants; return 0 when enough die, and each that lives has a reason."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--script", action="append", choices=names(), help="only these")
    parser.add_argument("--jobs", type=int, default=1, help="processes that judge")
    parser.add_argument("--write", action="store_true", help="write docs/reliability.md")
    parser.add_argument("--operators", action="store_true", help="change operators instead")
    options = parser.parse_args()
    chosen = options.script or names()
    if options.write and (options.script or options.operators):
        parser.error("--write needs all lines of all scripts")

    made = _made(chosen, with_other_operators if options.operators else without_lines)
    found: list[Verdict] = []
    jobs = max(1, min(options.jobs, len(chosen)))
    for verdict in verdicts([m.mutants for m in made.values()], jobs=jobs, tests=JUDGES):
        found.append(verdict)
        if verdict.killer is None:
            _say(f"lives: {verdict.script}.lua:{verdict.line}: {verdict.text}")

    reasons = [] if options.operators else survivors.read()
    text = report.table(found, {name: m.not_compiling for name, m in made.items()})
    lived = report.living(found, reasons)
    share = report.killed_share(found)
    _say(f"\n{text}\n\n{lived}\n\n{share:.1%} killed")
    if options.operators:
        return 0
    wrong = survivors.problems(found, reasons, chosen)
    if share < AT_LEAST and not options.script:
        wrong.append(f"only {share:.1%} were killed; at least {AT_LEAST:.0%} must be")
    for line in wrong:
        _say(line)
    if options.write and not wrong:
        rest = f" Those that live:\n\n{lived}" if lived else ""
        tables.write("mutants", f"{text}\n\n{share:.1%} were killed.{rest}")
    return bool(wrong)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _made(chosen: list[str], change: Callable[..., Mutants]) -> dict[str, Mutants]:
    with EmbeddedServer(appendonly=False) as server:
        client = redis.Redis.from_url(server.url)

        def compiles(source: bytes) -> bool:
            try:
                client.script_load(source)
            except redis.ResponseError:
                return False
            return True

        made = {name: change(name, script(name).source, compiles) for name in chosen}
        client.close()
    return made


if __name__ == "__main__":
    sys.exit(main())
