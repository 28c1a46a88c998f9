"""queuepool bulk: a job for each row of a file, in one task group."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from queuepool.cli.arguments import add_json, count, duration, positive
from queuepool.cli.display import output
from queuepool.cli.display.names import key_of
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.pools import open_pool
from queuepool.cli.rows import outcome, row_ids
from queuepool.cli.rows.enqueueing import (
    Advance,
    Tally,
    check_file,
    checked,
    checked_before,
    enqueue,
    payload_check,
)
from queuepool.cli.rows.row_ids import RowId
from queuepool.cli.rows.rows import FORMATS, guess_format, open_rows, read_rows
from queuepool.cli.rows.unique_keys import unique_by
from queuepool.cli.rows.waiting import wait
from queuepool.client.group import TaskGroup
from queuepool.client.pool import QueuePool
from queuepool.errors import WaitTimeoutError
from queuepool.errors.escaping import shown, typed
from queuepool.models import Durability, GroupStatus, Tier
from queuepool.models.places import DEFAULT_POOL, check_pool
from queuepool.models.tenants import tenant_bytes
from queuepool.partitions.partition import Partition
from queuepool.routing.slots import key_bytes
from queuepool.tasks.limiting import limits_of
from queuepool.telemetry import printing

DESCRIPTION = """\
Enqueue a job for each row of a CSV or TSV file with a header (fields are strings) or each
object of a JSON Lines file. The file is checked first: if a row is invalid, nothing is enqueued.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool bulk`."""
    add = parser.add_argument
    add("file", metavar="FILE", help="the file; - for standard input")
    add("--task", required=True, metavar="NAME", help="the task that runs each job")
    add("--key", required=True, metavar="KEY", help="partition key: names the group")
    add(
        "--id",
        metavar="COLUMN",
        help="column that identifies rows, so that a second run adds nothing twice (default: "
        "the file's content and the row's line)",
    )
    add(
        "--unique",
        metavar="COLUMN",
        help="column with the unique key of each row: one such job at a time in the partition",
    )
    add("--until", choices=("end", "start"), help="with --unique: of the job (default end)")
    add(
        "--on-conflict",
        choices=("skip", "replace", "debounce"),
        help="with --unique, where a job with the key waits (default skip)",
    )
    add(
        "--limit",
        action="append",
        metavar="NAME",
        help="limit for the jobs, or a template with columns: mail:{account}; up to 4",
    )
    add("--tenant", metavar="NAME", help="tenant of the jobs; tenants take turns")
    add(
        "--spread",
        type=positive,
        default=1,
        metavar="N",
        help="spread the group over N slots, so that N processes run it, in no order (default 1)",
    )
    add("--pool", metavar="NAME", help="worker pool that runs the jobs (default: default)")
    _add_options(parser)


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--wait", action="store_true", help="wait until all jobs have ended")
    add("--timeout", type=duration, metavar="TIME", help="of --wait")
    add("--format", choices=FORMATS, help="default: from the file's extension")
    add(
        "--delimiter",
        type=_delimiter,
        metavar="CHAR",
        help="between the fields of CSV, such as ';' or tab (default: a comma; of TSV, a tab)",
    )
    add("--tier", choices=[tier.name.lower() for tier in Tier])
    add("--delay", type=duration, metavar="TIME", help="delay before the jobs may run")
    add("--expires", type=duration, metavar="TIME", help="jobs not started within this time expire")
    add("--max-attempts", type=positive, metavar="N", help="maximum number of attempts")
    add("--skip", type=count, default=0, metavar="N", help="skip the first rows")
    add(
        "--wait-when-full",
        type=duration,
        default=300.0,
        metavar="TIME",
        help="wait for room in a full partition (default 5m)",
    )
    add(
        "--durability",
        choices=[str(durability) for durability in Durability],
        help="how durable an acknowledged job is (default: QUEUEPOOL_DURABILITY)",
    )
    add_json(parser)


def _delimiter(text: str) -> str:
    """Return the typed character between fields."""
    character = "\t" if text in ("tab", "\\t") else text
    if len(character) != 1 or character in '"\r\n\0':
        raise argparse.ArgumentTypeError(
            f"{shown(text)} cannot separate fields: use one character, such as ';', or tab"
        )
    return character


def run(arguments: argparse.Namespace) -> Exit:
    """Enqueue the rows, wait if requested, and print a summary."""
    tally = Tally()
    try:
        return _run(arguments, tally)
    except KeyboardInterrupt:
        if not tally.complete:
            raise
        raise CommandError(
            f"interrupted: all {tally.rows:,} rows are enqueued, and their jobs continue "
            f"without this command; `queuepool group show {typed(arguments.key)}` shows "
            "their progress",
            Exit.INTERRUPTED,
        ) from None


def _run(arguments: argparse.Namespace, tally: Tally) -> Exit:
    if arguments.unique is None and (arguments.until or arguments.on_conflict):
        raise CommandError("--until and --on-conflict need --unique COLUMN", Exit.USAGE)
    form = arguments.format or guess_format(arguments.file)
    if arguments.delimiter and form == "jsonl":
        raise CommandError("--delimiter is for CSV: JSON Lines have no delimiter", Exit.USAGE)
    name = DEFAULT_POOL if arguments.pool is None else check_pool(arguments.pool)
    with open_pool() as pool:
        id_of, unique_of = _ids_for(arguments, pool), unique_by(arguments.unique)
        limits = limits_of(arguments.limit or ())
        check = payload_check(arguments.task, pool.config.max_payload_bytes, limits)
        total = None
        if not _is_stream(arguments.file):
            total = check_file(arguments, form, check, id_of, unique_of)
            check = checked_before
        started = time.monotonic()
        group = pool.group(key_of(arguments.key), tenant=arguments.tenant)
        before = group.status()
        row_ids.refuse_another_spread(arguments.spread, before, arguments.key)
        with open_rows(arguments.file) as lines, _progress(total) as advance:
            read = read_rows(lines, form, arguments.delimiter)
            rows = checked(read, check, id_of, unique_of, arguments.skip)
            enqueue(pool, rows, arguments, advance, tally)
        summary = _summary(arguments, group, tally, time.monotonic() - started)
        if not arguments.json:
            output.remark(
                f"{tally.accepted:,} jobs enqueued to {_where(summary)} "
                f"in {summary['enqueue_seconds']:.1f} s"
            )
            _remark_on_conflicts(tally)
            _remark_on_a_second_run(tally, before)
        if arguments.wait:
            place = pool.partition(group.partition.number, name)
            so_far = partial(outcome.so_far, summary, before, started)
            summary = so_far(_wait(arguments, group, place, so_far))
            return outcome.report(summary, group, arguments.tenant, as_json=arguments.json)
    if arguments.json:
        output.print_json(summary)
    return Exit.OK


def _summary(
    arguments: argparse.Namespace, group: TaskGroup, tally: Tally, seconds: float
) -> dict[str, Any]:
    return {
        "file": arguments.file,
        "task": arguments.task,
        "key": arguments.key,
        "partition": group.partition.number if arguments.spread == 1 else None,
        "spread": arguments.spread,
        "rows": tally.rows,
        "enqueued": tally.accepted,
        "duplicates": tally.duplicates,
        "conflicts": tally.conflicts,
        "replaced": tally.replaced,
        "enqueue_seconds": round(seconds, 3),
    }


def _where(summary: dict[str, Any]) -> str:
    one: int | None = summary["partition"]
    return f"{summary['spread']} slots" if one is None else f"partition {one}"


def _wait(
    arguments: argparse.Namespace,
    group: TaskGroup,
    place: Partition,
    so_far: Callable[[GroupStatus], dict[str, Any]],
) -> GroupStatus:
    try:
        return wait(group, place, arguments.timeout, False if arguments.json else None)
    except WaitTimeoutError:
        if arguments.json:
            output.print_json(so_far(group.status()))
        raise


def _ids_for(arguments: argparse.Namespace, pool: QueuePool) -> RowId:
    key, tenant = key_of(arguments.key), arguments.tenant
    target = row_ids.Target(
        arguments.task,
        key_bytes(key),
        pool.producer.route(key, tenant).slot,
        b"" if tenant is None else tenant_bytes(tenant),
    )
    if arguments.id is not None:
        return row_ids.by_column(arguments.id, target)
    if _is_stream(arguments.file):
        return row_ids.by_stream(target)
    return row_ids.by_file(arguments.file, target)


def _is_stream(name: str) -> bool:
    """Return whether rows can be read only once: standard input, a named pipe, or a device."""
    return name == "-" or Path(name).is_fifo() or Path(name).is_char_device()


def _remark_on_conflicts(tally: Tally) -> None:
    if tally.conflicts:
        output.remark(
            f"{tally.conflicts:,} rows were not added: jobs with their unique keys have not ended "
            "(with --until start: not started)"
        )
    if tally.replaced:
        output.remark(
            f"{tally.replaced:,} rows were not added: waiting jobs with their unique keys now have "
            f"their payloads"
        )


def _remark_on_a_second_run(tally: Tally, before: GroupStatus) -> None:
    if tally.duplicates:
        output.remark(
            f"{tally.duplicates:,} rows were not added again: jobs with their ids exist, or "
            "ended less than two minutes ago (`queuepool dead replay` runs dead ones again)"
        )
    elif before.total:
        output.remark(
            f"the group had {before.total:,} jobs before, {before.left:,} of them unfinished. "
            "If they were these rows, they run again: ended ids are remembered for one to two "
            "minutes (docs/first-day.md)"
        )


@contextmanager
def _progress(total: int | None) -> Iterator[Advance]:
    if not printing.remarks_are_on_terminal():
        yield lambda _rows: None
        return
    from rich.progress import Progress

    with Progress(console=output.remark_console(), transient=True) as bar:
        task = bar.add_task("enqueue", total=total)
        yield lambda rows: bar.advance(task, rows)
