"""A job goes to the pool of its task and takes as many slots as the task says."""

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
    """Two pools of threads; jobs wait for a permit, and say in which pool they run."""

    def __init__(self) -> None:
        self.registry = Registry()
        self.permits = {name: threading.Semaphore(0) for name in ("light", "heavy", "video")}
        self.began: list[str] = []
        for name, options in (("light", {}), ("heavy", {"slots": 3}), ("video", {"pool": "video"})):
            self.registry.task(name=name, **options)(self.handler(name))
        self.keeper = Timekeeper()
        runner = Runner(self.registry, OWNERSHIP, HandlerLoop(), self.keeper)
        pools = {"default": ThreadPool(runner, self.ring), "video": ThreadPool(runner, self.ring)}
        pools["video"].resize(2)
        self.pools = pools
        plans = ConsumerSettings(pools="default=2..8").pool_plans
        video = type(plans[0])("video", plans[0].kind, 2, 2)
        self.dispatcher = Dispatcher(pools, build._places(self.registry, (*plans, video)))
        self.dispatcher.resize(4)
        self.ended: list[Outcome] = []

    def ring(self) -> None: ...

    def handler(self, name: str) -> Any:
        def run() -> None:
            self.began.append(name)
            assert self.permits[name].acquire(timeout=20)

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
    assert made.dispatcher.close(5)
    made.keeper.stop()


def test_a_job_goes_to_the_pool_of_its_task(bench: Bench) -> None:
    bench.submit("video", "video", "video", "light")
    wait_until(lambda: len(bench.began) == 3)

    assert sorted(bench.began) == ["light", "video", "video"]
    assert (bench.pools["video"].queued, bench.dispatcher.queued) == (1, 1)
    bench.release("light")
    assert [o.task for o in bench.outcomes(1)] == ["light"]  # a full pool holds up no other


def test_a_heavy_job_takes_its_slots(bench: Bench) -> None:
    bench.submit("heavy", "light", "light")
    wait_until(lambda: len(bench.began) == 2)

    assert bench.began.count("light") == 1
    bench.release("heavy")
    bench.outcomes(1)
    wait_until(lambda: bench.began.count("light") == 2)


def test_spare_is_the_slots_of_other_pools_less_those_of_heavy_jobs(bench: Bench) -> None:
    assert (bench.dispatcher.target, bench.dispatcher.alive, bench.dispatcher.spare) == (4, 6, 2)

    bench.submit("heavy")

    assert bench.dispatcher.spare == 0
    bench.release("heavy")
    bench.outcomes(1)
    assert bench.dispatcher.spare == 2


def test_jobs_that_have_not_started_can_be_taken_back(bench: Bench) -> None:
    jobs = bench.submit("heavy", "heavy", "light", "video", "video", "video")
    wait_until(lambda: len(bench.began) == 3)

    assert {job.id for job in bench.dispatcher.withdraw()} == {jobs[n].id for n in (1, 2, 5)}
    assert (bench.dispatcher.queued, bench.dispatcher.spare) == (0, 0)


def test_every_job_ends_once(bench: Bench) -> None:
    for name in bench.permits:
        bench.release(name, 1000)
    names = ["light", "heavy", "video", "light", "light"] * 60

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
    registry.task(name="plain", pool="video")(lambda: None)

    with pytest.raises(ConfigurationError, match="'plain' is a plain function"):
        build.check(ConsumerSettings(pools="default=async:5"), registry)
    build.check(ConsumerSettings(), registry)
    assert "task 'plain' names pool 'video'" in caplog.text


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"pools": "default=2..1"}, "upside down"),
        ({"pools": "default=2", "workers": 2}, "cannot be combined with CONSUMER_WORKERS"),
        ({"pools": "default=2,video=1"}, "a consumer supports only one"),
    ],
)
def test_settings_that_cannot_be_had_are_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        ConsumerSettings(**settings)
