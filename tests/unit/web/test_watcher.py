"""What the log of the page says of a coordinator that does not answer."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from queuepool.errors import UnavailableError
from queuepool.web.live import watcher as watching
from queuepool.web.live.board import Board
from queuepool.web.live.watcher import Watcher
from tests.unit.web.coordinator import FakeCoordinator, Stream
from tests.waiting import wait_until


class Line:
    """Connects to a coordinator that is away, until it is there."""

    def __init__(self) -> None:
        self.asked, self.is_there, self.streams = 0, False, list[Stream]()

    def connect(self) -> Any:
        self.asked += 1
        if not self.is_there:
            raise UnavailableError("nobody answers")
        client = FakeCoordinator()
        stream = Stream(client)
        client.WatchPartitions = lambda _request: stream  # type: ignore[method-assign]
        self.streams.append(stream)
        return client


def follow(line: Line, test: Callable[[Board], None]) -> None:
    board = Board()
    watcher = Watcher(board, line.connect, lambda: None)
    watcher.start()
    try:
        test(board)
    finally:
        watcher.stop()


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]


def test_a_coordinator_that_starts_beside_the_page_is_not_missed(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_PAUSES_S", (0.01,))
    line = Line()

    def starts(board: Board) -> None:
        wait_until(lambda: line.asked > 3)
        line.is_there = True
        wait_until(lambda: board.look.is_live)

    follow(line, starts)

    assert warnings(caplog) == []


def test_one_that_goes_away_is_told_once_each_time(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_PAUSES_S", (0.01,))
    monkeypatch.setattr(watching, "_START_S", 0.0)
    line = Line()

    def comes_and_goes(board: Board) -> None:
        for _ in range(2):
            line.is_there, asked = False, line.asked
            for stream in line.streams:
                stream.cancel()
            wait_until(lambda asked=asked: line.asked > asked + 3)  # type: ignore[misc]
            line.is_there = True
            wait_until(lambda: board.look.is_live)

    follow(line, comes_and_goes)

    told = warnings(caplog)
    assert told[0] == "no data from the coordinator: nobody answers"
    assert told.count("no data from the coordinator: nobody answers") == 2
    assert len(told) <= 3  # the end of a stream is one problem, that nobody answers another
