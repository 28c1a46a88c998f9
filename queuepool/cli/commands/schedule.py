"""queuepool schedule: list, set, pause and run schedules of jobs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from queuepool.cli.arguments import Actions, add_json, add_reason, duration, positive
from queuepool.cli.display import output, tables
from queuepool.cli.display.fields import print_fields
from queuepool.cli.display.schedules import COLUMNS, SHOWN, cells, describe, fields
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.pools import has_leader, open_pool
from queuepool.client.schedules import Schedules, UnknownScheduleError
from queuepool.errors import QueuePoolError
from queuepool.models import Schedule
from queuepool.models.schedules import MAX_CATCH_UP
from queuepool.process.startup import import_app
from queuepool.settings import strict_json

T = TypeVar("T")
DESCRIPTION = (
    "List, show, set, pause, resume, run or remove schedules: cron expressions or intervals at "
    "which the leading coordinator enqueues jobs."
)

_UNLED = "no coordinator leads, so schedules do not fire: start one (`queuepool coordinator`)"
_UNCHANGED = "unchanged: it had these values already"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `queuepool schedule`."""
    actions = Actions(parser)
    listing = actions.add("list", run_list, "list schedules with counts of fired and missed times")
    setting = actions.add("set", run_set, "create or change a schedule")
    named = [
        actions.add("show", run_show, f"show a schedule and its next {SHOWN} times"),
        setting,
        actions.add("pause", run_pause, "pause a schedule"),
        actions.add("resume", run_resume, "resume a schedule, from now on"),
        actions.add("run", run_run, "enqueue an extra job now"),
        actions.add("remove", run_remove, "remove a schedule; jobs already enqueued stay"),
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
    add("task", metavar="TASK", help="the task to run")
    due = setting.add_mutually_exclusive_group(required=True)
    due.add_argument("--cron", metavar="TEXT", help="cron expression, such as '30 3 * * MON-FRI'")
    due.add_argument("--every", type=duration, metavar="TIME", help="an interval, such as 10m")
    add(
        "--timezone",
        metavar="ZONE",
        help="time zone of --cron, such as Europe/Berlin; default UTC",
    )
    add("--payload", default="{}", metavar="JSON", help="payload as JSON; default {}")
    add("--key", default="", metavar="KEY", help="the partition key; default: the name")
    add("--missed", choices=("skip", "one", "all"), default="skip", help="default skip")
    catch_up = f"missed times that `--missed all` fires, at most {MAX_CATCH_UP:,}; default 100"
    add("--catch-up", type=positive, default=100, metavar="N", help=catch_up)
    add(
        "--grace",
        type=duration,
        default=60.0,
        metavar="TIME",
        help="time after which an unfired time counts as missed; default 60s",
    )
    add("--overlap", choices=("allow", "skip"), default="allow", help="default allow")
    _add_job_options(setting)


def _add_job_options(setting: argparse.ArgumentParser) -> None:
    add = setting.add_argument
    add("--tenant", metavar="NAME")
    add("--tier", choices=("critical", "high", "default", "low"))
    add("--pool", metavar="NAME", help="worker pool of the jobs")
    add("--max-attempts", type=positive, metavar="N")
    add("--timeout", type=duration, metavar="TIME", help="of each attempt")
    add(
        "--expires",
        type=duration,
        metavar="TIME",
        help="a job not started within this time expires",
    )
    add("--limit", action="append", metavar="NAME", help="limit of the jobs; up to four")
    add(
        "--unique",
        metavar="KEY",
        help="unique key: no job while another one with this key has not ended",
    )


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
    found = _ask_and_warn(lambda schedules: schedules.list())
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
    status = _ask_and_warn(lambda schedules: schedules.get(arguments.name))
    if status is None:
        raise UnknownScheduleError(arguments.name)
    if arguments.json:
        output.print_json(describe(status))
    else:
        print_fields(fields(status))
    return Exit.OK


def run_set(arguments: argparse.Namespace) -> Exit:
    """Define a schedule."""
    if arguments.every is not None and arguments.timezone is not None:
        raise CommandError(
            "--timezone is only for --cron: an interval is the same in each time zone", Exit.USAGE
        )
    schedule = Schedule(
        arguments.name,
        arguments.task,
        _payload(arguments.payload),
        arguments.key,
        cron=arguments.cron,
        every=arguments.every,
        timezone="UTC" if arguments.timezone is None else arguments.timezone,
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
    return _change(
        arguments,
        lambda schedules: schedules.set(schedule),
        "set",
        _UNCHANGED,
    )


def run_declare(arguments: argparse.Namespace) -> Exit:
    """Set the schedules of @task(cron=...) and @task(every=...)."""
    import_app(arguments.app)
    changed = _ask_and_warn(lambda schedules: schedules.declare())
    for name, is_new in changed.items():
        if arguments.json:
            output.print_json({"name": name, "changed": is_new})
        else:
            output.say(f"schedule {name}: {'set' if is_new else _UNCHANGED}")
    if not changed:
        output.remark(f"no task of {arguments.app} has a cron or every")
    return Exit.OK


def _payload(text: str) -> Any:
    try:
        return strict_json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"--payload is not JSON: {error}", Exit.USAGE) from None


def run_pause(arguments: argparse.Namespace) -> Exit:
    """Pause a schedule."""
    name = arguments.name
    return _change(arguments, lambda s: s.pause(name), "paused", "it was already paused")


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

    def remove(schedules: Schedules) -> bool:
        if not schedules.remove(name):
            raise UnknownScheduleError(name)
        return True

    return _change(arguments, remove, "removed")


def _ask(use: Callable[[Schedules], T]) -> T:
    with open_pool() as pool:
        return use(pool.schedules)


def _ask_and_warn(use: Callable[[Schedules], T]) -> T:
    """Do it, and say if no schedule fires at all; nothing where there is none."""
    with open_pool() as pool:
        answer = use(pool.schedules)
        if not (answer or isinstance(answer, bool)):
            return answer
        with suppress(QueuePoolError):  # who may set schedules may not ask for the leader
            if not has_leader(pool):
                output.remark(_UNLED)
        return answer


def _change(
    arguments: argparse.Namespace, use: Callable[[Schedules], bool], done: str, before: str = ""
) -> Exit:
    changed = _ask_and_warn(use)
    name, arguments.outcome = arguments.name, done if changed else before
    if arguments.json:
        output.print_json({"name": name, "changed": changed})
    else:
        output.say(f"schedule {name}: {done if changed else before}")
    return Exit.OK
