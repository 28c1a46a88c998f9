"""A process pool over the tasks of tests/apps/dangerous.py."""

from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

import pytest

from consumer.core.jobs import ClaimedJob, Outcome, claimed
from consumer.workers.event_loop import HandlerLoop
from consumer.workers.processes.bounds import Bounds
from consumer.workers.processes.frames import Start
from consumer.workers.processes.pool import ProcessPool
from consumer.workers.runner import Runner
from consumer.workers.timeouts import Timekeeper
from queuepool.protocol import codec
from queuepool.tasks.registry import default_registry
from tests.apps import dangerous
from tests.unit.consumer.workers.executing import OWNERSHIP, make_body
from tests.waiting import wait_until

APP = dangerous.__name__


class Bench:
    """A process pool; `one` runs one job to its end."""

    def __init__(self, bounds: Bounds, app: str = APP) -> None:
        self.runner = Runner(default_registry, OWNERSHIP, HandlerLoop(), Timekeeper())
        start = Start(app, OWNERSHIP.partition, OWNERSHIP.epoch, "text", "INFO")
        self.rings = 0
        self.pool = ProcessPool(self.runner, start, bounds, self._ring)
        self.ended: list[Outcome] = []
        self._jobs = 0

    def _ring(self) -> None:
        self.rings += 1

    def job(
        self,
        task: str,
        *,
        options: codec.Options = codec.NO_OPTIONS,
        attempt: int = 1,
        **payload: Any,
    ) -> ClaimedJob:
        self._jobs += 1
        body = make_body(f"harm.{task}", payload, options)
        return claimed(b"job-%d" % self._jobs, body, attempt, 0, 0, monotonic())

    def submit(self, task: str, count: int = 1, **payload: Any) -> list[ClaimedJob]:
        jobs = [self.job(task, **payload) for _ in range(count)]
        self.pool.submit(jobs)
        return jobs

    def outcomes(self, count: int, timeout_s: float = 60.0) -> list[Outcome]:
        """Wait until so many jobs have ended; returns them."""
        self.ended.clear()

        def there() -> bool:
            self.ended.extend(self.pool.take_ended())
            return len(self.ended) >= count

        wait_until(there, timeout_s, f"{count} ended")
        return list(self.ended)

    def one(self, task: str, **payload: Any) -> Outcome:
        self.submit(task, **payload)
        return self.outcomes(1)[0]

    def ready(self, children: int) -> None:
        self.pool.resize(children)
        wait_until(lambda: self.pool.alive == children, message=f"{children} children are ready")

    @property
    def children(self) -> list[int]:
        return [child.pid for child in self.pool._supervisor._children]


@pytest.fixture
def make_bench() -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(bounds: Bounds = Bounds(), app: str = APP) -> Bench:  # noqa: B008 - frozen
        made.append(Bench(bounds, app))
        return made[-1]

    yield make
    for each in made:
        each.pool.close(2.0)


@pytest.fixture(scope="module")
def shared() -> Iterator[Bench]:
    """A pool that the tests of a module share, since a child takes a while to start."""
    made = Bench(Bounds())
    yield made
    made.pool.close(2.0)


@pytest.fixture
def bench(shared: Bench) -> Bench:
    """One child, ready."""
    shared.ready(1)
    shared.runner.start_until_s = float("inf")
    shared.runner.progress.clear()
    shared.pool.replaced.clear()
    shared.rings = 0
    return shared
