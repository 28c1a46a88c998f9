"""What several faults do beside the rig: jobs that they enqueue themselves, words to the server."""

from __future__ import annotations

import os
from collections.abc import Iterable
from time import monotonic_ns
from typing import Any

import redis

from queuepool import EnqueueStatus, Job
from tests.chaos.rig import Rig


def enqueue(rig: Rig, task: str, jobs: Iterable[Job], **options: Any) -> int:
    """Enqueue jobs in this process and note those that were accepted; returns how many."""
    accepted = [
        result.job_id
        for result in rig.pool.enqueue_many(task, jobs, **options)
        if result.status is EnqueueStatus.ACCEPTED
    ]
    now_ns = monotonic_ns()
    with (rig.directory / f"records-{os.getpid()}").open("a") as records:
        records.writelines(f"accept {job_id} 0 {now_ns}\n" for job_id in accepted)
    return len(accepted)


def admin(rig: Rig, timeout_s: float = 10.0) -> redis.Redis:
    """Return a client of the server itself; close it."""
    return redis.Redis.from_url(rig.server.url, socket_timeout=timeout_s)
