"""Async handlers: one loop for all, timeouts at the next await, and nothing that ends the loop."""

import asyncio
import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from consumer.workers.event_loop import HandlerLoop
from queuepool.errors import JobTimeoutError
from tests.waiting import wait_until


@pytest.fixture
def loop() -> Iterator[HandlerLoop]:
    made = HandlerLoop()
    yield made
    made.stop()


async def give(value: object) -> object:
    await asyncio.sleep(0)
    return value


def test_a_coroutine_runs_to_its_value(loop: HandlerLoop) -> None:
    assert loop.run(give(7), None) == 7
    assert loop.run(give(8), 60.0) == 8


def test_handlers_of_all_threads_share_one_loop(loop: HandlerLoop) -> None:
    seen: list[asyncio.AbstractEventLoop] = []
    met = threading.Barrier(4)

    async def look() -> None:
        seen.append(asyncio.get_running_loop())

    def worker() -> None:
        met.wait(60)
        loop.run(look(), None)

    threads = [threading.Thread(target=worker) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert len(seen) == 4
    assert len(set(map(id, seen))) == 1


def test_a_timeout_cancels_at_the_next_await_and_lets_it_clean_up(loop: HandlerLoop) -> None:
    cleaned = threading.Event()

    async def handler() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.set()

    with pytest.raises(JobTimeoutError, match=r"timeout of 0\.05 s"):
        loop.run(handler(), 0.05)
    assert cleaned.is_set()


def test_the_handlers_own_timeout_error_is_not_ours(loop: HandlerLoop) -> None:
    async def handler() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own") as caught:
        loop.run(handler(), 30.0)
    assert not isinstance(caught.value, JobTimeoutError)


def test_a_handler_that_cancels_itself_fails(loop: HandlerLoop) -> None:
    async def handler() -> None:
        raise asyncio.CancelledError

    with pytest.raises(RuntimeError, match="cancelled itself"):
        loop.run(handler(), None)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
@pytest.mark.parametrize("timeout_s", [None, 60.0])
def test_no_exception_of_a_handler_ends_the_loop_of_the_others(
    loop: HandlerLoop, error: BaseException, timeout_s: float | None
) -> None:
    async def bad() -> None:
        await asyncio.sleep(0)
        raise error

    with pytest.raises(type(error)):
        loop.run(bad(), timeout_s)
    assert loop.run(give("alive"), timeout_s) == "alive"


def test_a_task_that_a_handler_left_behind_cannot_end_the_loop_either(loop: HandlerLoop) -> None:
    kept: list[asyncio.Task[None]] = []

    async def leave() -> None:
        async def exit_later() -> None:
            sys.exit(1)

        kept.append(asyncio.create_task(exit_later()))

    loop.run(leave(), None)
    wait_until(kept[0].done)

    assert loop.run(give("alive"), 60.0) == "alive"
    with pytest.raises(SystemExit):
        kept[0].result()


def test_stop_cancels_what_runs_and_frees_the_worker(loop: HandlerLoop) -> None:
    running, ended = threading.Event(), threading.Event()

    async def handler() -> None:
        running.set()
        await asyncio.sleep(60)

    def worker() -> None:
        with pytest.raises(RuntimeError):
            loop.run(handler(), None)
        ended.set()

    thread = threading.Thread(target=worker)
    thread.start()
    assert running.wait(60)

    loop.stop()
    loop.stop()

    assert ended.wait(60)
    thread.join(60)


def test_stop_before_start_is_legal() -> None:
    HandlerLoop().stop()


# -- what handlers do to the loop ------------------------------------------------------------------


def broken_factory(*_: object, **__: object) -> Any:
    raise RuntimeError("a factory of a handler")


async def spawn(value: object) -> object:
    return await asyncio.create_task(give(value))


def test_what_a_handler_sets_on_the_loop_ends_with_it(loop: HandlerLoop) -> None:
    async def spoil() -> None:
        running = asyncio.get_running_loop()
        running.set_task_factory(broken_factory)
        running.set_exception_handler(broken_factory)
        running.set_debug(True)

    async def look() -> tuple[object, object, bool]:
        running = asyncio.get_running_loop()
        return running.get_task_factory(), running.get_exception_handler(), running.get_debug()

    before = loop.run(look(), None)
    loop.run(spoil(), None)

    assert loop.run(spawn("alive"), 60.0) == "alive"
    assert loop.run(look(), None) == before


def test_a_factory_that_a_running_handler_has_set_does_not_keep_others_from_starting(
    loop: HandlerLoop,
) -> None:
    spoilt, go_on = threading.Event(), threading.Event()

    async def spoil() -> None:
        asyncio.get_running_loop().set_task_factory(broken_factory)
        spoilt.set()
        await asyncio.to_thread(go_on.wait, 60)

    thread = threading.Thread(target=lambda: loop.run(spoil(), None))
    thread.start()
    assert spoilt.wait(60)

    assert loop.run(spawn("alive"), 60.0) == "alive"
    go_on.set()
    thread.join(60)


def test_a_loop_that_a_handler_closed_fails_who_waits_and_is_replaced(loop: HandlerLoop) -> None:
    waiting = threading.Event()
    failed: list[BaseException] = []

    async def wait() -> None:
        waiting.set()
        await asyncio.sleep(60)

    async def close() -> None:
        running = asyncio.get_running_loop()
        running.run_forever = running.close  # type: ignore[method-assign]
        running.stop()

    def worker() -> None:
        try:
            loop.run(wait(), None)
        except RuntimeError as error:
            failed.append(error)

    thread = threading.Thread(target=worker)
    thread.start()
    assert waiting.wait(60)
    with contextlib.suppress(RuntimeError):
        loop.run(close(), None)
    thread.join(60)

    assert not thread.is_alive()
    assert "event loop of async handlers ended" in str(failed[0])
    assert loop.run(give("alive"), 60.0) == "alive"


def test_a_thread_that_cannot_be_started_fails_the_attempt_and_the_next_tries_again(
    loop: HandlerLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    made: list[asyncio.AbstractEventLoop] = []
    new = asyncio.new_event_loop

    def remember() -> asyncio.AbstractEventLoop:
        made.append(new())
        return made[-1]

    monkeypatch.setattr(asyncio, "new_event_loop", remember)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        for _ in range(3):
            with pytest.raises(RuntimeError, match=r"can't start new thread.*not started"):
                loop.run(give(1), None)

    assert all(each.is_closed() for each in made)  # three descriptors each
    assert loop.run(give("alive"), 60.0) == "alive"
