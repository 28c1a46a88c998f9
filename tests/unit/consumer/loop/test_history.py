"""A consumer that keeps a history: every attempt of a job, and which running jobs are slow."""

import threading
import time
from collections.abc import Iterator

import pytest

from queuepool import Backoff, Registry, RunEnd
from tests.unit.consumer.loop.hooked import Running
from tests.waiting import wait_until


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture
def running(registry: Registry) -> Iterator[Running]:
    made = Running(registry, history_keep_bytes=100_000, history_rate=200)
    yield made
    made.stop()


def test_every_attempt_of_a_job_is_on_record(registry: Registry, running: Running) -> None:
    seen: list[int] = []

    @registry.task(backoff=Backoff(base_s=0.01, cap_s=0.02, floor_s=0.0))
    def works_the_third_time() -> None:
        seen.append(1)
        running.pool.clock.advance(1)
        if len(seen) < 3:
            raise ValueError("not yet")

    job_id = running.job("works_the_third_time")

    def all_three() -> bool:
        running.pool.clock.advance(1)
        return len(running.pool.inspect.history(job_id)) == 3

    wait_until(all_three)
    first, second, third = running.pool.inspect.history(job_id, partition_key="k")
    assert [run.attempt for run in (first, second, third)] == [1, 2, 3]
    assert [run.end for run in (first, second, third)] == [RunEnd.FAILED] * 2 + [RunEnd.DONE]
    assert (first.type, first.message, third.type) == ("ValueError", "not yet", "")
    assert (first.task, first.group) == ("works_the_third_time", "k")
    # The pool's clock jumps over the backoff, so attempts may end within one real millisecond.
    assert first.ended_ms <= second.ended_ms <= third.ended_ms
    assert running.pool.inspect.history(job_id, most=1) == [third]
    assert running.pool.inspect.history("never") == []


def test_a_job_that_runs_far_longer_than_usual_is_slow(
    registry: Registry, running: Running
) -> None:
    release = threading.Event()

    @registry.task
    def works(wait: bool) -> None:
        if wait:
            release.wait(60)

    for _ in range(25):
        running.job("works", {"wait": False})
    pool = running.pool
    wait_until(lambda: len(list(pool.inspect.find())) == 0)
    job_id = running.job("works", {"wait": True})
    wait_until(lambda: len(pool.inspect.running()) == 1)
    wait_until(lambda: pool.inspect.running()[0].usual_s is not None)
    [one] = pool.inspect.running()
    assert (one.job.job_id, one.slow) == (job_id, False)

    pool.clock.advance(60)
    [one] = pool.inspect.running()
    release.set()
    assert one.slow
    assert one.age_s >= 60


def test_what_was_noted_is_kept_when_a_consumer_stops(registry: Registry) -> None:
    @registry.task
    def works() -> None: ...

    running = Running(registry, history_keep_bytes=100_000)
    job_id = running.job("works")
    wait_until(lambda: len(list(running.pool.inspect.find())) == 0)
    running.stop()

    assert [run.end for run in running.pool.inspect.history(job_id)] == [RunEnd.DONE]


def test_a_rate_bounds_what_is_kept(registry: Registry) -> None:
    @registry.task
    def works() -> None: ...

    running = Running(registry, history_keep_bytes=100_000, history_rate=1)
    began = time.monotonic()
    ids = [running.job("works") for _ in range(200)]
    wait_until(lambda: len(list(running.pool.inspect.find())) == 0)
    running.stop()

    found = [job_id for job_id in ids if running.pool.inspect.history(job_id)]
    assert 1 <= len(found) <= 2 + (time.monotonic() - began)


def test_without_the_setting_nothing_is_kept(registry: Registry) -> None:
    @registry.task
    def works() -> None: ...

    running = Running(registry)
    job_id = running.job("works")
    wait_until(lambda: len(list(running.pool.inspect.find())) == 0)
    running.stop()

    assert running.pool.inspect.history(job_id) == []
