"""What is asked once for all who look, and what is given meanwhile."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from queuepool.web.answers import Answers


class Asked:
    """A call that blocks until it may answer, with how often it was made."""

    def __init__(self) -> None:
        self.count, self.may_answer = 0, threading.Event()
        self.begun = threading.Semaphore(0)

    def __call__(self) -> int:
        self.count += 1
        number = self.count
        self.begun.release()
        assert self.may_answer.wait(30)
        return number


def run(test: Callable[[Answers, Asked], Awaitable[None]]) -> None:
    async def within() -> None:
        await test(Answers(), Asked())

    asyncio.run(within())


def test_all_who_ask_at_once_wait_for_one_call() -> None:
    async def at_once(answers: Answers, ask: Asked) -> None:
        waiting = [asyncio.create_task(answers.get("a", 5.0, ask)) for _ in range(20)]
        await asyncio.sleep(0)
        ask.may_answer.set()

        assert await asyncio.gather(*waiting) == [1] * 20
        assert await answers.get("a", 60.0, ask) == 1
        assert await answers.get("b", 60.0, ask) == 2

    run(at_once)


def test_an_older_answer_is_given_at_once_while_a_newer_one_is_asked_for() -> None:
    async def stale(answers: Answers, ask: Asked) -> None:
        ask.may_answer.set()
        assert await answers.get("a", 0.0, ask, stale_s=60.0) == 1
        ask.may_answer.clear()

        assert await answers.get("a", 0.0, ask, stale_s=60.0) == 1
        assert await answers.get("a", 0.0, ask, stale_s=60.0) == 1  # the call is under way
        ask.may_answer.set()
        assert await answers.get("a", 0.0, ask) == 2

    run(stale)


def test_what_was_asked_before_everything_changed_is_no_answer_afterwards() -> None:
    async def changed(answers: Answers, ask: Asked) -> None:
        before = asyncio.create_task(answers.get("a", 60.0, ask))
        await asyncio.to_thread(ask.begun.acquire)
        answers.forget()
        after = asyncio.create_task(answers.get("a", 60.0, ask))
        await asyncio.to_thread(ask.begun.acquire)
        ask.may_answer.set()

        assert (await before, await after) == (1, 2)
        assert await answers.get("a", 60.0, ask) == 2

    run(changed)


def test_an_error_is_told_to_who_waits_and_asked_anew() -> None:
    async def failing(answers: Answers, ask: Asked) -> None:
        def fail() -> int:
            raise ValueError("away")

        with pytest.raises(ValueError, match="away"):
            await answers.get("a", 60.0, fail)
        ask.may_answer.set()
        assert await answers.get("a", 60.0, ask) == 1

    run(failing)


def test_who_gives_up_takes_no_answer_from_others() -> None:
    async def given_up(answers: Answers, ask: Asked) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(answers.get("a", 5.0, ask), 0.01)
        other = asyncio.create_task(answers.get("a", 5.0, ask))
        ask.may_answer.set()

        assert await other == 1

    run(given_up)
