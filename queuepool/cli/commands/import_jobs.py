"""queuepool import: import waiting jobs from Celery, RQ, BullMQ or arq."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from importlib import import_module

from queuepool.cli.arguments import add_json, add_reason
from queuepool.cli.display import output
from queuepool.cli.display.names import key_of
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.imports.moving import Importing
from queuepool.cli.imports.naming import Naming, read_tasks, read_tiers
from queuepool.cli.imports.report import Report
from queuepool.cli.imports.source import Source
from queuepool.cli.inspection.logged import begins
from queuepool.cli.inspection.pools import open_pool
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown

_VARIABLE = "QUEUEPOOL_IMPORT_URL"
_NAMED = 10  # other queues, if this one is not found
_FORMS = ("celery", "rq", "bullmq", "arq")
DESCRIPTION = f"""\
Report which waiting jobs of another queue in Redis can be imported; with --move, move them
into task groups. Stop the workers of the other queue first. The server is that of --from or
{_VARIABLE}, where a password is not visible to other users. See docs/migration.md.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool import`."""
    add = parser.add_argument
    add("form", choices=_FORMS, metavar="|".join(_FORMS), help="library of the other queue")
    add("--from", dest="url", metavar="URL", help="server of the other queue: redis://HOST:6379/0")
    add("--queue", metavar="NAME", help="name of the other queue; default: the library's default")
    add(
        "--move",
        action="store_true",
        help="move the jobs; without it, only report what would be done",
    )
    add("--dry-run", action="store_true", help="only report what would be done, as without --move")
    add(
        "--task",
        action="append",
        default=[],
        metavar="THEIRS=OURS",
        help="map one of their tasks to one of yours; =OURS(a,b) names positional arguments",
    )
    add("--same-names", action="store_true", help="tasks without --task keep their names")
    add("--key", metavar="KEY", help="partition key (default: LIBRARY:QUEUE)")
    add(
        "--key-argument",
        metavar="NAME",
        help="use the value of this argument as the key, if a job has it",
    )
    add(
        "--tier",
        action="append",
        default=[],
        metavar="PRIORITIES=TIER",
        help="map priorities, such as 1-4=high (default: 0=default, others low)",
    )
    add_reason(parser, "import", "form --queue --task --key --tier", only="move")
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Count, or move."""
    url = arguments.url or os.environ.get(_VARIABLE)
    if not url:
        raise CommandError(f"no server: use --from URL, or set {_VARIABLE}", Exit.USAGE)
    if arguments.move and arguments.dry_run:
        raise CommandError("use --move or --dry-run, not both", Exit.USAGE)
    form = import_module(f"queuepool.cli.imports.{arguments.form}")
    queue = form.QUEUE if arguments.queue is None else arguments.queue
    if not (0 < len(queue) <= 256 and queue.isprintable()):
        raise InvalidInputError(f"--queue {shown(queue)}: use 1 to 256 visible characters")
    with open_pool() as pool:
        naming = Naming(
            producer=pool.producer,
            tasks=read_tasks(arguments.task),
            tiers=read_tiers(arguments.tier),
            key=key_of(arguments.key or f"{form.KIND}:{queue}"[:256]),
            key_argument=arguments.key_argument,
            same_names=arguments.same_names,
        )
        source = Source(url)
        importing = Importing(pool, source, form, queue, naming)
        begins(arguments)
        try:
            importing.run(
                move=arguments.move, now_ms=lambda: int(time.time() * 1000), advance=lambda _n: None
            )
        except KeyboardInterrupt:
            raise CommandError(
                f"interrupted after {importing.report.moved:,} jobs: run it again; nothing is "
                "moved twice",
                Exit.INTERRUPTED,
            ) from None
        finally:
            source.close()
    if not importing.report.found and not arguments.json:
        output.remark(_nothing(queue, importing.report.queues))
    return _tell(importing.report, moved=arguments.move, as_json=arguments.json)


def _nothing(queue: str, known: Sequence[str]) -> str:
    if queue in known:
        return f"{output.clean(queue)} is empty"
    names = ", ".join(output.clean(name, 100) for name in known[:_NAMED])
    more = f" and {len(known) - _NAMED:,} more" if len(known) > _NAMED else ""
    others = f"queues there: {names}{more}" if names else "no other queue was found there"
    return f"no queue {output.clean(queue)} was found: it is empty, or has another name; {others}"


def _tell(report: Report, *, moved: bool, as_json: bool) -> Exit:
    refused = sum(report.refused.values())
    if as_json:
        output.print_json(
            {
                "dry_run": not moved,
                "found": report.found,
                "movable": report.movable,
                "moved": report.moved,
                "there_already": report.already,
                "delayed": report.delayed,
                "taken_by_others": report.taken,
                "tasks": dict(report.tasks),
                "refused": {r.name.lower(): n for r, n in report.refused.items()},
                "not_moved": report.other,
                "queues_there": report.queues,
            }
        )
        return Exit.FAILED if moved and (refused or report.taken) else Exit.OK
    verb = f"{report.moved:,} moved" if moved else f"{report.movable:,} can be moved"
    output.say(f"{report.found:,} found, {verb}, {report.delayed:,} delayed, {refused:,} refused")
    for task, count in report.tasks.most_common(20):
        output.say(f"  {count:>9,}  task {output.clean(task, 100)}")
    for reason, count in report.refused.most_common():
        output.say(f"  {count:>9,}  {reason}")
        for detail, times in report.details[reason].most_common(5):
            output.say(f"             {times:,} {output.clean(detail)}")
    for said, count in report.other.items():
        output.say(f"  {count:>9,}  {said}: never moved")
    if report.already:
        output.remark(f"{report.already:,} of them were here already, from an earlier run")
    if not moved:
        output.remark("nothing was changed; use --move to move them")
        return Exit.OK
    if report.taken:
        output.remark(
            f"{report.taken:,} were taken by the other queue's workers in the meantime, and "
            f"cancelled here: stop those workers"
        )
    return Exit.FAILED if refused or report.taken else Exit.OK
