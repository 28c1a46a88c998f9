"""queuepool schedule: jobs at times of a cron text, or at intervals: list, set, pause them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from queuepool.cli.arguments import Actions, add_json, add_reason, duration, positive
from queuepool.cli.display import output, tables
from queuepool.cli.display.fields import print_fields
from queuepool.cli.display.schedules import COLUMNS, SHOWN, cells, describe, fields
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.pools import open_pool
from queuepool.client.schedules import Schedules, UnknownScheduleError
from queuepool.models import Schedule
from queuepool.models.schedules import MAX_CATCH_UP
from queuepool.process.startup import import_app
from queuepool.settings import strict_json

T = TypeVar("T")
DESCRIPTION = (
    "Jobs at times of a cron text, or at intervals: list, show, set, pause, resume, run or remove "
    "them. The leading coordinator enqueues the jobs."
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `queuepool schedule`."""
    actions = Actions(parser)
    listing = actions.add("list", run_list, "list the schedules, with counts of their times")
    setting = actions.add("set", run_set, "define a schedule, or change it from now on")
    named = [
        actions.add("show", run_show, f"show a schedule and its next {SHOWN} times"),
        setting,
        actions.add("pause", run_pause, "let a schedule fire no more"),
        actions.add("resume", run_resume, "let it fire again, at its times from now on"),
        actions.add("run", run_run, "enqueue its job now, besides those of its times"),
        actions.add("remove", run_remove, "forget a schedule; jobs that it has enqueued stay"),
    ]
    declaring = actions.add("declare", run_declare, "set the schedules that tasks declare")
    declaring.add_argument("--app", required=True, metavar="MODULE", help="modules with tasks")
    for action in named:
        action.add_argument("name", metavar="NAME")
    _add_definition(setting)
    _add_reasons(setting, declaring, named[2:])
    for action in (listing, declaring, *named):
        add_json(action)


def _add_definition(setting: argparse.ArgumentParser) -> None:
    add = setting.add_argument
    add("task", metavar="TASK", help="the task of its jobs")
    due = setting.add_mutually_exclusive_group(required=True)
    due.add_argument("--cron", metavar="TEXT", help="times, such as '30 3 * * MON-FRI'")
    due.add_argument("--every", type=duration, metavar="TIME", help="an interval, such as 10m")
    add("--timezone", default="UTC", metavar="ZONE", help="of --cron, such as Europe/Berlin")
    add("--payload", default="{}", metavar="JSON", help="arguments of the task; default {}")
    add("--key", default="", metavar="KEY", help="the partition key; default: the name")
    add("--missed", choices=("skip", "one", "all"), default="skip", help="default skip")
    catch_up = f"jobs that `--missed all` makes up for, at most {MAX_CATCH_UP:,}; default 100"
    add("--catch-up", type=positive, default=100, metavar="N", help=catch_up)
    add("--grace", type=duration, default=60.0, metavar="TIME", help="until missed; default 60s")
    add("--overlap", choices=("allow", "skip"), default="allow", help="default allow")
    add("--tenant", metavar="NAME")
    add("--tier", choices=("critical", "high", "default", "low"))
    add("--pool", metavar="NAME", help="the worker pool of its jobs")
    add("--max-attempts", type=positive, metavar="N")
    add("--timeout", type=duration, metavar="TIME", help="of each attempt")
    add("--expires", type=duration, metavar="TIME", help="a job starts within this time, or never")
    add("--limit", action="append", metavar="NAME", help="a limit of its jobs; up to four")
    add("--unique", metavar="KEY", help="no job while another one with this key has not ended")


def _add_reasons(
    setting: argparse.ArgumentParser,
    declaring: argparse.ArgumentParser,
    named: Sequence[argparse.ArgumentParser],
) -> None:
    add_reason(
        setting,
        "schedule set",
        "=schedule name task --cron --every --timezone --key --tenant --tier",
    )
    add_reason(declaring, "schedule declare", "--app")
    for what, action in zip(("pause", "resume", "run", "remove"), named, strict=True):
        add_reason(action, f"schedule {what}", "=schedule name")


