"""Tasks of the chaos suite: those of tests/apps/recorded.py, and one that notes its true start.

A thread may be stopped between the moment at which the consumer starts a job and the first line of
its handler. `chaos_work` therefore notes the moment that the consumer itself took, which it knows
from its deadline, and not the one at which it got to write.
"""

import threading

from queuepool import JobContext, task
from queuepool.tasks.backoff import Backoff
from tests.apps.recorded import note

_TIMEOUT_S = 300.0


@task(timeout_s=_TIMEOUT_S, result_ttl_s=600, max_attempts=1)
def chaos_large(ctx: JobContext, size: int) -> str:
    """Return so many bytes."""
    note("begin", ctx.job_id, ctx.attempt)
    note("end", ctx.job_id, ctx.attempt)
    return "x" * size


@task(timeout_s=_TIMEOUT_S, backoff=Backoff(base_s=0.01, cap_s=0.05, floor_s=0.0))
def chaos_work(ctx: JobContext, ms: float = 0.0, filling: str = "") -> None:
    """Take some time; filling: only there to be big."""
    assert ctx.deadline is not None
    note("begin", ctx.job_id, ctx.attempt, int((ctx.deadline - _TIMEOUT_S) * 1e9))
    if ms:
        threading.Event().wait(ms / 1000)
    note("end", ctx.job_id, ctx.attempt)
