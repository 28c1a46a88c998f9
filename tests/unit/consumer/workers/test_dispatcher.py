"""A job takes as many slots of its pool as its task says."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from consumer.core.jobs import ClaimedJob, Outcome, claimed
from consumer.settings import ConsumerSettings
from consumer.workers import build
from consumer.workers.async_pool import AsyncPool
from consumer.workers.dispatcher import Dispatcher, task_of
from consumer.workers.event_loop import HandlerLoop
from consumer.workers.processes.pool import ProcessPool
from consumer.workers.runner import Runner
from consumer.workers.thread_pool import ThreadPool
from consumer.workers.timeouts import Timekeeper
from queuepool import Registry
from queuepool.errors import ConfigurationError
from tests.unit.consumer.workers.executing import OWNERSHIP, make_body
from tests.waiting import wait_until


class Bench:
    """A pool of threads; jobs wait for a permit, and say that they run."""

    def __init__(self) -> None:
        self.registry = Registry()
        self.permits = {name: threading.Semaphore(0) for name in ("light", "heavy")}
        self.began: list[str] = []
        for name, slots in (("light", 1), ("heavy", 3)):
            self.registry.task(name=name, slots=slots)(self.handler(name))
        self.keeper = Timekeeper()
        runner = Runner(self.registry, OWNERSHIP, HandlerLoop(), self.keeper)
        self.dispatcher = Dispatcher(ThreadPool(runner, self.ring), build._slots(self.registry))
        self.dispatcher.resize(4)
        self.ended: list[Outcome] = []

    def ring(self) -> None: ...

    def handler(self, name: str) -> Any:
        def run() -> None:
            self.began.append(name)
            assert self.permits[name].acquire(timeout=60)

        return run

    def submit(self, *names: str) -> list[ClaimedJob]:
        jobs = [
            claimed(b"%d" % n, make_body(name, {}), 1, 0, 0, 0.0) for n, name in enumerate(names)
        ]
        self.dispatcher.submit(jobs)
        return jobs

    def release(self, name: str, jobs: int = 1) -> None:
        for _ in range(jobs):
            self.permits[name].release()

    def outcomes(self, count: int) -> list[Outcome]:
        def there() -> bool:
            self.ended += self.dispatcher.take_ended()
            return len(self.ended) >= count

        wait_until(there)
        return self.ended


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    for name in made.permits:
        made.release(name, 100)
    assert made.dispatcher.close(60)
    made.keeper.stop()


def test_a_heavy_job_takes_its_slots(bench: Bench) -> None:
    bench.submit("heavy", "light", "light")
    wait_until(lambda: len(bench.began) == 2)

    assert bench.began.count("light") == 1
    bench.release("heavy")
    bench.outcomes(1)
    wait_until(lambda: bench.began.count("light") == 2)


def test_spare_is_less_by_the_slots_of_heavy_jobs_beyond_one(bench: Bench) -> None:
    assert (bench.dispatcher.target, bench.dispatcher.alive, bench.dispatcher.spare) == (4, 4, 0)

    bench.submit("heavy")

    assert bench.dispatcher.spare == -2
    bench.release("heavy")
    bench.outcomes(1)
    assert bench.dispatcher.spare == 0


def test_jobs_that_have_not_started_can_be_taken_back(bench: Bench) -> None:
    jobs = bench.submit("heavy", "heavy", "light")
    wait_until(lambda: len(bench.began) == 1)

    assert {job.id for job in bench.dispatcher.withdraw()} == {jobs[n].id for n in (1, 2)}
    assert (bench.dispatcher.queued, bench.dispatcher.spare) == (0, -2)


@pytest.mark.thorough
def test_every_job_ends_once(bench: Bench) -> None:
    for name in bench.permits:
        bench.release(name, 1000)
    names = ["light", "heavy", "light", "light"] * 75

    jobs = bench.submit(*names)

    assert {o.job for o in bench.outcomes(300)} == set(jobs)
    assert bench.dispatcher.queued == 0


@pytest.mark.parametrize("body", [b"", b"1", make_body("t", {})[:30], b"\xff" * 64])
def test_a_body_that_cannot_be_read_has_no_task_and_a_runner_says_why(body: bytes) -> None:
    assert task_of(body) is None
    assert task_of(make_body("t", {"a": [1, {"b": "x"}]})) == "t"


def hired(registry: Registry, **settings: Any) -> object:
    keeper, handlers = Timekeeper(), HandlerLoop()
    runner = Runner(registry, OWNERSHIP, handlers, keeper)
    return build.build(
        ConsumerSettings(**settings), registry, OWNERSHIP,
        runner=runner, handlers=handlers, ring=lambda: None,
    )  # fmt: skip


def test_one_pool_of_light_jobs_is_the_pool_itself() -> None:
    registry = Registry()
    registry.task(name="t")(lambda: None)

    assert type(hired(registry)) is ThreadPool
    assert type(hired(registry, pools="default=async:5")) is AsyncPool
    assert type(hired(registry, pools="default=process:1")) is ProcessPool
    registry.task(name="heavy", slots=2)(lambda: None)
    assert type(hired(registry)) is Dispatcher


def test_tasks_that_do_not_fit_are_refused_by_name(caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry()
    registry.task(name="plain")(lambda: None)
    registry.task(name="encode", pool="video")(lambda: None)

    with pytest.raises(ConfigurationError, match="'plain' is a plain function"):
        build.check(ConsumerSettings(pools="default=async:5"), registry)
    build.check(ConsumerSettings(), registry)
    build.warn(ConsumerSettings(), registry)
    assert "task 'encode' runs in pool 'video', which is not among the pools here" in caplog.text


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"pools": "default=2..1"}, "must come first"),
        ({"pools": "default=2", "workers": 2}, "cannot be combined with CONSUMER_WORKERS"),
        ({"pools": "default=2,default=1"}, "'default' is given twice"),
    ],
)
def test_settings_that_cannot_be_had_are_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        ConsumerSettings(**settings)


def test_each_of_several_pools_has_settings_of_its_own() -> None:
    settings = ConsumerSettings(pools="default=2..8,io=async:200..2000,cpu=process:1", lease_s=7)

    each = settings.of_each_pool()

    sizes = [(s.pool, s.least_workers, s.most_workers, s.lease_s) for s in each]
    assert sizes == [("default", 2, 8, 7), ("io", 200, 2000, 7), ("cpu", 1, 1, 7)]
    assert [plan.kind for s in each for plan in s.pool_plans] == ["threads", "async", "process"]
    assert ConsumerSettings(workers=3).of_each_pool()[0].most_workers == 24
