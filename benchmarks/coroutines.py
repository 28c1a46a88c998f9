"""The jobs of our own benchmarks for an async pool, which takes coroutines only."""

from __future__ import annotations

from queuepool import task


@task
async def noop(**payload: object) -> None:
    """Do nothing."""
