"""queuepool job: find jobs; show, cancel, edit or run one."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from itertools import islice
from typing import Any

from queuepool.cli.arguments import Actions, add_json, add_reason, moment, positive, words
from queuepool.cli.arguments import count as number
from queuepool.cli.display import output
from queuepool.cli.display.fields import error_text, json_text, print_fields, when
from queuepool.cli.display.finding import HISTORY, JOBS, draw, history_cells, job_cells
from queuepool.cli.display.names import id_cell, key_of
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.pools import open_pool
from queuepool.client.inspect_steps import Where
from queuepool.errors.escaping import key_text, visible
from queuepool.models import JobState, JobStatus
from queuepool.models.places import partition_at
from queuepool.models.tenants import key_in
from queuepool.settings import strict_json

_STATES = ("ready", "parked", "delayed", "in-flight", "dead")


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `queuepool job`."""
    actions = Actions(parser)
    cancelling = actions.add("cancel", cancel, "cancel a job")
    add_reason(cancelling, "job cancel", "=job job_id")
    for action in (actions.add("show", show, "show a job"), cancelling):
        action.add_argument("job_id", metavar="ID")
        action.add_argument(
            "--key",
            metavar="KEY",
            help="its partition key; needed if several partitions have this id",
        )
        add_json(action)
    running = actions.add("run", run, "run a delayed or dead job now")
    add_reason(running, "job run", "=job job_id")
    past = actions.add("history", history, "show the recorded executions of a job")
    editing = actions.add("edit", edit, "replace the payload of a job that is not running")
    add_reason(editing, "job edit", "=job job_id --run:at_once")
    editing.add_argument(
        "--payload", required=True, metavar="JSON", help="the new payload, with all arguments"
    )
    editing.add_argument("--run", dest="at_once", action="store_true", help="also run it now")
    for action in (running, past, editing):
        action.add_argument("job_id", metavar="ID")
        action.add_argument(
            "--key",
            metavar="KEY",
            help="its partition key; needed if several partitions have this id",
        )
        add_json(action)
    _declare_find(actions.add("find", find, "find jobs by state, task, key, error and time"))


def _declare_find(action: argparse.ArgumentParser) -> None:
    add = action.add_argument
    add("--state", choices=_STATES)
    add("--task", metavar="NAME")
    add("--key", metavar="KEY", help="only this partition key")
    add("--tenant", metavar="NAME", help="only this tenant; with --key, the tenant of the key")
    add(
        "--error",
        type=words,
        metavar="TEXT",
        help="only jobs whose last error contains this text or has this fingerprint",
    )
    add(
        "--since",
        type=moment,
        metavar="TIME",
        help="only jobs that died, were due, started or were enqueued since then: 1h",
    )
    add(
        "--until",
        type=moment,
        metavar="TIME",
        help="only jobs that died, were due, started or were enqueued until then",
    )
    add("--oldest", action="store_true", help="dead and delayed jobs: oldest first")
    add("--partition", type=number, metavar="N")
    add("--limit", type=positive, default=50, help="default 50")
    add("--count", action="store_true", help="only count them")
    add_json(action)


def run(arguments: argparse.Namespace) -> Exit:
    """Run a job now that is delayed or dead."""
    with open_pool() as pool:
        was = pool.inspect.run(arguments.job_id, partition_key=key_of(arguments.key))
    return _changed(arguments, was, runs=True)


def history(arguments: argparse.Namespace) -> Exit:
    """Show the executions of a job."""
    with open_pool() as pool:
        runs = pool.inspect.history(arguments.job_id, partition_key=key_of(arguments.key))
    if not runs:
        raise CommandError(
            "no execution is recorded; consumers keep a history if CONSUMER_HISTORY_KEEP_BYTES is "
            "not 0"
        )
    if arguments.json:
        for run in runs:
            output.print_json(run)
        return Exit.OK
    draw(HISTORY, [history_cells(run) for run in runs])
    return Exit.OK


def edit(arguments: argparse.Namespace) -> Exit:
    """Give a job other arguments."""
    try:
        payload = strict_json.loads(arguments.payload)
    except ValueError as error:
        raise CommandError(f"--payload is not JSON: {error}", Exit.USAGE) from None
    key = key_of(arguments.key)
    with open_pool() as pool:
        was = pool.inspect.edit(arguments.job_id, payload, partition_key=key)
        if arguments.at_once:
            pool.inspect.run(arguments.job_id, partition_key=key)
    return _changed(arguments, was, runs=arguments.at_once)


