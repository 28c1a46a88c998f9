"""The jobs of our own benchmarks."""

from __future__ import annotations

import time

from queuepool import PermanentError, task


@task
def noop(**payload: object) -> None:
    """Do nothing."""


@task(max_attempts=1)
def fails(**payload: object) -> None:  # noqa: ARG001 - a payload like any other
    """Die."""
    raise PermanentError("always")


@task
def nap(ms: float, i: int = 0) -> None:  # noqa: ARG001 - tells payloads apart
    """Sleep: a job that waits for someone else."""
    time.sleep(ms / 1000)
