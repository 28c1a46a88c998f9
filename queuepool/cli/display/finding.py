"""Jobs that were found, errors and the digest of the dead, for display."""

from __future__ import annotations

import time
from collections.abc import Sequence

from queuepool.cli.display import output, tables
from queuepool.cli.display.fields import error_text, print_fields, when
from queuepool.cli.display.names import id_cell, key_cell
from queuepool.cli.display.tables import Column
from queuepool.errors.escaping import key_text
from queuepool.models import JobState, JobStatus
from queuepool.models.durations import format_duration
from queuepool.models.finding import Digest, ErrorCount, RunningJob
from queuepool.models.history import PastRun
from queuepool.models.places import DEFAULT_POOL, place_text
from queuepool.models.tenants import key_in

JOBS = (
    Column("job", left=True),
    Column("state", left=True),
    Column("task", left=True),
    Column("key", left=True, goes=3),
    Column("partition", left=True, goes=4),
    Column("time", left=True, goes=2),
    Column("attempts", left=True, goes=5),
    Column("error", left=True, prose=True),
)
RUNNING = (
    Column("job", left=True),
    Column("task", left=True),
    Column("key", left=True, goes=3),
    Column("partition", left=True, goes=2),
    Column("attempt", left=True, goes=4),
    Column("runs for", left=True),
    Column("usually", left=True, goes=1),
)
HISTORY = (
    Column("attempt"),
    Column("end", left=True),
    Column("ended", left=True),
    Column("waited", left=True, goes=1),
    Column("ran", left=True),
    Column("error", left=True, prose=True),
)
ERRORS = (
    Column("error", left=True),
    Column("task", left=True),
    Column("dead"),
    Column("retrying"),
    Column("first", left=True, goes=3),
    Column("last", left=True, goes=2),
    Column("example", left=True, goes=1),
    Column("message", left=True, prose=True),
)


def draw(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Print a table as wide as the terminal."""
    console = output.console()
    output.print_lines(tables.draw(columns, rows, console.width), console)


def job_cells(job: JobStatus) -> list[str]:
    """Return a job that was found as a row."""
    at_ms = job.at_ms or job.enqueued_ms
    return [
        id_cell(job.job_id),
        str(job.state),
        output.clean(job.task or ""),
        _key(job),
        place_text(job.partition, job.pool or DEFAULT_POOL),
        "" if at_ms is None else f"{_VERBS.get(job.state, 'enqueued')} {distance(at_ms)}",
        str(job.attempts),
        output.clean(error_text(job.error)) if job.error else "",
    ]


_VERBS = {
    JobState.DEAD: "died",
    JobState.DELAYED: "due",
    JobState.IN_FLIGHT: "started",
}


def distance(ms: int) -> str:
    """Return how long ago a moment is, or how long it takes until then."""
    ago_s = time.time() - ms / 1000
    return f"{format_duration(ago_s)} ago" if ago_s >= 0 else f"in {format_duration(-ago_s)}"


def running_cells(one: RunningJob) -> list[str]:
    """Return a running job as a row."""
    job = one.job
    return [
        id_cell(job.job_id),
        output.clean(job.task or ""),
        _key(job),
        place_text(job.partition, job.pool or DEFAULT_POOL),
        str(job.attempts + 1),
        format_duration(one.age_s) + (" (slow)" if one.slow else ""),
        "" if one.usual_s is None else f"up to {format_duration(one.usual_s)}",
    ]


def history_cells(run: PastRun) -> list[str]:
    """Return an execution that ended as a row."""
    return [
        str(run.attempt),
        str(run.end),
        when(run.ended_ms),
        format_duration(run.waited_s),
        format_duration(run.ran_s),
        output.clean(": ".join(filter(None, (run.type, run.message))) or run.reason),
    ]


def error_cells(one: ErrorCount) -> list[str]:
    """Return an error as a row; a number that follows from a part of the jobs has a ~."""
    about = "" if one.is_exact else "~"
    return [
        output.clean(one.fingerprint),
        output.clean(one.task),
        f"{about}{one.dead:,}",
        f"{about}{one.retrying:,}",
        "" if one.first_ms is None else distance(one.first_ms),
        "" if one.last_ms is None else distance(one.last_ms),
        id_cell(one.example),
        output.clean(": ".join(filter(None, (one.type, one.message))) or one.reason),
    ]


def print_digest(digest: Digest) -> None:
    """Print the dead jobs in short."""
    if not digest.dead:
        output.say("no dead jobs")
        return
    about = "" if digest.is_exact else "~"

    def listed(counts: Sequence[tuple[str, int]]) -> str:
        return ", ".join(f"{output.clean(name, 60)} {about}{n:,}" for name, n in counts)

    fields = {
        "dead": digest.dead,
        "oldest": None if digest.oldest_ms is None else when(digest.oldest_ms),
        "newest": None if digest.newest_ms is None else when(digest.newest_ms),
        "tasks": listed(digest.tasks),
        "reasons": listed(digest.reasons),
    }
    print_fields({name: value for name, value in fields.items() if value})
    output.say("")
    draw(ERRORS, [error_cells(one) for one in digest.errors])


def _key(job: JobStatus) -> str:
    return "" if job.group is None else key_cell(key_text(key_in(job.group)))
