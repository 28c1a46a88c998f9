"""A task whose world is down until a file appears; for the chaos suite alone."""

import os
from pathlib import Path

from queuepool import JobContext, task
from queuepool.tasks.backoff import Backoff
from tests.apps.recorded import note

_BACK = Path(os.environ.get("TEST_RECORDS", ".")) / "back"


@task(max_attempts=100, backoff=Backoff(base_s=60.0, cap_s=60.0))
def away(ctx: JobContext) -> None:
    """Fail until what it needs is back."""
    if not _BACK.exists():
        raise ConnectionError("away")
    note("begin", ctx.job_id, ctx.attempt)
    note("end", ctx.job_id, ctx.attempt)
