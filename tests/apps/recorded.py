"""Tasks that note when they began and ended, in a file per process, for tests of real consumers.

The directory comes from TEST_RECORDS. A line is `begin|end <job id> <attempt> <monotonic ns>`; one
write each, so a process that is killed leaves whole lines. Tasks of the chaos suite may note `fail`
in place of `end`.
"""

import asyncio
import os
import threading
from pathlib import Path
from time import monotonic_ns

from queuepool import JobCancelled, JobContext, Limit, RateLimited, RetryLater, task
from queuepool.tasks.backoff import Backoff

DIRECTORY = Path(os.environ.get("TEST_RECORDS", "."))
_SOON = Backoff(base_s=0.01, cap_s=0.05, floor_s=0.0)
_files: list[int] = []
_opening = threading.Lock()


def note(what: str, job_id: str, attempt: int, ns: int | None = None) -> None:
    """Append one line to this process's own file; ns: now by default."""
    with _opening:
        if not _files:
            path = DIRECTORY / f"records-{os.getpid()}"
            _files.append(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    at_ns = monotonic_ns() if ns is None else ns
    os.write(_files[0], f"{what} {job_id} {attempt} {at_ns}\n".encode())


def _note(what: str, ctx: JobContext) -> None:
    note(what, ctx.job_id, ctx.attempt)


def _pause(seconds: float) -> None:
    threading.Event().wait(seconds)


@task(backoff=_SOON)
def work(ctx: JobContext, ms: float = 0.0) -> None:
    """Take some time."""
    _note("begin", ctx)
    if ms:
        _pause(ms / 1000)
    _note("end", ctx)


@task(backoff=_SOON)
def flaky(ctx: JobContext, fails: bool) -> None:
    """Fail in the first attempt, where the job says so."""
    _note("begin", ctx)
    _pause(0.0005)
    _note("end", ctx)
    if fails and ctx.attempt == 1:
        raise ValueError("as told")


@task(backoff=_SOON)
async def work_async(ctx: JobContext, ms: float = 0.0) -> None:
    """Take some time on the event loop."""
    _note("begin", ctx)
    await asyncio.sleep(ms / 1000)
    _note("end", ctx)


@task
def wait_for(ctx: JobContext, gate: str, progress: str = "") -> None:
    """Run until a file of this name exists."""
    _note("begin", ctx)
    if progress:
        ctx.progress(progress)
    while not (DIRECTORY / gate).exists():
        _pause(0.01)
    _note("end", ctx)


@task
def until_cancelled(ctx: JobContext) -> None:
    """Run until someone asks to cancel."""
    _note("begin", ctx)
    while not ctx.cancel_requested:
        _pause(0.005)
    _note("end", ctx)
    raise JobCancelled("asked to stop")


@task
def poison(ctx: JobContext) -> None:
    """Kill the process that runs this."""
    _note("begin", ctx)
    os._exit(9)


@task(max_attempts=2)
def later(ctx: JobContext, times: int) -> None:
    """Ask for a later run so many times, then succeed."""
    _note("begin", ctx)
    begun = DIRECTORY / f"records-{os.getpid()}"
    if sum(ctx.job_id in line for line in begun.read_text().splitlines()) <= times:
        raise RetryLater(0.02)
    _note("end", ctx)


@task(max_attempts=1, limit=Limit("downstream:{name}", rate=500))
def ask(ctx: JobContext, name: str, refused_for_s: float = 0.0, gate: str = "") -> None:
    """Ask a downstream of that name, which may refuse the first time, once a file exists."""
    _note("begin", ctx)
    while gate and not (DIRECTORY / gate).exists():
        _pause(0.01)
    refused = DIRECTORY / f"refused-{ctx.job_id}"
    if refused_for_s and not refused.exists():
        refused.touch()
        raise RateLimited(refused_for_s, "429")
    _note("end", ctx)


@task(max_attempts=3, backoff=_SOON)
def fail(ctx: JobContext) -> None:
    """Always fail."""
    _note("begin", ctx)
    raise ValueError("always")
