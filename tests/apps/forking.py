"""Tasks whose handlers fork, and note which processes ran what."""

import asyncio
import multiprocessing
import os
import signal
import sys
from pathlib import Path
from time import monotonic

from queuepool import task

DIRECTORY = Path(os.environ.get("TEST_RECORDS", "."))


def note(name: str, text: object = "") -> None:
    """Append one line to a file of the test, in one write."""
    with (DIRECTORY / name).open("a") as file:
        file.write(f"{os.getpid()} {text}\n")


@task(max_attempts=1)
def plain(n: int) -> int:
    note("plain", n)
    return n


def _child(how: str) -> None:
    note("children", how)
    if how == "exit":
        sys.exit(7)
    if how == "text":
        sys.exit("words of a child")
    if how == "raise":
        raise ValueError("of a child")


def _status(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@task(max_attempts=1)
def fork(how: str) -> int:
    """Fork; the child ends as told, and the parent returns its status."""
    if child := os.fork():
        return _status(child)
    _child(how)
    return -1


@task(max_attempts=1, timeout_s=30)
def fork_timed(how: str) -> int:
    if child := os.fork():
        return _status(child)
    _child(how)
    return -1


@task(max_attempts=1)
async def fork_async(how: str) -> int:
    if child := os.fork():
        return _status(child)
    if how == "await":
        note("children", how)
        await asyncio.sleep(0)
        note("children", "went on")
    _child(how)
    return -1


@task(max_attempts=1)
async def ticks(seconds: float) -> int:
    """Note each step on the loop that other handlers fork on."""
    until = monotonic() + seconds
    steps = 0
    while monotonic() < until:
        note("ticks", steps)
        steps += 1
        await asyncio.sleep(0)
    return steps


@task(max_attempts=1)
def leave_child() -> int:
    """Leave a child behind that outlives its consumer."""
    if child := os.fork():
        return child
    note("left")
    signal.pause()
    return 0


def _target() -> None:
    note("children", "process")
    signal.pause()


@task(max_attempts=1)
def terminated_process() -> int | None:
    """Start a process by fork, as multiprocessing does, and have SIGTERM end it."""
    process = multiprocessing.get_context("fork").Process(target=_target)
    process.start()
    while not (DIRECTORY / "children").exists():
        process.join(0.01)
    process.terminate()
    process.join(10)
    return process.exitcode
