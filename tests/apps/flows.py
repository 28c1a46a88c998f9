"""Jobs with a continuation: they fail at random, and note what they did in events."""

from __future__ import annotations

import os
from pathlib import Path

from queuepool import JobContext, PermanentError, task

_NOTES = Path(os.environ.get("TEST_RECORDS", ".")) / "continuations.txt"


@task(max_attempts=5)
def piece(ctx: JobContext, n: int, fails: int = 0) -> int:
    """Return the square; fails: in as many attempts before."""
    if ctx.attempt <= fails:
        raise RuntimeError("as planned")
    return n * n


@task(max_attempts=1)
def broken(n: int) -> None:
    """Fail for good."""
    raise PermanentError(f"{n} is broken")


@task(max_attempts=5)
def gather(ctx: JobContext, flow: int) -> list[int]:
    """Note the sum of the results, and how many there are."""
    found = list(ctx.results())
    done = [each.result for each in found if each.ok]
    with _NOTES.open("a") as notes:
        notes.write(f"{flow} {len(found)} {len(done)} {sum(done)}\n")
    return [len(found), sum(done)]


@task(max_attempts=5)
def step(ctx: JobContext, flow: int, name: str, fails: int = 0) -> str:
    """Note what the steps before returned; fails: in as many attempts before."""
    found = sorted(f"{each.step}={each.result}" for each in ctx.results())
    if ctx.attempt <= fails:
        raise RuntimeError("as planned")
    with _NOTES.open("a") as notes:
        notes.write(f"{flow} {name} {','.join(found)}\n")
    return name
