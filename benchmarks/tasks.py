"""The jobs of our own benchmarks."""

from __future__ import annotations

import time

from queuepool import task


@task
def noop(**payload: object) -> None:
    """Do nothing."""


@task
def nap(ms: float, i: int = 0) -> None:  # noqa: ARG001 - tells payloads apart
    """Sleep: a job that waits for someone else."""
    time.sleep(ms / 1000)
