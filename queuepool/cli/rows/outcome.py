"""What the jobs of a bulk action came to, as the command reports it."""

from __future__ import annotations

import time
from typing import Any

from queuepool.cli.display import output
from queuepool.cli.exits import CommandError, Exit
from queuepool.client.group import TaskGroup
from queuepool.errors.escaping import typed
from queuepool.models import GroupStatus


def so_far(
    summary: dict[str, Any], before: GroupStatus, started_s: float, after: GroupStatus
) -> dict[str, Any]:
    """Return the summary with what the new jobs came to. before, after: of the group."""
    seconds = round(time.monotonic() - started_s, 3)
    return summary | _outcome(before, after) | {"left": after.left, "seconds": seconds}


def _outcome(before: GroupStatus, after: GroupStatus) -> dict[str, int]:
    """Return the outcome of the new jobs of a group that may have had others before."""
    if after.total < before.total:  # it ended, was forgotten, and began again
        before = GroupStatus(
            total=0, ready=0, delayed=0, in_flight=0, done=0, dead=0, cancelled=0
        )  # fmt: skip
    names = ("done", "dead", "cancelled", "evicted", "discarded", "expired", "died")
    return {name: max(0, getattr(after, name) - getattr(before, name)) for name in names}


def _remedy(summary: dict[str, Any], tenant: str | None) -> str:
    if not summary["dead"]:
        return "None of them is still stored, so enqueue their rows again"
    which = (
        "them" if summary["dead"] == summary["died"] else (f"the {summary['dead']:,} still stored")
    )
    of_tenant = "" if tenant is None else f" --tenant {typed(tenant)}"
    return (
        f"See `queuepool dead list --key {typed(summary['key'])}{of_tenant}`; "
        f"`queuepool dead replay` runs {which} again"
    )


def report(summary: dict[str, Any], group: TaskGroup, tenant: str | None, *, as_json: bool) -> Exit:
    """Show the summary of a bulk action that has ended. Raises CommandError if jobs died."""
    died = summary["died"]
    if as_json:
        output.print_json(summary)
    else:
        rate = summary["enqueued"] / max(summary["seconds"], 0.001)
        no_longer_kept = "".join(
            f", {summary[name]:,} {name}"
            for name in ("evicted", "discarded", "expired")
            if summary[name]
        )
        output.say(
            f"{summary['done']:,} done, {summary['dead']:,} dead{no_longer_kept}, "
            f"{summary['cancelled']:,} cancelled "
            f"in {summary['seconds']:.1f} s ({rate:,.0f} jobs/s)"
        )
    if not died:
        return Exit.OK
    why = next((d.error for d in group.partition.dead(0, 200) if d.group == group.group), None)
    example = output.clean(f", such as {why.type or why.reason}: {why.message}") if why else ""
    example = example.rstrip(".")
    raise CommandError(
        f"{died:,} jobs died{example}. {_remedy(summary, tenant)}",
        Exit.DIED,
    )
