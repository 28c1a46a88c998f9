"""queuepool dead: jobs that failed permanently: list, show, summarize, replay or discard them."""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from queuepool.cli.arguments import Actions, add_json, add_reason, count, positive, rate
from queuepool.cli.display import output, tables
from queuepool.cli.display.fields import error_text, json_text, print_fields, when
from queuepool.cli.display.finding import print_digest
from queuepool.cli.display.names import id_cell, key_cell
from queuepool.cli.display.tables import Column
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.dead_jobs import Page, add_filters, is_filtered, matching, pages
from queuepool.cli.inspection.logged import begins
from queuepool.cli.inspection.pools import open_pool
from queuepool.client.pool import QueuePool
from queuepool.errors import QueuePoolError
from queuepool.errors.escaping import id_bytes
from queuepool.models import DeadJob
from queuepool.models.durations import format_duration
from queuepool.partitions.partition import Partition
from queuepool.telemetry import printing

_PAGE = 200
_KEPT_OUT = 10_000
COLUMNS = (
    Column("job", left=True),
    Column("task", left=True),
    Column("key", left=True, goes=3),
    Column("partition", left=True, goes=4),
    Column("died", left=True, goes=2),
    Column("attempts", left=True, goes=5),
    Column("reason", left=True),
    Column("error", left=True, prose=True),
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `queuepool dead`, each with the filters that choose jobs."""
    actions = Actions(parser)
    listing = actions.add("list", run_list, "list dead jobs, oldest first")
    showing = actions.add("show", run_show, "show dead jobs with payload and error")
    replaying = actions.add("replay", run_replay, "run dead jobs again, with attempts reset")
    discarding = actions.add("discard", run_discard, "delete dead jobs permanently")
    for action in (listing, showing, replaying, discarding):
        add_filters(action)
    listing.add_argument("--limit", type=positive, default=50, help="default 50")
    for action in (replaying, discarding):
        add = action.add_argument
        add("--all", action="store_true", help="all jobs that match the filters")
        add("--dry-run", action="store_true", help="only report how many jobs match")
        add("--limit", type=positive, metavar="N", help="at most this many jobs")
        add("--rate", type=rate, metavar="RATE", help="maximum rate: 50/s, 100/min")
    shows = "ids --partition --task --key --tenant --error --older-than --since --until --limit"
    add_reason(replaying, "dead replay", shows, unless="dry_run")
    add_reason(discarding, "dead discard", shows, unless="dry_run")
    short = actions.add("digest", run_digest, "summarize dead jobs")
    short.add_argument("--partition", type=count, metavar="N")
    add_json(short)
    discarding.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    for action in (listing, showing, replaying, discarding):
        add_json(action)


def run_list(arguments: argparse.Namespace) -> Exit:
    """List dead jobs, the oldest of each partition first."""
    damage: list[QueuePoolError] = []
    with open_pool() as pool:
        if arguments.json:  # as they are read: any number of them
            for dead in islice(matching(pool, arguments, damage), arguments.limit):
                output.print_json(describe(dead))
            return _ended(damage)
        found = list(islice(matching(pool, arguments, damage), arguments.limit + 1))
    more, found = len(found) > arguments.limit, found[: arguments.limit]
    if not found:
        output.say("no dead jobs" + (" match" if is_filtered(arguments) else ""))
        return _ended(damage)
    console = output.console()
    rows = [cells(dead) for dead in found]
    output.print_lines(tables.draw(COLUMNS, rows, console.width), console)
    if more:
        output.remark(f"there are more; --limit {arguments.limit * 4} shows more of them")
    return _ended(damage)


def run_show(arguments: argparse.Namespace) -> Exit:
    """Show dead jobs with everything that is known about them."""
    if not arguments.ids and not is_filtered(arguments):
        raise CommandError(
            "give job ids or a filter; `queuepool dead list` shows the jobs", Exit.USAGE
        )
    with open_pool() as pool:
        count, damage = 0, list[QueuePoolError]()
        for dead in matching(pool, arguments, damage):
            count += 1
            if arguments.json:
                output.print_json(describe(dead))
            else:
                print_dead(dead)
    if count == 0 and not damage:
        raise CommandError("no dead job matches; `queuepool dead list` shows all")
    return _ended(damage)


def run_digest(arguments: argparse.Namespace) -> Exit:
    """Show how many jobs are dead, since when, of which tasks, and why."""
    with open_pool() as pool:
        digest = pool.inspect.digest(partition=arguments.partition)
    if arguments.json:
        output.print_json(digest)
    else:
        print_digest(digest)
    return Exit.OK


def run_replay(arguments: argparse.Namespace) -> Exit:
    """Run dead jobs again."""
    return _change(arguments, "replay", "replayed")


def run_discard(arguments: argparse.Namespace) -> Exit:
    """Delete dead jobs permanently."""
    return _change(arguments, "discard", "discarded")


def _change(arguments: argparse.Namespace, verb: str, past: str) -> Exit:
    if not (arguments.ids or arguments.all or is_filtered(arguments)):
        raise CommandError(f"specify which jobs to {verb}: ids, a filter, or --all", Exit.USAGE)
    damage: list[QueuePoolError] = []
    with open_pool() as pool:
        if arguments.dry_run or (verb == "discard" and not arguments.yes):
            wanted = _count(pool, arguments)
            if arguments.dry_run:
                return _tell(arguments, f"would be {past}", {f"would_be_{past}": wanted}, wanted)
            if wanted:
                _confirm(wanted)
        begins(arguments)
        done, begun_s = _Done(), time.monotonic()
        try:
            for partition, jobs in _paced(pool, arguments, damage):
                done.change(partition, verb, [job.job_id for job in jobs])
        finally:  # also of what is aborted, for the log
            took = format_duration(time.monotonic() - begun_s)
            arguments.outcome = f"{done.changed:,} {past} in {took}"
    kept = {"kept_out": done.kept_out} if done.kept_out else {}
    _tell(arguments, past, {past: done.changed} | kept, done.changed)
    if done.kept_out:
        output.remark(
            f"{len(done.kept_out):,} stay dead, since other jobs hold their unique keys or their "
            f"groups are being moved; replay them later: {' '.join(done.kept_out[:10])}"
        )
    missing = len(set(map(id_bytes, arguments.ids))) - done.matched
    if arguments.ids and missing > 0:
        raise CommandError(
            f"{missing:,} of the named jobs are not dead, or do not match the filters"
        )
    return _ended(damage)


@dataclass
class _Done:
    """What was changed so far. kept_out: the first of those whose unique keys others hold."""

    matched: int = 0
    changed: int = 0
    kept_out: list[str] = field(default_factory=list)

    def change(self, partition: Partition, verb: str, ids: list[str]) -> None:
        """Replay or discard jobs."""
        self.matched += len(ids)
        if verb == "discard":
            self.changed += partition.discard(ids)
            return
        answer = partition.replay(ids)
        self.changed += answer.replayed
        self.kept_out += answer.kept_out[: _KEPT_OUT - len(self.kept_out)]


def _count(pool: QueuePool, arguments: argparse.Namespace) -> int:
    damage: list[QueuePoolError] = []  # it is told of when the jobs are changed
    found = sum(len(jobs) for _, jobs in pages(pool, arguments, damage, whole=False))
    return found if arguments.limit is None else min(found, arguments.limit)


def _paced(
    pool: QueuePool, arguments: argparse.Namespace, damage: list[QueuePoolError]
) -> Iterator[Page]:
    """Yield what to change, at most --limit jobs, at most --rate a second."""
    rate, left = arguments.rate, arguments.limit
    size = _PAGE if rate is None else max(1, min(_PAGE, int(rate)))
    for partition, jobs in pages(pool, arguments, damage, whole=False, size=size):
        some = jobs if left is None else jobs[:left]
        if not some:
            return
        yield partition, some
        left = None if left is None else left - len(some)
        if rate is not None and left != 0:
            threading.Event().wait(len(some) / rate)


def _tell(arguments: argparse.Namespace, what: str, fields: dict[str, Any], changed: int) -> Exit:
    if arguments.json:
        output.print_json(fields)
    else:
        output.say(f"{changed:,} {what}")
    return Exit.OK


def _ended(damage: Sequence[QueuePoolError]) -> Exit:
    """Return OK, or raise the first problem that kept a partition from being read."""
    for error in damage[1:]:
        output.remark(str(error))
    if damage:
        raise damage[0]
    return Exit.OK


def _confirm(count: int) -> None:
    if not printing.input_is_terminal():
        raise CommandError(
            f"{count:,} dead jobs would be deleted permanently; confirm with --yes", Exit.USAGE
        )
    answer = printing.ask(f"Delete {count:,} dead jobs permanently? [y/N]")
    if answer.lower() not in ("y", "yes"):
        raise CommandError("nothing was deleted")


def describe(dead: DeadJob) -> dict[str, Any]:
    """Return a dead job as plain data for JSON."""
    return {
        "job_id": dead.job_id,
        "partition": dead.partition,
        "pool": dead.pool,
        "task": dead.task,
        "key": dead.key,
        "died_ms": dead.died_ms,
        "attempts": dead.attempts,
        "crashes": dead.crashes,
        "reason": dead.error.reason,
        "error_type": dead.error.type,
        "error": dead.error.message,
        "traceback": dead.error.traceback,
        "payload": dead.payload,
    }


def cells(dead: DeadJob) -> list[str]:
    """Return a dead job as a row of the list."""
    return [
        id_cell(dead.job_id),
        output.clean(dead.task),
        key_cell(dead.key),
        dead.place,
        format_duration(time.time() - dead.died_ms / 1000) + " ago",
        str(dead.attempts),
        output.clean(dead.error.reason, 60),
        output.clean(error_text(dead.error)),
    ]


def print_dead(dead: DeadJob) -> None:
    """Print everything that is known about a dead job."""
    payload = "it cannot be read" if dead.payload is None else json_text(dead.payload)
    print_fields({
        "job": id_cell(dead.job_id),
        "task": dead.task,
        "key": dead.key,
        "partition": dead.place,
        "died": when(dead.died_ms),
        "attempts": dead.attempts,
        "crashes": dead.crashes,
        "reason": dead.error.reason,
        "error": error_text(dead.error),
        "payload": payload,
    })  # fmt: skip
    if dead.error.traceback:
        printing.say_block(dead.error.traceback)
    output.say("")