def run_list(arguments: argparse.Namespace) -> Exit:
    """List all schedules."""
    found = _ask(lambda schedules: schedules.list())
    if arguments.json:
        for status in found:
            output.print_json(describe(status))
        return Exit.OK
    if not found:
        output.say("no schedules; `queuepool schedule set` defines one")
        return Exit.OK
    console = output.console()
    rows = [cells(status) for status in found]
    output.print_lines(tables.draw(COLUMNS, rows, console.width), console)
    return Exit.OK


def run_show(arguments: argparse.Namespace) -> Exit:
    """Show one schedule."""
    status = _ask(lambda schedules: schedules.get(arguments.name))
    if status is None:
        raise CommandError(str(UnknownScheduleError(arguments.name)))
    if arguments.json:
        output.print_json(describe(status))
    else:
        print_fields(fields(status))
    return Exit.OK


def run_set(arguments: argparse.Namespace) -> Exit:
    """Define a schedule."""
    schedule = Schedule(
        arguments.name,
        arguments.task,
        _payload(arguments.payload),
        arguments.key,
        cron=arguments.cron,
        every=arguments.every,
        timezone=arguments.timezone,
        missed=arguments.missed,
        catch_up=arguments.catch_up,
        grace_s=arguments.grace,
        overlap=arguments.overlap,
        tenant=arguments.tenant,
        tier=arguments.tier,
        pool=arguments.pool,
        max_attempts=arguments.max_attempts,
        timeout_s=arguments.timeout,
        expires_s=arguments.expires,
        limit=None if arguments.limit is None else tuple(arguments.limit),
        unique=arguments.unique,
    )
    return _change(arguments, lambda schedules: schedules.set(schedule), "set", "it was so before")


def run_declare(arguments: argparse.Namespace) -> Exit:
    """Set the schedules of @task(cron=...) and @task(every=...)."""
    import_app(arguments.app)
    changed = _ask(lambda schedules: schedules.declare())
    for name, is_new in changed.items():
        if arguments.json:
            output.print_json({"name": name, "changed": is_new})
        else:
            output.say(f"schedule {name}: {'set' if is_new else 'it was so before'}")
    if not changed:
        output.remark(f"no task of {arguments.app} has a cron or every")
    return Exit.OK


def _payload(text: str) -> Any:
    try:
        return strict_json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"--payload is no JSON: {error}", Exit.USAGE) from None


def run_pause(arguments: argparse.Namespace) -> Exit:
    """Pause a schedule."""
    name = arguments.name
    return _change(arguments, lambda s: s.pause(name), "paused", "it was paused before")


def run_resume(arguments: argparse.Namespace) -> Exit:
    """Resume a schedule."""
    name = arguments.name
    return _change(arguments, lambda s: s.resume(name), "resumed", "it was not paused")


def run_run(arguments: argparse.Namespace) -> Exit:
    """Enqueue the job of a schedule now."""
    enqueued = _ask(lambda schedules: schedules.run(arguments.name))
    if arguments.json:
        output.print_json({"job_id": enqueued.job_id, "status": enqueued.status})
    elif enqueued.status == "accepted":
        output.say(f"schedule {arguments.name}: enqueued {enqueued.job_id}")
    else:
        output.say(f"schedule {arguments.name}: nothing was enqueued ({enqueued.status})")
    return Exit.OK


def run_remove(arguments: argparse.Namespace) -> Exit:
    """Remove a schedule."""
    name = arguments.name
    return _change(arguments, lambda s: s.remove(name), "removed", "there was none")


def _ask(use: Callable[[Schedules], T]) -> T:
    with open_pool() as pool:
        return use(pool.schedules)


def _change(
    arguments: argparse.Namespace, use: Callable[[Schedules], bool], done: str, before: str
) -> Exit:
    changed = _ask(use)
    name, arguments.outcome = arguments.name, done if changed else before
    if arguments.json:
        output.print_json({"name": name, "changed": changed})
    else:
        output.say(f"schedule {name}: {done if changed else before}")
    return Exit.OK
