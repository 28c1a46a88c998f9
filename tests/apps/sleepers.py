"""Coroutines that sleep or wait, also heavy ones, and how many places they took at most."""

import asyncio
from pathlib import Path

from queuepool import task

_taken = 0
_peak = 0
_gates: dict[str, asyncio.Task[None]] = {}


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


@task(name="sleepers.wait")
async def wait(gate: str) -> None:
    """Wait until a file of this name exists, for which all look together."""
    if gate not in _gates:
        _gates[gate] = asyncio.create_task(_opened(gate))
    await asyncio.shield(_gates[gate])


async def _opened(gate: str) -> None:
    while not Path(gate).exists():  # noqa: ASYNC110, ASYNC240 - of another process; a moment
        await asyncio.sleep(0.01)


@task(name="sleepers.light")
async def light(seconds: float) -> int:
    """Take one place; returns the most that were taken at once."""
    return await _take(1, seconds)


@task(name="sleepers.heavy", slots=3)
async def heavy(seconds: float) -> int:
    """Take three places; returns the most that were taken at once."""
    return await _take(3, seconds)
