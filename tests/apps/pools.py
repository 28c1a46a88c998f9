"""Tasks of three pools: each says in which process and thread, or how, it ran."""

import asyncio
import os
import threading
import time
from pathlib import Path

from queuepool import task


@task(name="pools.plain")
def plain(seconds: float = 0.0) -> tuple[int, str]:
    """Run in the default pool."""
    time.sleep(seconds)  # noqa: TID251 - a job that takes its time
    return os.getpid(), threading.current_thread().name


@task(name="pools.wait", pool="io")
async def wait(seconds: float = 0.0) -> int:
    """Run in an async pool."""
    await asyncio.sleep(seconds)
    return os.getpid()


@task(name="pools.encode", pool="cpu")
def encode(gate: str = "") -> int:
    """Run in a pool of processes, until a file is there."""
    while gate and not Path(gate).exists():
        time.sleep(0.005)  # noqa: TID251 - a job that takes its time
    return os.getpid()