def _changed(arguments: argparse.Namespace, was: JobState, *, runs: bool) -> Exit:
    arguments.outcome = f"it was {was}"
    if arguments.json:
        output.print_json({"job_id": arguments.job_id, "was": was})
        return Exit.OK
    again = runs and was in (JobState.DELAYED, JobState.DEAD)
    output.say(f"it was {was}" + (" and is due now" if again else ""))
    return Exit.OK


def find(arguments: argparse.Namespace) -> Exit:
    """Find jobs."""
    where: Where = {
        "task": arguments.task,
        "partition_key": key_of(arguments.key),
        "tenant": arguments.tenant,
        "error": arguments.error,
        "since": arguments.since,
        "until": arguments.until,
        "newest": not arguments.oldest,
        "partition": arguments.partition,
    }
    with open_pool() as pool:
        if arguments.count:
            found = pool.inspect.count(arguments.state, **where)
            output.print_json({"jobs": found}) if arguments.json else output.say(f"{found:,} jobs")
            return Exit.OK
        jobs = list(islice(pool.inspect.find(arguments.state, **where), arguments.limit + 1))
    more, jobs = len(jobs) > arguments.limit, jobs[: arguments.limit]
    if arguments.json:
        for job in jobs:
            output.print_json(describe_job(job))
        return Exit.OK
    if not jobs:
        output.say("no job matches")
        return Exit.OK
    draw(JOBS, [job_cells(job) for job in jobs])
    if more:
        output.remark(f"there are more; --limit {arguments.limit * 4} shows more of them")
    return Exit.OK


def show(arguments: argparse.Namespace) -> Exit:
    """Show where one job is and what is known about it."""
    with open_pool() as pool:
        status = pool.status(arguments.job_id, partition_key=key_of(arguments.key))
    if status.state is JobState.UNKNOWN:
        raise CommandError(
            f"job {status.job_id} is unknown: it ended longer ago than the retention period, or "
            "was never "
            + (f"enqueued under the key {arguments.key!r}" if arguments.key else "enqueued here")
        )
    if arguments.json:
        known = describe_job(status)
        requested = known.pop("cancel_requested")
        known = {name: value for name, value in known.items() if value not in (None, "")}
        output.print_json(known | ({"cancel_requested": True} if requested else {}))
    else:
        print_fields(fields_of(status))
    return Exit.OK


def fields_of(status: JobStatus) -> dict[str, Any]:
    """Return what is known about a job in readable form."""
    at = {JobState.DELAYED: "due", JobState.IN_FLIGHT: "started", JobState.DEAD: "died"}
    asked = "requested; its handler has been notified" if status.cancel_requested else None
    fields = {
        "job": id_cell(status.job_id),
        "state": str(status.state),
        "task": status.task,
        "tier": None if status.tier is None else status.tier.name.lower(),
        "tenant": visible(status.tenant or ""),
        "key": None if status.group is None else key_text(key_in(status.group)),
        "partition": str(partition_at(status.partition)),
        "enqueued": None if status.enqueued_ms is None else when(status.enqueued_ms),
        at.get(status.state, "since"): None if status.at_ms is None else when(status.at_ms),
        "failed attempts": status.attempts,
        "crashes": status.crashes,
        "reason": status.error.reason if status.error else None,
        "error": error_text(status.error) if status.error else None,
        "progress": status.progress,
        "result": None if status.result is None else json_text(status.result),
        "cancel": asked,
    }
    return {name: value for name, value in fields.items() if value not in (None, "")}


def describe_job(status: JobStatus) -> dict[str, Any]:
    """Return a job's status as plain data for JSON."""
    plain = asdict(status)
    plain["tier"] = status.tier.name.lower() if status.tier is not None else None
    plain["group"] = key_text(key_in(status.group)) if status.group else None
    return plain | {"tenant": status.tenant}


def cancel(arguments: argparse.Namespace) -> Exit:
    """Cancel one job that has not ended."""
    with open_pool() as pool:
        was = pool.cancel(arguments.job_id, partition_key=key_of(arguments.key))
    arguments.outcome = f"it was {was}"
    if arguments.json:
        output.print_json({"job_id": arguments.job_id, "was": was})
    if was is JobState.IN_FLIGHT:
        output.remark("it is running; its handler was asked to stop")
    elif was not in (JobState.READY, JobState.DELAYED):
        raise CommandError(f"job {arguments.job_id} is {was}: there is nothing to cancel")
    elif not arguments.json:
        output.say(f"cancelled; it was {was}")
    return Exit.OK
