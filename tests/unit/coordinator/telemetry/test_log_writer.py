"""The thread that writes the log: it keeps what cannot be written yet, within bounds."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from coordinator.telemetry import log_writer
from coordinator.telemetry.log_writer import A_MINUTE, WAITING, LogWriter
from queuepool.errors import ScriptError, UnavailableError
from queuepool.models.log import LogEntry, LogKind
from queuepool.testing import FakeClock
from queuepool.testing.pool import MemoryPool
from tests.waiting import wait_until

HELD = LogEntry(kind=LogKind.ACT, what="hold")
SCALED = LogEntry(kind=LogKind.SCALING, what="scale")


class Log:
    """What was written; error: what a write raises."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.entries: list[LogEntry] = []
        self.clock = FakeClock()
        self.writer = LogWriter(MemoryPool(1), write=self.write, clock=self.clock)

    def write(self, entries: Sequence[LogEntry]) -> None:
        if self.error is not None:
            raise self.error
        self.entries += entries

    def add(self, *entries: LogEntry) -> None:
        for entry in entries:
            self.writer.add(entry)


def test_what_is_added_is_in_the_queues_log_soon() -> None:
    pool = MemoryPool(1)
    writer = LogWriter(pool)
    writer.start()

    writer.add(HELD)

    wait_until(lambda: [one.what for one in pool.log()] == ["hold"])
    writer.stop()


def test_what_was_added_last_is_written_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_writer, "_INTERVAL_S", 60.0)
    pool = MemoryPool(1)
    writer = LogWriter(pool)
    writer.start()

    writer.add(HELD)
    writer.stop(60.0)

    assert [one.what for one in pool.log()] == ["hold"]


def test_entries_wait_in_their_order_while_the_server_is_away(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = Log()
    log.error = UnavailableError("gone")
    log.add(*(LogEntry(kind=LogKind.ACT, what=str(n)) for n in range(3)))

    assert not log.writer.flush()
    assert not log.writer.flush()
    log.error = None
    assert log.writer.flush()

    assert [one.what for one in log.entries] == ["0", "1", "2"]
    warnings = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert [r.getMessage() for r in warnings] == [
        "the log of the queue cannot be written; entries are buffered until then: gone"
    ]


def test_the_latest_wait_and_what_was_left_out_is_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    log = Log()
    log.error = UnavailableError("gone")
    log.add(*(LogEntry(kind=LogKind.ACT, what=str(n)) for n in range(WAITING)))
    log.writer.flush()
    log.add(*(LogEntry(kind=LogKind.ACT, what=f"new {n}") for n in range(5)))
    log.writer.flush()
    log.error = None

    log.writer.flush()

    assert len(log.entries) == WAITING
    assert (log.entries[0].what, log.entries[-1].what) == ("5", "new 4")
    assert [r.__dict__["left_out"] for r in caplog.records if "again" in r.message] == [5]


def test_what_is_not_permitted_is_lost_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    log = Log()
    log.error = ScriptError("NOPERM")

    for _ in range(3):
        log.add(HELD)
        assert log.writer.flush()

    assert len([r for r in caplog.records if "NOPERM" in r.getMessage()]) == 1


def test_what_machines_cause_is_bounded_in_a_minute_and_what_people_do_is_not() -> None:
    log = Log()

    log.add(*[SCALED] * (A_MINUTE + 9), *[HELD] * (A_MINUTE + 9))
    log.writer.flush()
    log.clock.advance(61)
    log.add(SCALED)
    log.writer.flush()

    assert log.entries.count(HELD) == A_MINUTE + 9
    assert log.entries.count(SCALED) == A_MINUTE + 1
    (left_out,) = [one for one in log.entries if one.what == "left out"]
    assert (left_out.kind, left_out.outcome) == (LogKind.SCALING, "9 more within a minute")
