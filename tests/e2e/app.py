"""Tasks for the end-to-end tests; copied into the directory of a test."""

import os
import threading
from pathlib import Path

from queuepool import JobContext, PermanentError, task

_append = threading.Lock()


@task
def note(n: str, ctx: JobContext) -> None:
    with _append, Path("notes.txt").open("a") as file:
        file.write(f"{n} {ctx.attempt}\n")


@task
def slow(n: str, ms: str = "200") -> None:
    threading.Event().wait(int(ms) / 1000)
    with _append, Path("slow.txt").open("a") as file:
        file.write(f"{n}\n")


@task
def fussy(n: str) -> None:
    if int(n) % 2 and not Path("fixed").exists():
        raise PermanentError(f"odd: {n}")


@task
def leave() -> None:
    os._exit(77)
