"""queuepool dead: jobs that failed permanently: list, show, replay or discard them."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from queuepool.cli.arguments import Actions, add_json, count, duration, positive
from queuepool.cli.display import output, tables
from queuepool.cli.display.durations import format_duration
from queuepool.cli.display.fields import error_text, json_text, print_fields, when
from queuepool.cli.display.names import id_cell, key_cell, key_of
from queuepool.cli.display.tables import Column
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.pools import open_pool
from queuepool.client.pool import QueuePool
from queuepool.errors import QueuePoolError, ScriptError, UndecodableError
from queuepool.errors.escaping import id_bytes, visible
from queuepool.models import DeadJob
from queuepool.models.tenants import key_in
from queuepool.routing.slots import group_of, key_bytes
from queuepool.telemetry import printing

_PAGE = 200
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

Place = tuple[int, str]  # partition, pool


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `queuepool dead`, each with the filters that choose jobs."""
    actions = Actions(parser)
    listing = actions.add("list", run_list, "list dead jobs, oldest first")
    showing = actions.add("show", run_show, "show dead jobs with payload and error")
    replaying = actions.add("replay", run_replay, "run dead jobs again, with attempts reset")
    discarding = actions.add("discard", run_discard, "delete dead jobs permanently")
    for action in (listing, showing, replaying, discarding):
        _add_filters(action)
    listing.add_argument("--limit", type=positive, default=50, help="default 50")
    for action in (replaying, discarding):
        action.add_argument("--all", action="store_true", help="every job that matches the filters")
    discarding.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    for action in (listing, showing, replaying, discarding):
        add_json(action)


def _add_filters(action: argparse.ArgumentParser) -> None:
    add = action.add_argument
    add("ids", nargs="*", metavar="ID")
    add("--partition", type=count, metavar="N")
    add("--task", metavar="NAME")
    add("--key", metavar="KEY", help="only of this partition key")
    add("--tenant", metavar="NAME", help="only of this tenant")
    add("--error", metavar="TEXT", help="only those whose reason or error contains this")
    add(
        "--older-than", type=duration, metavar="TIME", help="only those dead for at least this long"
    )


def run_list(arguments: argparse.Namespace) -> Exit:
    """List dead jobs, the oldest of each partition first."""
    damage: list[QueuePoolError] = []
    with open_pool() as pool:
        found = list(islice(matching(pool, arguments, damage), arguments.limit + 1))
    more, found = len(found) > arguments.limit, found[: arguments.limit]
    if arguments.json:
        for dead in found:
            output.print_json(describe(dead))
        return _ended(damage)
    if not found:
        output.say("no dead jobs" + (" match" if _is_filtered(arguments) else ""))
        return _ended(damage)
    console = output.console()
    rows = [cells(dead) for dead in found]
    output.print_lines(tables.draw(COLUMNS, rows, console.width), console)
    if more:
        output.remark(f"there are more; --limit {arguments.limit * 4} shows more of them")
    return _ended(damage)


def run_show(arguments: argparse.Namespace) -> Exit:
    """Show dead jobs with everything that is known about them."""
    if not arguments.ids and not _is_filtered(arguments):
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


def run_replay(arguments: argparse.Namespace) -> Exit:
    """Run dead jobs again."""
    return _change(arguments, "replay", "replayed")


def run_discard(arguments: argparse.Namespace) -> Exit:
    """Delete dead jobs permanently."""
    return _change(arguments, "discard", "discarded")


def _change(arguments: argparse.Namespace, verb: str, past: str) -> Exit:
    if not (arguments.ids or arguments.all or _is_filtered(arguments)):
        raise CommandError(f"specify which jobs to {verb}: ids, a filter, or --all", Exit.USAGE)
    with open_pool() as pool:
        chosen: dict[Place, list[str]] = {}
        damage: list[QueuePoolError] = []
        for dead in matching(pool, arguments, damage):
            chosen.setdefault((dead.partition, dead.pool), []).append(dead.job_id)
        wanted = sum(map(len, chosen.values()))
        if verb == "discard" and wanted and not arguments.yes:
            _confirm(wanted)
        changed, kept_out = 0, list[str]()
        for place, ids in chosen.items():
            if verb == "discard":
                changed += pool.partition(*place).discard(ids)
            else:
                answer = pool.partition(*place).replay(ids)
                changed += answer.replayed
                kept_out += answer.kept_out
    if arguments.json:
        output.print_json({past: changed} | ({"kept_out": kept_out} if kept_out else {}))
    else:
        output.say(f"{changed:,} {past}")
    if kept_out:
        output.remark(
            f"{len(kept_out):,} stay dead, as other jobs hold their unique keys; replay them when "
            f"those have ended: {' '.join(kept_out[:10])}"
        )
    missing = len(set(map(id_bytes, arguments.ids))) - wanted
    if arguments.ids and missing > 0:
        raise CommandError(
            f"{missing:,} of the named jobs are not dead, or do not match the filters"
        )
    return _ended(damage)


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


def matching(
    pool: QueuePool, arguments: argparse.Namespace, damage: list[QueuePoolError]
) -> Iterator[DeadJob]:
    """Yield the dead jobs that match the ids and filters, read in pages.

    damage: collects why a partition cannot be read; the others are still read.
    """
    chosen = pool.places(arguments.partition)
    if arguments.key is not None:
        at_home = pool.producer.route(key_of(arguments.key)).partition
        chosen = [p for p in chosen if p.number == at_home]
    matches = filter_of(arguments)
    for partition in chosen:
        offset = 0
        try:
            while page := partition.dead(offset, _PAGE):
                yield from (dead for dead in page if matches(dead))
                offset += len(page)
        except (ScriptError, UndecodableError) as error:
            error.add_note(f"so no further dead jobs of partition {partition.name} were read")
            damage.append(error)


def filter_of(arguments: argparse.Namespace) -> Callable[[DeadJob], bool]:
    """Return a predicate: whether a dead job matches the ids and all filters of a command."""
    ids = frozenset(map(id_bytes, arguments.ids))
    group = None if arguments.key is None else group_of(key_bytes(key_of(arguments.key)))

    def matches(dead: DeadJob) -> bool:
        error = dead.error
        age_s = time.time() - dead.died_ms / 1000
        text = f"{error.reason}\n{error.type}: {error.message}".lower()
        return (
            (not ids or id_bytes(dead.job_id) in ids)
            and (arguments.task is None or arguments.task in (dead.task, visible(dead.task)))
            and (group is None or key_in(dead.group) == group)
            and (arguments.tenant is None or dead.tenant == arguments.tenant)
            and (arguments.error is None or arguments.error.lower() in text)
            and (arguments.older_than is None or age_s >= arguments.older_than)
        )

    return matches


def _is_filtered(arguments: argparse.Namespace) -> bool:
    return any(
        getattr(arguments, name) is not None
        for name in ("partition", "task", "key", "tenant", "error", "older_than")
    )


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
