"""queuepool job, group and audit: single questions and their answers."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from queuepool.cli.display import output
from queuepool.cli.display.fields import error_text, json_text, print_fields, when
from queuepool.cli.display.names import id_cell, key_of
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.pools import open_pool
from queuepool.client import group as groups
from queuepool.errors.escaping import key_text
from queuepool.models import GroupStatus, JobState, JobStatus


def job_show(arguments: argparse.Namespace) -> Exit:
    """Show where one job is and what is known of it."""
    with open_pool() as pool:
        status = pool.status(arguments.job_id, partition_key=key_of(arguments.key))
    if status.state is JobState.UNKNOWN:
        raise CommandError(
            f"job {status.job_id} is unknown: it ended longer ago than is remembered, or was never "
            + (f"enqueued under the key {arguments.key!r}" if arguments.key else "enqueued here")
        )
    if arguments.json:
        known = describe_job(status)
        told = known.pop("cancel_requested")
        known = {name: value for name, value in known.items() if value not in (None, "")}
        output.print_json(known | ({"cancel_requested": True} if told else {}))
    else:
        print_fields(fields_of(status))
    return Exit.OK


def fields_of(status: JobStatus) -> dict[str, Any]:
    """Return what is known of a job, as people read it."""
    at = {JobState.DELAYED: "due", JobState.IN_FLIGHT: "started", JobState.DEAD: "died"}
    asked = "asked for; its handler was told" if status.cancel_requested else None
    fields = {
        "job": id_cell(status.job_id),
        "state": str(status.state),
        "task": status.task,
        "tier": None if status.tier is None else status.tier.name.lower(),
        "key": None if status.group is None else key_text(status.group),
        "partition": str(status.partition),
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
    plain["group"] = key_text(status.group) if status.group else None
    return plain


def job_cancel(arguments: argparse.Namespace) -> Exit:
    """Cancel one job that has not ended."""
    with open_pool() as pool:
        was = pool.cancel(arguments.job_id, partition_key=key_of(arguments.key))
    if arguments.json:
        output.print_json({"job_id": arguments.job_id, "was": was})
    if was is JobState.IN_FLIGHT:
        output.remark("it runs; its handler was asked to stop")
    elif was not in (JobState.READY, JobState.DELAYED):
        raise CommandError(f"job {arguments.job_id} is {was}: there is nothing to cancel")
    elif not arguments.json:
        output.say(f"cancelled; it was {was}")
    return Exit.OK


def group_show(arguments: argparse.Namespace) -> Exit:
    """Show the totals of a task group."""
    with open_pool() as pool:
        print_group(pool.group(key_of(arguments.key)).status(), arguments)
    return Exit.OK


def group_wait(arguments: argparse.Namespace) -> Exit:
    """Wait until every job of a group has ended."""
    with open_pool() as pool:
        show = False if arguments.json else None
        status = pool.group(key_of(arguments.key)).wait(timeout_s=arguments.timeout, show=show)
    print_group(status, arguments)
    return Exit.DIED if status.died else Exit.OK


def group_cancel(arguments: argparse.Namespace) -> Exit:
    """Cancel the jobs that a group has now."""
    with open_pool() as pool:
        cancelled, asked = pool.group(key_of(arguments.key)).cancel()
    if arguments.json:
        output.print_json({"key": arguments.key, "cancelled": cancelled, "asked": asked})
    else:
        output.say(f"{cancelled:,} cancelled; {asked:,} that run were asked to stop")
    return Exit.OK


def print_group(status: GroupStatus, arguments: argparse.Namespace) -> None:
    """Print the totals of a group. Raises CommandError when it has none."""
    plain = {"key": arguments.key} | groups.describe(status)
    if status.total == 0:
        raise CommandError(
            f"no jobs are known under the key {arguments.key!r}: they ended a while ago, or were "
            "enqueued under another key"
        )
    if arguments.json:
        output.print_json(plain)
    else:
        print_fields(plain | {"progress": f"{status.progress:.1%}"})


def audit(arguments: argparse.Namespace) -> Exit:
    """Look through whole partitions for what should be impossible."""
    with open_pool() as pool:
        one = arguments.partition
        chosen = pool.partitions() if one is None else [pool.partition(one)]
        reports = {p.number: p.audit(repair=arguments.repair) for p in chosen}
    unclean = sum(not report.clean for report in reports.values())
    if arguments.json:
        output.print_json(
            [{"partition": n, **asdict(r), "clean": r.clean} for n, r in reports.items()]
        )
    else:
        for number, report in reports.items():
            found = ", ".join(
                f"{count:,} {name}" for name, count in asdict(report).items() if count
            )
            output.say(f"partition {number}: {found or 'clean'}")
    if unclean and arguments.repair:
        output.remark("what could be fixed is fixed; run it again to see whether it is clean")
    elif unclean:
        raise CommandError(
            f"{unclean} partitions are not clean; `queuepool audit --repair` fixes what it can. "
            "Please report how it came about."
        )
    return Exit.OK
