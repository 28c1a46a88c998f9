"""Hooks where the machine refuses threads: jobs run on, and hooks are called again later."""

import threading
from collections.abc import Callable, Collection
from typing import Any

import pytest

from consumer.workers import hooks as hooking
from consumer.workers.hooks import HookRunner
from queuepool import JobRun, Registry
from queuepool.tasks.hooks import Moment
from queuepool.tasks.registry import default_registry
from tests.apps import dangerous
from tests.unit.consumer.loop.hooked import Calls, Running, run_of
from tests.waiting import wait_until

_HAND, _WATCH = "queuepool-hook", "queuepool-hooks"
POOLS = {
    "threads": {"workers": 2},
    "async": {"pools": "default=async:1..2"},
    "processes": {"app": dangerous.__name__, "pools": "default=process:1..1"},
}


class Machine:
    """Refuses to start threads of these names. refused: how often."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *names: str, error: type[Exception] = RuntimeError
    ) -> None:
        self.names, self.refused = set(names), 0
        start: Callable[[threading.Thread], None] = threading.Thread.start

        def begin(thread: threading.Thread) -> None:
            if thread.name in self.names:
                self.refused += 1
                raise error("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", begin)


def threads(before: Collection[threading.Thread]) -> list[str]:
    """Return the names of the new threads of hooks: those of an earlier test may still end."""
    new = [thread for thread in threading.enumerate() if thread not in before]
    return sorted(thread.name for thread in new if thread.name in (_HAND, _WATCH))


@pytest.mark.parametrize("settings", POOLS.values(), ids=POOLS)
def test_jobs_run_though_no_thread_for_hooks_can_be_started(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    registry = Registry()
    if "app" in settings:
        registry.add(default_registry.find("harm.double") or pytest.fail("no such task"))
    else:

        @registry.task(name="harm.double")
        async def double(n: int) -> int:
            return 2 * n

    calls = Calls(registry)
    machine = Machine(monkeypatch, _HAND, _WATCH)
    running = Running(registry, **settings)
    try:
        for n in range(4):
            running.job("harm.double", {"n": n})
        failures = running.consumer.hooks.failures
        wait_until(lambda: failures[0, "dropped"] == 8, message="before and after, of 4 jobs")
        assert calls.seen == []

        machine.names.clear()
        running.job("harm.double", {"n": 5})
        wait_until(lambda: len(calls.seen) == 2)
    finally:
        running.stop()
    assert [moment for moment, _ in calls.seen] == ["before", "after"]
    assert failures == {(0, "dropped"): 8}


@pytest.mark.parametrize("error", [RuntimeError, MemoryError])
def test_a_refused_watch_is_started_by_a_later_call_and_the_hand_only_once(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    registry = Registry()
    calls = Calls(registry)
    machine = Machine(monkeypatch, _WATCH, error=error)
    hooks, before = HookRunner(registry), threading.enumerate()
    for attempt in (1, 2, 3):
        hooks._put(Moment.AFTER, None, run_of(attempt))

    wait_until(lambda: len(calls.seen) == 3)
    assert machine.refused == 3
    assert threads(before) == [_HAND]
    machine.names.clear()
    hooks._put(Moment.AFTER, None, run_of(4))
    wait_until(lambda: len(calls.seen) == 4)
    assert threads(before) == [_HAND, _WATCH]
    assert not hooks.failures
    hooks.close(60)


def test_a_hook_that_hangs_keeps_its_hand_until_another_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = [0.0]
    monkeypatch.setattr(hooking, "monotonic", lambda: now_s[0])
    registry, begun, release, seen = Registry(), threading.Event(), threading.Event(), list[int]()
    hooks = HookRunner(registry, longest_s=0.1)

    @registry.hooks.after
    def hangs(run: JobRun) -> None:
        begun.set()
        release.wait(60)

    registry.hooks.after(lambda run: seen.append(run.attempt))
    hooks._put(Moment.AFTER, None, run_of(1))
    assert begun.wait(60)
    machine = Machine(monkeypatch, _HAND)
    now_s[0] += 1.0
    wait_until(lambda: machine.refused >= 2, message="the watch tries again")
    assert (seen, hooks.failures) == ([], {})

    machine.names.clear()
    wait_until(lambda: seen == [1])
    wait_until(lambda: hooks.failures == {(0, "timeout"): 1})
    release.set()
    hooks.close(60)
