"""A consumer over a pool in memory, and hooks that note what they were called with."""

import threading
from collections.abc import Callable
from typing import Any

from consumer.loop.lifecycle import Consumer
from consumer.settings import ConsumerSettings
from queuepool import JobRun, Registry
from queuepool.tasks.hooks import Moment
from queuepool.testing import MemoryPool


class Running:
    """A consumer in a thread, over a pool in memory, and what its hooks were called with."""

    def __init__(self, registry: Registry, **settings: Any) -> None:
        self.pool = MemoryPool(registry=registry)
        values = {"partition": "0", "lease_s": 2, **settings}
        self.consumer = Consumer(self.pool, ConsumerSettings(**values), registry=registry)
        self._thread = threading.Thread(target=self.consumer.run)
        self._thread.start()

    def job(self, task: str, payload: dict[str, Any] | None = None, **options: Any) -> str:
        return self.pool.enqueue(task, payload, partition_key="k", **options).job_id

    def stop(self) -> None:
        self.consumer.stop()
        self._thread.join(60)
        assert not self._thread.is_alive()


class Calls:
    """Hooks of all moments that note their calls."""

    def __init__(self, registry: Registry) -> None:
        self.seen: list[tuple[str, JobRun]] = []
        for moment in Moment:
            getattr(registry.hooks, moment)(self.noting(moment))

    def noting(self, moment: str) -> Callable[[JobRun], None]:
        return lambda run: self.seen.append((str(moment), run))

    def of(self, moment: str) -> list[JobRun]:
        return [run for name, run in self.seen if name == moment]


def run_of(attempt: int) -> JobRun:
    return JobRun(
        job_id="a", task="t", group=b"k", tenant=None, partition=0, attempt=attempt,
        max_attempts=5, waited_s=0.0, started_at=0.0,
    )  # fmt: skip
