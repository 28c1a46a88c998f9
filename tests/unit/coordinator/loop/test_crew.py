"""Threads for calls that block: started at need, refused, and had again."""

import threading
from collections.abc import Iterator

import pytest

from coordinator.loop.crew import Crew
from queuepool.errors import UnavailableError
from tests.waiting import wait_until


class Refusing:
    """Lets so many threads be started; then the system gives no more."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.left, start = 10**9, threading.Thread.start

        def begin(thread: threading.Thread) -> None:
            if self.left <= 0:
                raise RuntimeError("can't start new thread")
            self.left -= 1
            start(thread)

        patch.setattr(threading.Thread, "start", begin)


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> Refusing:
    return Refusing(monkeypatch)


@pytest.fixture
def crew() -> Iterator[Crew]:
    made = Crew(2, "test-crew")
    yield made
    made.close()
    wait_until(lambda: alive() == 0)  # or the next test counts those that are about to leave


def alive() -> int:
    return sum(thread.name == "test-crew" for thread in threading.enumerate())


def test_work_runs_side_by_side_on_no_more_threads_than_allowed(crew: Crew) -> None:
    both, rest = threading.Barrier(3), threading.Event()

    def meet() -> None:
        both.wait(60)
        rest.wait(60)

    first = [crew.submit(meet) for _ in range(2)]
    third = crew.submit(lambda: 3)
    both.wait(60)

    assert alive() == 2
    assert not third.done()
    rest.set()
    assert [future.result(60) for future in first] == [None, None]
    assert third.result(60) == 3
    assert [crew.submit(lambda: 4).result(60) for _ in range(20)] == [4] * 20
    assert alive() == 2


def test_what_no_thread_can_be_had_for_is_not_done_later_either(
    crew: Crew, refusing: Refusing
) -> None:
    ran: list[int] = []
    refusing.left = 0
    with pytest.raises(UnavailableError, match=r"can't start new thread.*nothing was done"):
        crew.submit(lambda: ran.append(1))

    refusing.left = 1
    crew.submit(lambda: ran.append(2)).result(60)

    assert ran == [2]


def test_a_refusal_leaves_the_work_to_a_thread_that_lives(crew: Crew, refusing: Refusing) -> None:
    refusing.left, rest = 1, threading.Event()
    busy = crew.submit(lambda: rest.wait(60))
    second = crew.submit(lambda: 2)

    assert alive() == 1
    rest.set()
    assert busy.result(60)
    assert second.result(60) == 2


def test_an_error_is_for_whoever_asked_and_the_thread_lives_on(crew: Crew) -> None:
    with pytest.raises(ZeroDivisionError):
        crew.submit(lambda: 1 // 0).result(60)

    assert crew.submit(lambda: 1).result(60) == 1


def test_a_closed_crew_cancels_what_waits_and_its_threads_leave(crew: Crew) -> None:
    begun, rest = threading.Barrier(3), threading.Event()

    def hang() -> None:
        begun.wait(60)
        rest.wait(60)

    for _ in range(2):
        crew.submit(hang)
    waiting = crew.submit(lambda: 3)
    begun.wait(60)
    crew.close()
    crew.close()

    assert waiting.cancelled()
    with pytest.raises(UnavailableError, match="stopping"):
        crew.submit(lambda: 4)
    rest.set()
    wait_until(lambda: alive() == 0)
