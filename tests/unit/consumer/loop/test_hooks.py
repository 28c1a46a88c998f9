"""Hooks of an application: called beside its jobs, in every kind of pool, and unable to harm."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from consumer.workers import hooks as hooking
from consumer.workers.hooks import HookRunner
from queuepool import JobCancelled, JobContext, JobRun, PermanentError, Registry, RetryLater, RunEnd
from queuepool.errors import InvalidInputError
from queuepool.tasks.hooks import Moment
from queuepool.tasks.registry import default_registry
from tests.apps import dangerous
from tests.unit.consumer.loop.hooked import Calls, Running, run_of
from tests.waiting import wait_until


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture
def start(registry: Registry) -> Iterator[Callable[..., Running]]:
    running: list[Running] = []

    def begin(**settings: Any) -> Running:
        running.append(Running(registry, **settings))
        return running[-1]

    yield begin
    for each in running:
        each.stop()


KINDS = {"threads": "default=1..2", "async": "default=async:1..2"}


@pytest.mark.parametrize("pools", KINDS.values(), ids=KINDS)
def test_hooks_see_the_start_and_the_end_of_a_job(
    registry: Registry, start: Callable[..., Running], pools: str
) -> None:
    @registry.task(max_attempts=3)
    async def greet(name: str) -> str:
        return f"Hello, {name}"

    calls = Calls(registry)
    job_id = start(pools=pools).job("greet", {"name": "Ada"})

    wait_until(lambda: len(calls.seen) == 2)
    (first, begun), (last, ended) = calls.seen
    assert (first, begun.end, begun.ran_s) == ("before", None, None)
    assert (last, ended.end, ended.error) == ("after", RunEnd.DONE, None)
    assert begun.job_id == ended.job_id == job_id
    assert (ended.task, ended.group, ended.partition) == ("greet", b"k", 0)
    assert (ended.attempt, ended.max_attempts, ended.next_try_s) == (1, 3, None)
    assert ended.ran_s is not None
    assert begun.notes is ended.notes
    assert begun.started_at == ended.started_at


@pytest.mark.parametrize("pools", KINDS.values(), ids=KINDS)
def test_hooks_see_failures_and_the_death_of_a_job(
    registry: Registry, start: Callable[..., Running], pools: str
) -> None:
    @registry.task(max_attempts=5)
    async def breaks() -> None:
        raise PermanentError("no such account")

    calls = Calls(registry)
    start(pools=pools).job("breaks")

    wait_until(lambda: len(calls.seen) == 4)
    assert [moment for moment, _ in calls.seen] == ["before", "on_failed", "on_dead", "after"]
    [run] = calls.of("on_dead")
    assert run.end is RunEnd.DEAD
    assert run.error is not None
    assert (run.error.reason, run.error.message) == ("permanent", "no such account")
    assert isinstance(run.exception, PermanentError)
    assert run.next_try_s is None


def test_a_failed_attempt_says_when_the_next_one_is(
    registry: Registry, start: Callable[..., Running]
) -> None:
    @registry.task
    def breaks() -> None:
        raise ValueError("later, perhaps")

    calls = Calls(registry)
    start().job("breaks")

    wait_until(lambda: len(calls.seen) == 3)
    [run] = calls.of("on_failed")
    assert run.end is RunEnd.FAILED
    assert run.next_try_s is not None
    assert calls.of("on_dead") == []


def test_a_job_that_asks_for_later_and_one_that_was_cancelled_did_not_fail(
    registry: Registry, start: Callable[..., Running]
) -> None:
    entered = threading.Event()

    @registry.task
    def later() -> None:
        raise RetryLater(60)

    @registry.task
    def waits(ctx: JobContext) -> None:
        entered.set()
        wait_until(lambda: ctx.cancel_requested)
        raise JobCancelled

    calls = Calls(registry)
    running = start()
    running.job("later")
    job_id = running.job("waits")
    assert entered.wait(60)
    running.pool.cancel(job_id)

    wait_until(lambda: len(calls.of("after")) == 2)
    assert {run.task: run.end for run in calls.of("after")} == {
        "later": RunEnd.LATER,
        "waits": RunEnd.CANCELLED,
    }
    assert calls.of("on_failed") == []


def test_a_task_has_hooks_of_its_own_after_those_of_all(
    registry: Registry, start: Callable[..., Running]
) -> None:
    seen: list[str] = []
    both = threading.Event()

    async def own(run: JobRun) -> None:
        await asyncio.sleep(0)
        seen.append(f"own {run.task}")
        both.set()

    @registry.task(after=own)
    def mine() -> None: ...

    @registry.task
    def other() -> None: ...

    registry.hooks.after(lambda run: seen.append(f"all {run.task}"))
    running = start(workers=1)
    running.job("other")
    running.job("mine")

    assert both.wait(60)
    assert seen == ["all other", "all mine", "own mine"]


def test_a_hook_that_raises_is_logged_without_its_text_and_harms_nothing(
    registry: Registry, start: Callable[..., Running], caplog: pytest.LogCaptureFixture
) -> None:
    @registry.task
    def greet() -> None: ...

    @registry.hooks.before
    def careless(run: JobRun) -> None:
        raise SystemExit("secret")

    seen: list[str] = []
    registry.hooks.after(lambda run: seen.append(run.job_id))
    running = start()
    ids = {running.job("greet") for _ in range(20)}

    wait_until(lambda: len(seen) == 20)
    assert set(seen) == ids
    assert running.consumer.hooks.failures == {(0, "raised"): 20}
    lines = [r.getMessage() for r in caplog.records if r.name == "consumer.hooks"]
    assert len(lines) == 1, "one line in ten seconds for one kind"
    assert "careless (before) failed, its job is not affected: SystemExit at" in lines[0]
    assert "secret" not in caplog.text


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_a_hook_that_hangs_is_left_out_and_the_others_go_on(
    registry: Registry,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    is_async: bool,
) -> None:
    now_s = [0.0]  # no stall of ours makes a hook too slow
    monkeypatch.setattr(hooking, "monotonic", lambda: now_s[0])
    begun, release, seen = threading.Event(), threading.Event(), list[int]()
    hooks = HookRunner(registry, longest_s=0.5 if is_async else 0.1)

    def hangs(run: JobRun) -> None:
        begun.set()
        release.wait(60)

    async def hangs_on_its_loop(run: JobRun) -> None:
        await asyncio.sleep(30)

    registry.hooks.after(hangs_on_its_loop if is_async else hangs)
    registry.hooks.after(lambda run: seen.append(run.attempt))
    for attempt in (1, 2):
        hooks._put(Moment.AFTER, None, run_of(attempt))
    if not is_async:
        assert begun.wait(60)
        now_s[0] += 1.0

    wait_until(lambda: seen == [1, 2])
    expected = {(0, "timeout"): 2} if is_async else {(0, "timeout"): 1, (0, "skipped"): 1}
    wait_until(lambda: hooks.failures == expected)
    wait_until(lambda: "(after) failed, its job is not affected" in caplog.text)
    release.set()
    if not is_async:
        wait_until(lambda: not hooks._stuck())
        hooks._put(Moment.AFTER, None, run_of(3))
        wait_until(lambda: seen == [1, 2, 3])
        assert hooks.failures == {(0, "timeout"): 1, (0, "skipped"): 1}, "it is called again"
    hooks.close(60)


def test_calls_that_find_no_room_are_counted(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooking, "_ROOM", 3)
    release, seen = threading.Event(), list[int]()
    hooks = HookRunner(registry)

    @registry.hooks.after
    def slow(run: JobRun) -> None:
        release.wait(60)
        seen.append(run.attempt)

    hooks._put(Moment.AFTER, None, run_of(0))
    wait_until(lambda: hooks._calls.qsize() == 0)
    for attempt in range(1, 6):
        hooks._put(Moment.AFTER, None, run_of(attempt))
    release.set()
    hooks.close(60)

    assert seen == [0, 1, 2, 3]
    assert hooks.failures == {(0, "dropped"): 2}


def test_a_process_pool_tells_of_a_killed_child(start: Callable[..., Running]) -> None:
    del start
    registry = Registry()
    for task in default_registry:
        if task.name in ("harm.double", "harm.leave"):
            registry.add(task)
    calls = Calls(registry)
    running = Running(registry, app=dangerous.__name__, pools="default=process:1..1")
    try:
        running.job("harm.double", {"n": 2})
        wait_until(lambda: len(calls.of("after")) == 1)
        running.job("harm.leave", {"status": 3}, max_attempts=1)
        wait_until(lambda: len(calls.of("after")) == 2)
    finally:
        running.stop()

    done, died = calls.of("after")
    assert (done.end, died.end) == (RunEnd.DONE, RunEnd.DEAD)
    assert [run.task for run in calls.of("before")] == ["harm.double", "harm.leave"]
    assert calls.of("on_dead") == [died]
    assert died.error is not None
    assert died.error.reason == "crashed"
    assert died.exception is None


def test_what_cannot_be_called_is_no_hook(registry: Registry) -> None:
    with pytest.raises(InvalidInputError, match="on_dead='print'"):
        registry.task(name="t", on_dead="print")(lambda: None)  # type: ignore[call-overload]
    with pytest.raises(InvalidInputError, match="after="):
        registry.hooks.after(JobRun)  # type: ignore[type-var]


def test_without_hooks_nothing_is_kept_and_no_thread_begins(
    registry: Registry, start: Callable[..., Running], caplog: pytest.LogCaptureFixture
) -> None:
    @registry.task
    def breaks() -> None:
        raise PermanentError("x")

    caplog.set_level(logging.CRITICAL)
    running = start()
    running.job("breaks")

    wait_until(lambda: running.pool.partition(0).observe().dead == 1)
    assert running.consumer.hooks._hand is None
