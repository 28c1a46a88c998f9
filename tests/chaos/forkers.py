"""A task that forks; for the chaos suite alone. The attempt ends with the parent."""

import os
import sys
import threading

from queuepool import JobContext, task
from queuepool.tasks.backoff import Backoff
from tests.apps.recorded import DIRECTORY, note

_SOON = Backoff(base_s=0.01, cap_s=0.05, floor_s=0.0)
STAYS_S = 10.0


@task(backoff=_SOON)
def fork_child(ctx: JobContext, how: str) -> None:
    """Fork a child that ends as told, or outlives this process."""
    note("begin", ctx.job_id, ctx.attempt)
    child = os.fork()
    if child == 0:
        with (DIRECTORY / "children").open("a") as file:
            file.write(f"{os.getpid()} {how}\n")
        if how == "exit":
            sys.exit(3)
        if how == "raise":
            raise ValueError("of a child")
        if how == "stay":
            threading.Event().wait(STAYS_S)
        return
    if how != "stay":
        os.waitpid(child, 0)
    note("end", ctx.job_id, ctx.attempt)
