"""queuepool limit: limits of rate and concurrency: list, show, set, pause, resume, remove them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import islice
from typing import TypeVar

from queuepool.cli.arguments import (
    Actions,
    add_grpc,
    add_json,
    add_reason,
    count,
    duration,
    positive,
)
from queuepool.cli.display import output, tables
from queuepool.cli.display.fields import print_fields
from queuepool.cli.display.limits import COLUMNS, UNUSED, cells, describe, fields
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.acting import act
from queuepool.cli.inspection.limits import CoordinatorLimits, LimitsOfQueue
from queuepool.cli.inspection.pools import open_pool
from queuepool.client.limits import UnknownLimitError
from queuepool.errors.escaping import shown
from queuepool.models import Limit
from queuepool.models.limits import check_limit_name

T = TypeVar("T")
_READ = 2_000  # limits that a list is chosen from
DESCRIPTION = (
    "List, show, set, pause, resume or remove rate and concurrency limits. Values set here "
    "override those declared in code until they are removed."
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `queuepool limit`."""
    actions = Actions(parser)
    listing = actions.add("list", run_list, "list the limits and their state")
    setting = actions.add("set", run_set, "set a limit; overrides code")
    changing = {
        "pause": actions.add("pause", run_pause, "pause a limit: start none of its jobs"),
        "resume": actions.add(
            "resume", run_resume, "end a pause, or a wait requested by the downstream"
        ),
        "remove": actions.add(
            "remove", run_remove, "remove the values and the pause set by operators"
        ),
    }
    add_reason(
        setting, "limit set", "=limit name --rate --per --burst --concurrency --least --most"
    )
    for what, action in changing.items():
        add_reason(action, f"limit {what}", "=limit name")
    named = [actions.add("show", run_show, "show a limit"), setting, *changing.values()]
    for action in named:
        action.add_argument("name", metavar="NAME")
    listing.add_argument(
        "--limit", type=positive, default=50, help="maximum number of entries; default 50"
    )
    _add_definition(setting)
    for action in (listing, *named):
        add_grpc(action)
        add_json(action)


def _add_definition(setting: argparse.ArgumentParser) -> None:
    add = setting.add_argument
    add("--rate", type=_rate, metavar="N", help="jobs that may start per second, or `adaptive`")
    add("--per", type=duration, metavar="TIME", help="period of the rate; default 1s")
    add("--burst", type=positive, metavar="N", help="jobs that may start at once after a pause")
    add("--concurrency", type=positive, metavar="N", help="jobs that may run at once")
    add("--least", type=positive, metavar="N", help="lowest rate of an adaptive limit")
    add("--most", type=positive, metavar="N", help="highest rate of an adaptive limit")


def _rate(text: str) -> int | str:
    if "/" in text:
        raise argparse.ArgumentTypeError(
            f"{shown(text)}: write the period as --per TIME, such as --rate 40 --per 1m"
        )
    rate = text if text == "adaptive" else count(text)
    if rate == 0:
        raise argparse.ArgumentTypeError(
            "must be at least 1; `queuepool limit pause NAME` stops all starts"
        )
    return rate


def run_list(arguments: argparse.Namespace) -> Exit:
    """List limits, as many as asked for: first those for which most jobs wait."""
    wanted = arguments.limit
    most = max(wanted + 1, _READ)
    found = _ask(arguments, lambda limits: list(islice(limits.list(), most)))
    found.sort(key=lambda status: (-status.parked, status.name))
    more, found = len(found) > wanted, found[:wanted]
    if arguments.json:
        for status in found:
            output.print_json(describe(status))
        return Exit.OK
    if not found:
        output.say("no limits: none is set, and no recent job has named one")
        return Exit.OK
    console = output.console()
    rows = [cells(status) for status in found]
    output.print_lines(tables.draw(COLUMNS, rows, console.width), console)
    if more:
        output.remark(f"there are more; --limit {wanted * 4} shows more of them")
    return Exit.OK


def run_show(arguments: argparse.Namespace) -> Exit:
    """Show one limit."""
    name = check_limit_name(arguments.name)
    status = _ask(arguments, lambda limits: limits.get(name))
    if status is None:
        raise UnknownLimitError(name)
    if arguments.json:
        output.print_json(describe(status))
    else:
        print_fields(fields(status))
    return Exit.OK


def run_set(arguments: argparse.Namespace) -> Exit:
    """Define a limit."""
    if arguments.per is not None and arguments.rate is None:
        raise CommandError("--per belongs to --rate", Exit.USAGE)
    limit = Limit(
        arguments.name,
        rate=arguments.rate,
        per_s=1.0 if arguments.per is None else arguments.per,
        burst=arguments.burst,
        concurrency=arguments.concurrency,
        least=arguments.least,
        most=arguments.most,
    )
    return _change(
        arguments, lambda limits: limits.set(limit), "set", "unchanged: it had these values already"
    )


def run_pause(arguments: argparse.Namespace) -> Exit:
    """Pause a limit; say so if nothing has used it, since its name may be misspelt."""
    name = check_limit_name(arguments.name)
    _change(arguments, lambda limits: limits.pause(name), "paused", "it was already paused")
    status = _ask(arguments, lambda limits: limits.get(name))
    if status is not None and status.unused:
        output.remark(f"{UNUSED}, at least within the last day: check its name")
    return Exit.OK


def run_resume(arguments: argparse.Namespace) -> Exit:
    """Resume a limit."""
    name = check_limit_name(arguments.name)
    return _change(
        arguments,
        lambda limits: limits.resume(name),
        "resumed",
        "it was neither paused nor waiting for the downstream",
    )


def run_remove(arguments: argparse.Namespace) -> Exit:
    """Remove what people set of a limit."""
    name = check_limit_name(arguments.name)
    return _change(arguments, lambda limits: limits.remove(name), "removed", "nothing was set")


def _ask(arguments: argparse.Namespace, use: Callable[[LimitsOfQueue], T]) -> T:
    """Return what `use` returns for the limits, as a coordinator or the servers have them."""

    def directly() -> T:
        with open_pool() as pool:
            return use(pool.limits)

    return act(arguments.grpc, lambda client: use(CoordinatorLimits(client)), directly)


def _change(
    arguments: argparse.Namespace, use: Callable[[LimitsOfQueue], bool], done: str, before: str
) -> Exit:
    changed = _ask(arguments, use)
    name, arguments.outcome = arguments.name, done if changed else before
    if arguments.json:
        output.print_json({"name": name, "changed": changed})
    else:
        output.say(f"limit {name}: {done}" if changed else f"limit {name}: {before}")
    return Exit.OK
