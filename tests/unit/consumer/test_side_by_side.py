"""Consumers of several pools start and end together, and the first failure is the process's."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from consumer.loop.side_by_side import SideBySide
from queuepool.errors import FencedError
from tests.waiting import wait_until


class FakeConsumer:
    """Runs until it is stopped, or fails as soon as it may."""

    def __init__(self, pool: str, failure: Exception | None = None) -> None:
        self.pool, self.failure = pool, failure
        self.runs, self.stopped = threading.Event(), threading.Event()
        self.thread = ""

    def run(self) -> None:
        self.thread = threading.current_thread().name
        self.runs.set()
        if self.failure is not None:
            raise self.failure
        self.stopped.wait(60)

    def stop(self) -> None:
        self.stopped.set()


def side_by_side(*consumers: Any) -> tuple[SideBySide, list[FencedError]]:
    fenced: list[FencedError] = []
    return SideBySide(consumers, fenced.append), fenced


def test_all_run_until_they_are_stopped() -> None:
    consumers = [FakeConsumer("default"), FakeConsumer("io"), FakeConsumer("cpu")]
    together, _ = side_by_side(*consumers)

    def stop_them() -> None:
        wait_until(lambda: all(c.runs.is_set() for c in consumers))
        together.stop()

    stopper = threading.Thread(target=stop_them)
    stopper.start()

    together.run()

    stopper.join(60)
    assert all(consumer.stopped.is_set() for consumer in consumers)
    assert [c.thread for c in consumers] == [threading.main_thread().name, "pool-io", "pool-cpu"]


@pytest.mark.parametrize("failing", [0, 1])
def test_the_first_failure_stops_all_and_is_raised(failing: int) -> None:
    consumers = [FakeConsumer("default"), FakeConsumer("io")]
    consumers[failing].failure = ValueError("broken")
    together, fenced = side_by_side(*consumers)

    with pytest.raises(ValueError, match="broken"):
        together.run()

    assert all(consumer.stopped.is_set() for consumer in consumers)
    assert fenced == []


def test_who_is_fenced_in_one_pool_ends_the_process() -> None:
    error = FencedError(what="partition 3/io", epoch=1, current=2)
    together, fenced = side_by_side(FakeConsumer("default"), FakeConsumer("io", error))

    with pytest.raises(FencedError):
        together.run()

    assert fenced == [error]


def test_without_a_thread_for_a_pool_none_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    consumers = [FakeConsumer("default"), FakeConsumer("io"), FakeConsumer("cpu")]
    together, _ = side_by_side(*consumers)
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "pool-cpu":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)

    with pytest.raises(Exception, match="thread"):
        together.run()

    assert not consumers[0].runs.is_set()
    assert consumers[1].stopped.is_set()
