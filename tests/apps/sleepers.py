"""Coroutines that sleep, also heavy ones, and how many places they took together at most."""

import asyncio

from queuepool import task

_taken = 0
_peak = 0


async def _take(slots: int, seconds: float) -> int:
    global _taken, _peak  # noqa: PLW0603 - one loop, one process
    _taken += slots
    _peak = max(_peak, _taken)
    await asyncio.sleep(seconds)
    _taken -= slots
    return _peak


@task(name="sleepers.sleep")
async def sleep(seconds: float) -> None:
    """Sleep."""
    await asyncio.sleep(seconds)


@task(name="sleepers.light")
async def light(seconds: float) -> int:
    """Take one place; returns the most that were taken at once."""
    return await _take(1, seconds)


@task(name="sleepers.heavy", slots=3)
async def heavy(seconds: float) -> int:
    """Take three places; returns the most that were taken at once."""
    return await _take(3, seconds)
