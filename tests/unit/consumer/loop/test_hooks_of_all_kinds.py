"""Hooks that are objects: none of them ends the thread that calls the others."""

import inspect
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from consumer.workers import hooks as hooking
from consumer.workers.hooks import HookRunner
from queuepool import JobRun, Registry
from queuepool.tasks.hooks import Moment
from tests.unit.consumer.loop.hooked import run_of
from tests.waiting import wait_until


@dataclass
class Noting:
    """Like every plain dataclass, it has no hash."""

    seen: list[int] = field(default_factory=list)

    def __call__(self, run: JobRun) -> None:
        self.seen.append(run.attempt)


class Strange:
    """Raises for each attribute that it lacks, and has no equality."""

    def __init__(self) -> None:
        self.called = threading.Event()

    def __getattr__(self, name: str) -> Any:
        raise KeyError(name)

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise ValueError("ambiguous")

    def __call__(self, run: JobRun) -> None:
        self.called.set()
        raise LookupError


@dataclass
class Hanging:
    begun: threading.Event
    release: threading.Event

    def __call__(self, run: JobRun) -> None:
        self.begun.set()
        self.release.wait(60)


@pytest.fixture
def registry() -> Registry:
    return Registry()


def test_a_hook_without_a_hash_is_called_and_so_are_the_others(registry: Registry) -> None:
    hooks, first, seen = HookRunner(registry), Noting(), list[int]()
    registry.hooks.after(first)
    registry.hooks.after(lambda run: seen.append(run.attempt))
    for attempt in (1, 2):
        hooks._put(Moment.AFTER, None, run_of(attempt))

    hooks.close(60)
    assert (first.seen, seen, hooks.failures) == ([1, 2], [1, 2], {})


def test_a_hook_whose_attributes_raise_is_counted_and_the_others_are_called(
    registry: Registry,
) -> None:
    hooks, strange, seen = HookRunner(registry), Strange(), list[int]()
    registry.hooks.after(strange)
    registry.hooks.before(lambda run: seen.append(run.attempt))
    hooks._put(Moment.AFTER, None, run_of(1))
    hooks._put(Moment.BEFORE, None, run_of(2))

    hooks.close(60)
    assert strange.called.is_set()
    assert (seen, hooks.failures) == ([2], {(0, "raised"): 1})


@pytest.mark.parametrize("strange", [False, True], ids=["dataclass", "attributes raise"])
def test_an_object_that_hangs_is_left_out_until_it_returns(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, strange: bool
) -> None:
    now_s = [0.0]
    monkeypatch.setattr(hooking, "monotonic", lambda: now_s[0])
    hooks, seen = HookRunner(registry, longest_s=0.1), list[int]()
    hangs = Hanging(threading.Event(), threading.Event())
    if strange:
        hangs = type("Odd", (Hanging,), {"__getattr__": Strange.__getattr__})(
            hangs.begun, hangs.release
        )
        with pytest.raises(KeyError):
            inspect.iscoroutinefunction(hangs)
    registry.hooks.after(hangs)
    registry.hooks.after(lambda run: seen.append(run.attempt))
    for attempt in (1, 2):
        hooks._put(Moment.AFTER, None, run_of(attempt))
    assert hangs.begun.wait(60)
    now_s[0] += 1.0

    wait_until(lambda: seen == [1, 2])
    wait_until(lambda: hooks.failures == {(0, "timeout"): 1, (0, "skipped"): 1})
    hangs.release.set()
    wait_until(lambda: not hooks._stuck())
    hooks._put(Moment.AFTER, None, run_of(3))
    hooks.close(60)
    assert (seen, hooks.failures) == ([1, 2, 3], {(0, "timeout"): 1, (0, "skipped"): 1})
