"""Tasks of three pools: each says in which process and thread, or how, it ran."""

import asyncio
import os
import threading
import time
from pathlib import Path

from queuepool import task

_gates: dict[str, asyncio.Task[None]] = {}


@task(name="pools.plain")
def plain(gate: str = "") -> tuple[int, str]:
    """Run in the default pool, until a file is there."""
    while gate and not Path(gate).exists():
        time.sleep(0.005)  # noqa: TID251 - a job that takes its time
    return os.getpid(), threading.current_thread().name


@task(name="pools.wait", pool="io")
async def wait(seconds: float = 0.0, gate: str = "") -> int:
    """Run in an async pool, until a file is there, for which all look together."""
    await asyncio.sleep(seconds)
    if gate and gate not in _gates:
        _gates[gate] = asyncio.create_task(_opened(gate))
    if gate:
        await asyncio.shield(_gates[gate])
    return os.getpid()


async def _opened(gate: str) -> None:
    while not Path(gate).exists():  # noqa: ASYNC110, ASYNC240 - of another process; a moment
        await asyncio.sleep(0.01)


@task(name="pools.encode", pool="cpu")
def encode(gate: str = "") -> int:
    """Run in a pool of processes, until a file is there."""
    while gate and not Path(gate).exists():
        time.sleep(0.005)  # noqa: TID251 - a job that takes its time
    return os.getpid()
