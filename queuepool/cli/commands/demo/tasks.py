"""The tasks of the demo, run by its consumers: they wait, and record that they ran.

Each execution adds one line to a file of this process: `job id, start in ms`. It is written by one
call in append mode, so lines of different threads do not mix, and what was written before a crash
counts.
"""

from __future__ import annotations

import os
import threading
import time
from functools import cache

from queuepool import JobContext, task

DIRECTORY = "QUEUEPOOL_DEMO_DIRECTORY"


@task(name="demo_bulk", result_ttl_s=0)
def bulk(ms: int, ctx: JobContext) -> None:
    """Take `ms` milliseconds, as one of very many jobs."""
    _work(ms, ctx)


@task(name="demo_small", result_ttl_s=0)
def small(ms: int, ctx: JobContext) -> None:
    """Do the same as one of ten jobs that someone waits for."""
    _work(ms, ctx)


def _work(ms: int, ctx: JobContext) -> None:
    started_ms = int(time.time() * 1000)
    threading.Event().wait(ms / 1000)  # for example an HTTP call
    os.write(_record(), f"{ctx.job_id} {started_ms}\n".encode())


@cache
def _record() -> int:
    path = os.path.join(os.environ[DIRECTORY], f"{os.getpid()}.executions")  # noqa: PTH118
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
