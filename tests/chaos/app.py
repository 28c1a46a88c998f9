"""Tasks of the chaos suite: those of tests/apps/recorded.py, and some that note their true start.

A thread may be stopped between the moment at which the consumer starts a job and the first line of
its handler. These tasks therefore note the moment that the consumer itself took, which it knows
from its deadline, and not the one at which it got to write.
"""

import random
import threading

from queuepool import JobContext, task
from queuepool.tasks.backoff import Backoff
from tests.apps.recorded import note
from tests.chaos.sums import note_sum

_TIMEOUT_S = 300.0
_SOON = Backoff(base_s=0.01, cap_s=0.05, floor_s=0.0)


@task(timeout_s=_TIMEOUT_S, result_ttl_s=600, max_attempts=1)
def chaos_large(ctx: JobContext, size: int) -> str:
    """Return so many bytes."""
    note("begin", ctx.job_id, ctx.attempt)
    note("end", ctx.job_id, ctx.attempt)
    return "x" * size


@task(timeout_s=_TIMEOUT_S, backoff=_SOON)
def chaos_work(ctx: JobContext, ms: float = 0.0, filling: str = "") -> None:
    """Take some time; filling: only there to be big."""
    _note_start(ctx)
    if ms:
        threading.Event().wait(ms / 1000)
    note("end", ctx.job_id, ctx.attempt)


@task(timeout_s=_TIMEOUT_S, backoff=_SOON, max_attempts=100)
def chaos_flaky(ctx: JobContext, ms: float, share: float) -> None:
    """Take some time; fail in such a share of all attempts, by the id and the attempt."""
    _note_start(ctx)
    threading.Event().wait(ms / 1000)
    fails = random.Random(f"{ctx.job_id} {ctx.attempt}").random() < share
    note("fail" if fails else "end", ctx.job_id, ctx.attempt)
    if fails:
        raise ValueError("as told")


@task(timeout_s=_TIMEOUT_S, backoff=_SOON, max_attempts=100)
def chaos_part(ctx: JobContext, n: int) -> int:
    """Be part of a batch; return this."""
    _note_start(ctx)
    note("end", ctx.job_id, ctx.attempt)
    return n


@task(timeout_s=_TIMEOUT_S, backoff=_SOON, max_attempts=100)
def chaos_sum(ctx: JobContext, of: str) -> None:
    """Add up what the jobs of a batch returned."""
    _note_start(ctx)
    note_sum(of, ctx.job_id, [one.result for one in ctx.results() if one.result is not None])
    note("end", ctx.job_id, ctx.attempt)


def _note_start(ctx: JobContext) -> None:
    assert ctx.deadline is not None
    note("begin", ctx.job_id, ctx.attempt, int((ctx.deadline - _TIMEOUT_S) * 1e9))
