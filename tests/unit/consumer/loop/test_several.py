"""The supervisor of several consumers survives a machine that refuses another process."""

from __future__ import annotations

import errno
import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from consumer.loop.several import Several
from queuepool.process.endings import CONFIGURATION, FAILED, OK

REFUSALS = [errno.EAGAIN, errno.ENOMEM, errno.EMFILE]


class Fake:
    """A child that ends when it is told to."""

    pid = 1

    def __init__(self, code: int | None = None, says: str = "") -> None:
        self.returncode, self.signals = code, list[int]()
        self.says = says or ("" if code else "!")

    def poll(self) -> int | None:
        return self.returncode

    def wait(self) -> int:
        raise AssertionError("nothing waits for a child that may not end")

    def send_signal(self, sig: int) -> None:
        self.signals.append(sig)
        self.returncode = OK


class Machine:
    """Starts children as a list says, by consumer number; the last start stops all of them."""

    def __init__(self, *starts: Callable[[], Fake]) -> None:
        self._starts, self.numbers, self.children = list(starts), list[int](), list[Fake]()

    def start(self, number: int, started_fd: int) -> Fake:
        self.numbers.append(number)
        make = self._starts.pop(0)
        if not self._starts:
            os.kill(os.getpid(), signal.SIGTERM)
        self.children.append(made := make())
        os.write(started_fd, made.says.encode())
        return made


def refuses(number: int) -> Callable[[], Fake]:
    def refuse() -> Fake:
        raise OSError(number, os.strerror(number))

    return refuse


@pytest.mark.parametrize("number", REFUSALS)
def test_a_refused_restart_is_tried_again_while_the_others_run(
    number: int, caplog: pytest.LogCaptureFixture
) -> None:
    dies = Fake(FAILED)
    opened = len(list(Path("/dev/fd").iterdir()))
    machine = Machine(Fake, lambda: dies, refuses(number), refuses(number), Fake)

    with caplog.at_level(logging.ERROR, "consumer"):
        assert Several(2, machine.start, drain_s=1.0).run() == OK

    assert machine.numbers == [0, 1, 1, 1, 1]
    steady, _, again = machine.children
    assert (steady.signals, again.signals) == ([signal.SIGTERM], [signal.SIGTERM])
    refused = [text for text in caplog.messages if os.strerror(number) in text]
    assert len(refused) == 2
    assert all("consumer 1 cannot be started" in text for text in refused)
    assert len(list(Path("/dev/fd").iterdir())) == opened


def failed() -> Fake:
    return Fake(FAILED)


def mistaken() -> Fake:
    return Fake(CONFIGURATION)


@pytest.mark.parametrize("first", [refuses(errno.EAGAIN), failed])
def test_the_others_wait_until_the_first_has_started(first: Callable[[], Fake]) -> None:
    machine = Machine(first, first, Fake, Fake, Fake)

    assert Several(3, machine.start, drain_s=1.0).run() == OK

    assert machine.numbers == [0, 0, 0, 1, 2]


def test_a_mistake_is_told_once_also_after_a_first_start_that_is_refused() -> None:
    machine = Machine(refuses(errno.EAGAIN), mistaken, Fake)

    assert Several(2, machine.start, drain_s=1.0).run() == CONFIGURATION

    assert machine.numbers == [0, 0]


def test_a_handler_that_ends_its_process_with_the_code_of_a_mistake_ends_no_other() -> None:
    machine = Machine(Fake, lambda: Fake(CONFIGURATION, "!"), Fake)

    assert Several(2, machine.start, drain_s=1.0).run() == OK

    assert machine.numbers == [0, 1, 1]


def test_a_mistake_that_is_found_while_all_run_ends_all() -> None:
    machine = Machine(Fake, lambda: Fake(CONFIGURATION, "!?"), Fake)

    assert Several(2, machine.start, drain_s=1.0).run() == CONFIGURATION

    assert machine.numbers == [0, 1]


def test_no_other_starts_when_a_signal_comes_while_the_first_does() -> None:
    machine = Machine(Fake)

    assert Several(2, machine.start, drain_s=1.0).run() == OK

    assert machine.numbers == [0]


def test_whatever_fails_the_consumers_drain() -> None:
    def breaks() -> Fake:
        raise ZeroDivisionError

    machine = Machine(Fake, breaks, Fake)

    with pytest.raises(ZeroDivisionError):
        Several(2, machine.start, drain_s=1.0).run()

    [steady] = machine.children
    assert steady.signals == [signal.SIGTERM]
