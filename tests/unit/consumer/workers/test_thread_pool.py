"""The pool of workers: it grows at once, shrinks between jobs, and loses none."""

import ctypes
import random
import threading
from collections.abc import Iterator
from queue import SimpleQueue
from types import SimpleNamespace

import pytest

from consumer.core.jobs import ClaimedJob, End, Outcome, claimed
from consumer.workers.thread_pool import ThreadPool
from tests.waiting import wait_until


def make_job(number: int) -> ClaimedJob:
    return claimed(b"%d" % number, b"", 1, 0, 0, 0.0)


class Bench:
    """A pool whose jobs wait for a permit before they end; each rings like a real one."""

    def __init__(self) -> None:
        self.permits = threading.Semaphore(0)
        self.rang = threading.Event()
        self.lock = threading.Lock()
        self.running: list[ClaimedJob] = []
        self.most = 0
        self.start_until_s = float("inf")
        self.late = False
        self.began: list[bytes] = []
        self.pool = ThreadPool(self, self.rang.set)

    def run(self, job: ClaimedJob) -> Outcome:
        with self.lock:
            self.began.append(job.id)
            self.running.append(job)
            self.most = max(self.most, len(self.running))
        assert self.permits.acquire(timeout=60)
        with self.lock:
            self.running.remove(job)
        return Outcome(job, End.DONE, 0.0, 0.0)

    def failed(self, job: ClaimedJob, error: BaseException) -> Outcome:
        return Outcome(job, End.RETRY, 0.0, 0.0, reason=type(error).__name__)

    def submit(self, *numbers: int) -> None:
        self.pool.submit([make_job(n) for n in numbers])

    def release(self, jobs: int) -> None:
        for _ in range(jobs):
            self.permits.release()


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.pool.resize(0)
    made.release(10_000)
    assert made.pool.close(60)


def test_workers_run_jobs_and_ring_when_one_has_ended(bench: Bench) -> None:
    bench.pool.resize(2)
    bench.submit(1, 2, 3)
    wait_until(lambda: len(bench.running) == 2)
    assert bench.pool.queued == 1
    assert bench.pool.take_ended() == []

    bench.release(1)
    assert bench.rang.wait(60)
    assert [o.end for o in bench.pool.take_ended()] == [End.DONE]
    assert bench.pool.take_ended() == []
    wait_until(lambda: sorted(bench.began) == [b"1", b"2", b"3"])  # two threads race to begin


def test_it_grows_at_once_while_every_worker_is_busy(bench: Bench) -> None:
    bench.pool.resize(1)
    bench.submit(*range(6))
    wait_until(lambda: len(bench.running) == 1)

    bench.pool.resize(6)

    wait_until(lambda: len(bench.running) == 6)
    assert bench.pool.alive == 6


def test_it_shrinks_only_when_jobs_end(bench: Bench) -> None:
    bench.pool.resize(6)
    bench.submit(*range(20))
    wait_until(lambda: len(bench.running) == 6)

    bench.pool.resize(2)
    assert bench.pool.alive == 6
    assert len(bench.running) == 6  # nothing was interrupted
    for left in (5, 4, 3, 2):
        bench.release(1)
        wait_until(lambda left=left: bench.pool.alive == len(bench.running) == left)  # type: ignore[misc]
    bench.release(1)
    wait_until(lambda: len(bench.began) == 7)

    assert bench.pool.alive == 2


def test_idle_workers_leave_at_once(bench: Bench) -> None:
    bench.pool.resize(8)
    bench.pool.resize(3)
    wait_until(lambda: bench.pool.alive == 3 and bench.pool.queued == 0)


def test_a_nudge_that_came_too_late_dismisses_nobody(bench: Bench) -> None:
    bench.pool.resize(4)
    bench.submit(*range(4))
    wait_until(lambda: len(bench.running) == 4)
    bench.pool.resize(1)
    bench.pool.resize(4)
    bench.release(4)

    wait_until(lambda: bench.pool.queued == 0)
    bench.submit(*range(10, 14))
    wait_until(lambda: len(bench.running) == 4)
    assert bench.pool.alive == 4


def test_jobs_taken_back_keep_their_order_and_surplus_workers_still_leave(bench: Bench) -> None:
    bench.pool.resize(3)
    bench.submit(*range(3))
    wait_until(lambda: len(bench.running) == 3)
    bench.submit(3, 4, 5)
    bench.pool.resize(1)
    bench.submit(6, 7)

    assert [job.id for job in bench.pool.withdraw()] == [b"3", b"4", b"5", b"6", b"7"]

    bench.release(3)
    wait_until(lambda: bench.pool.alive == 1)
    wait_until(lambda: bench.pool.queued == 0)


class SlowToLook(SimpleQueue[ClaimedJob | None]):
    """A queue at which no one looks before `look` is set."""

    def __init__(self) -> None:
        self.look = threading.Event()

    def get(self, block: bool = True, timeout: float | None = None) -> ClaimedJob | None:
        assert self.look.wait(60)
        return super().get(block, timeout)


def test_taking_jobs_back_takes_no_nudge_from_idle_workers(bench: Bench) -> None:
    bench.pool._queue = queue = SlowToLook()
    bench.pool.resize(4)
    bench.pool.resize(1)
    bench.submit(1)

    assert [job.id for job in bench.pool.withdraw()] == [b"1"]
    queue.look.set()

    wait_until(lambda: bench.pool.alive == 1)


