"""The jobs of our own benchmarks."""

from __future__ import annotations

import threading
import time

from queuepool import PermanentError, task


@task
def noop(**payload: object) -> None:
    """Do nothing."""


@task(max_attempts=1)
def fails(**payload: object) -> None:  # noqa: ARG001 - a payload like any other
    """Die."""
    raise PermanentError("always")


@task(max_attempts=1)
def fails_with(error: str) -> None:
    """Die of this error."""
    raise PermanentError(error)


@task
def nap(ms: float, i: int = 0) -> None:  # noqa: ARG001 - tells payloads apart
    """Sleep: a job that waits for someone else."""
    time.sleep(ms / 1000)


_answering = threading.Lock()
_free_s = 0.0


@task
def query(ms: float, per_s: float, i: int = 0) -> None:  # noqa: ARG001 - tells payloads apart
    """Ask a database that answers so many a second, and is not known to be a limit."""
    global _free_s  # noqa: PLW0603 - the database that all jobs of this process share
    with _answering:
        _free_s = max(_free_s, time.monotonic()) + 1 / per_s
        begins_s = _free_s
    time.sleep(max(0.0, begins_s - time.monotonic()) + ms / 1000)
