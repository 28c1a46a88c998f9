"""A producer process: enqueues jobs in batches and notes each one that was acknowledged.

    python -m tests.chaos.producer '{"prefix": "a", "jobs": 1000, ...}'     see Options

Where the jobs go comes from QUEUEPOOL_* variables, the file of events from TEST_RECORDS. An
`accept` line is written only after the enqueue was answered. What was not answered, or refused, is
enqueued again with the same ids until it is. Ids are `<prefix>-<n>`, so several producers with one
prefix are a storm of the same ids. Exit code 0: every job was acknowledged.
"""

import json
import os
import sys
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from queuepool import EnqueueStatus, Job, QueuePool
from queuepool.errors import UnavailableError
from queuepool.tasks.job import Enqueued
from tests.apps.recorded import note

_ACKNOWLEDGED = (EnqueueStatus.ACCEPTED, EnqueueStatus.DUPLICATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What to enqueue.

    bytes: of filling in each payload. pause_s: between two batches. groups: spread over so many
    partition keys. until: no more once there is such a file where events are noted.
    """

    prefix: str
    jobs: int
    ms: float = 0.0
    batch: int = 50
    pause_s: float = 0.0
    groups: int = 4
    task: str = "chaos_work"
    bytes: int = 0
    until: str = ""


def main() -> int:
    """Enqueue everything; returns 0."""
    options = Options(**json.loads(sys.argv[1]))
    pause = threading.Event()
    with QueuePool.from_env() as pool:
        for first in range(0, options.jobs, options.batch):
            if options.until and (Path(os.environ["TEST_RECORDS"]) / options.until).exists():
                break
            numbers = range(first, min(first + options.batch, options.jobs))
            missing = [_job(options, n) for n in numbers]
            while missing:
                missing = _enqueue(pool, options.task, missing)
                if missing:
                    pause.wait(0.05)
            pause.wait(options.pause_s)
    return 0


def _job(options: Options, n: int) -> Job:
    return Job(
        {"ms": options.ms, **({"filling": "x" * options.bytes} if options.bytes else {})},
        partition_key=f"group-{n % options.groups}",
        job_id=f"{options.prefix}-{n}",
    )


def _enqueue(pool: QueuePool, task: str, jobs: Sequence[Job]) -> list[Job]:
    """Enqueue jobs once; returns those that were not acknowledged."""
    results: Iterable[Enqueued]
    try:
        results = pool.enqueue_many(task, jobs)
    except UnavailableError as error:  # of which a full partition is one
        results = error.results or ()
    known: dict[str, EnqueueStatus] = {r.job_id: r.status for r in results}
    missing = []
    for job in jobs:
        assert job.job_id is not None
        if known.get(job.job_id) in _ACKNOWLEDGED:
            note("accept", job.job_id, 0)
        else:
            missing.append(job)
    return missing


if __name__ == "__main__":
    sys.exit(main())