def test_what_no_worker_began_can_be_taken_back_after_all_have_left(bench: Bench) -> None:
    bench.pool.resize(1)
    bench.submit(1)
    wait_until(lambda: len(bench.running) == 1)
    bench.pool.resize(0)
    bench.submit(2, 3)
    bench.release(1)
    assert bench.pool.close(60)

    assert [job.id for job in bench.pool.withdraw()] == [b"2", b"3"]
    assert [o.job.id for o in bench.pool.take_ended()] == [b"1"]


def test_joining_a_stuck_pool_takes_no_longer_than_asked(bench: Bench) -> None:
    import time

    bench.pool.resize(10)
    bench.submit(*range(10))
    wait_until(lambda: len(bench.running) == 10)
    bench.pool.resize(0)

    began = time.monotonic()
    assert not bench.pool.close(0.2)

    assert time.monotonic() - began < 30  # of the minute for which they are stuck


def test_no_more_jobs_run_at_once_than_there_are_workers(bench: Bench) -> None:
    bench.pool.resize(5)
    bench.submit(*range(100))
    bench.release(100)
    wait_until(lambda: len(bench.began) == 100 and not bench.running)
    assert bench.most <= 5


def test_a_pool_that_cannot_start_a_thread_goes_on_with_those_it_has(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, started = threading.Thread.start, 0

    def limited(thread: threading.Thread) -> None:
        nonlocal started
        started += 1
        if started > 3:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    bench.pool.resize(8)

    assert bench.pool.alive == 3
    bench.submit(*range(5))
    wait_until(lambda: len(bench.running) == 3)


@pytest.mark.parametrize("seed", range(12))
def test_under_random_resizes_and_withdrawals_every_job_ends_exactly_once(seed: int) -> None:
    dice = random.Random(seed)
    rest = threading.Event()
    ran: list[bytes] = []

    def run(job: ClaimedJob) -> Outcome:
        if job.attempt % 7 == 0:
            rest.wait(0.0005)
        ran.append(job.id)
        return Outcome(job, End.DONE, 0.0, 0.0)

    pool = ThreadPool(SimpleNamespace(run=run, start_until_s=0.0, late=False), lambda: None)
    pool.resize(4)
    ended: list[Outcome] = []
    waiting = [claimed(b"%d" % n, b"", n, 0, 0, 0.0) for n in range(3000)]
    while waiting:
        batch = waiting[: dice.randint(1, 40)]
        del waiting[: len(batch)]
        pool.submit(batch)
        if dice.random() < 0.3:
            pool.resize(dice.choice([0, 1, 2, 5, 16, 40]))
        if dice.random() < 0.1:
            waiting += pool.withdraw()
        ended += pool.take_ended()
    pool.resize(dice.choice([1, 3]))

    def all_ended() -> bool:
        ended.extend(pool.take_ended())
        return len(ended) >= 3000

    wait_until(all_ended)
    wait_until(lambda: pool.alive == pool.target and pool.queued == 0)
    pool.resize(0)
    assert pool.close(60)
    assert len(set(ran)) == len(ran) == 3000
    assert sorted(o.job.id for o in ended) == sorted(ran)
    assert not [t for t in threading.enumerate() if t in pool._threads]


class StrayError(Exception):
    """Raised in a worker by other code."""


def strike(thread: threading.Thread) -> None:
    assert thread.ident is not None
    strike = ctypes.pythonapi.PyThreadState_SetAsyncExc
    assert strike(ctypes.c_ulong(thread.ident), ctypes.py_object(StrayError)) == 1


def ended(bench: Bench, count: int) -> list[Outcome]:
    found: list[Outcome] = []

    def all_found() -> bool:
        found.extend(bench.pool.take_ended())
        return len(found) >= count

    wait_until(all_found)
    return found


def test_an_exception_from_elsewhere_between_two_jobs_loses_neither_a_worker_nor_a_job(
    bench: Bench,
) -> None:
    bench.release(100)
    bench.pool.resize(1)
    [worker] = bench.pool._threads

    for number in range(10):
        bench.submit(number)
        [outcome] = ended(bench, 1)
        assert (outcome.job.id, outcome.end) == (b"%d" % number, End.DONE)
        strike(worker)  # it waits for the next one

    assert bench.pool._threads == {worker}
    assert bench.began == [b"%d" % number for number in range(10)]


def test_a_job_whose_worker_is_struck_after_its_handler_has_failed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(job: ClaimedJob) -> Outcome:
        job.started_s = 1.0
        raise StrayError

    monkeypatch.setattr(bench, "run", run)
    bench.pool.resize(1)
    bench.submit(1, 2)

    assert [(o.end, o.reason) for o in ended(bench, 2)] == [(End.RETRY, "StrayError")] * 2


def test_the_first_end_of_a_job_counts(bench: Bench) -> None:
    job = make_job(1)
    done, failed = Outcome(job, End.DONE, 0.0, 0.0), bench.failed(job, StrayError())
    bench.pool._ended.extend([done, failed])

    assert bench.pool.take_ended() == [done]
    assert bench.pool.take_ended() == []
