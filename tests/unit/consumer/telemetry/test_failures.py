"""Every failing attempt is in the log, in few enough lines to read, and no payload is."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from consumer.core.events import Owns, Stopped, Turned
from consumer.core.jobs import ClaimedJob, End, Outcome, claimed
from consumer.telemetry.failures import FailureLog
from consumer.telemetry.report import EventLog
from consumer.workers.event_loop import HandlerLoop
from consumer.workers.runner import Runner
from consumer.workers.timeouts import Timekeeper
from queuepool import PermanentError, RetryLater
from queuepool.models import ErrorRecord
from queuepool.models.tenants import prefix_of
from queuepool.protocol import codec
from queuepool.tasks.registry import Registry
from queuepool.verbs.owner.verbs import Acquired, Ownership

LOG = logging.getLogger("tests.failures")
SECRET = "canary-7f3a"


def job(name: str = "a1", group: bytes = b"import-1", attempt: int = 2) -> ClaimedJob:
    body = b"12%011x" % 1 + codec.encode_tail(7, group)
    body += codec.encode_envelope("t", {"a": SECRET}, codec.NO_OPTIONS, limit=10_000)
    return claimed(name.encode(), body, attempt, 0, 1, 0.0)


def failed(name: str = "a1", end: End = End.RETRY, **more: Any) -> Outcome:
    record = ErrorRecord(reason="failed", type="ValueError", message=f"no {SECRET}")
    known: dict[str, Any] = {
        "reason": "failed",
        "delay_ms": 3200,
        "max_attempts": 5,
        "task": "import_row",
    }
    error = codec.encode_error(record)
    return Outcome(job(name), end, 0.0, 1.0, error=error, **(known | more))


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG)
    return caplog


def test_a_retry_and_a_death_have_a_line_each(log: pytest.LogCaptureFixture) -> None:
    failures = FailureLog(LOG)

    failures.note([failed("a1"), failed("b2", End.BURY, reason="timeout")], 0.0, 3)

    assert [(r.levelname, r.getMessage()) for r in log.records] == [
        ("WARNING", "job a1 failed: ValueError at attempt 2 of 5; next try in 3.2 s"),
        (
            "ERROR",
            "job b2 is dead (timeout): ValueError at attempt 2 of 5; see `queuepool dead show b2`",
        ),
    ]
    extra = vars(log.records[0])
    known = {name: extra[name] for name in ("task", "group", "attempt", "reason")}
    assert known == {
        "task": "import_row", "group": "import-1", "attempt": 2, "reason": "failed"
    }  # fmt: skip
    assert SECRET not in log.text


def test_its_fields_are_those_of_the_handlers_own_lines(log: pytest.LogCaptureFixture) -> None:
    of_tenant = failed("b2")
    of_tenant.job = job("b2", group=prefix_of(b"acme") + b"import-1")

    reporter = EventLog()
    reporter.listen(Owns(Acquired(Ownership(3, "n", 1), 0, 0, None, None, "0-0"), 8))
    reporter.listen(Turned([failed("a1"), of_tenant], 0, 0, 0.1))

    _, plain, tenanted = (vars(record) for record in log.records)
    assert plain["partition"] == tenanted["partition"] == 3
    assert "tenant" not in plain
    assert (tenanted["group"], tenanted["tenant"]) == ("import-1", "acme")


def test_what_did_not_fail_has_no_line(log: pytest.LogCaptureFixture) -> None:
    ends = (End.DONE, End.RETRY, End.CANCELLED, End.HAND_BACK)

    FailureLog(LOG).note([Outcome(job(), end, 0.0, 1.0, "t") for end in ends], 0.0, 3)
    FailureLog(LOG).note([failed(charged=False)], 0.0, 3)

    assert log.records == []


def test_a_flood_is_counted_by_task_and_reason(log: pytest.LogCaptureFixture) -> None:
    failures = FailureLog(LOG)
    for n in range(42):
        failures.note([failed(f"a{n}")], n / 10, 3)
    failures.note([failed("b", task="other"), failed("c", reason="timeout")], 5.0, 3)
    failures.note([failed("d", End.BURY)], 6.0, 3)
    assert len(log.records) == 5 + 3

    failures.note([], 9.9, 3)
    assert len(log.records) == 8
    failures.note([], 10.0, 3)
    failures.note([], 20.0, 3)

    assert [r.getMessage() for r in log.records[8:]] == [
        "37 more in the last 10 s: jobs of import_row failed (failed)"
    ]
    failures.note([failed("e")], 21.0, 3)
    assert "job e failed" in log.records[-1].getMessage()


def test_what_was_left_out_is_told_at_the_end(log: pytest.LogCaptureFixture) -> None:
    reporter = EventLog()

    reporter.listen(Turned([failed() for _ in range(9)], 0, 0, 0.1))
    reporter.listen(Stopped(0, 0))

    assert any("4 more in the last" in line for line in log.messages)


def test_any_number_of_tasks_and_reasons_is_bounded(log: pytest.LogCaptureFixture) -> None:
    failures = FailureLog(LOG)

    failures.note([failed(task=f"t{n}") for n in range(10_000)], 0.0, 3)
    lines = len(log.records)
    failures.flush(10.0)

    assert lines == 105
    assert [r.getMessage() for r in log.records[lines:]] == [
        "9895 more in the last 10 s: jobs of other tasks failed (several reasons)"
    ]


def test_names_cannot_forge_a_line(log: pytest.LogCaptureFixture) -> None:
    outcome = failed(task="x\n2026 ERROR forged\x1b[2J" + "y" * 500)
    outcome.job = job("a1", group=b"g\n\xff\x1b")

    FailureLog(LOG).note([outcome], 0.0, 3)

    (record,) = log.records
    for text in (record.getMessage(), vars(record)["task"], vars(record)["group"]):
        assert text.isprintable()
        assert len(text) <= 200


def fail_plainly(a: str) -> None:
    raise ValueError(a)


def fail_for_good(a: str) -> None:
    raise PermanentError(a)


def ask_for_later(a: str) -> None:
    raise RetryLater(1, a)


class UnreadableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def fail_unreadably(a: str) -> None:
    raise UnreadableError(a)


@pytest.mark.parametrize(
    ("handler", "line"),
    [
        (fail_plainly, "failed: ValueError at attempt 2 of 3"),
        (fail_for_good, "is dead (permanent): PermanentError at attempt 2 of 3"),
        (fail_unreadably, "failed: UnreadableError at attempt 2 of 3"),
        (ask_for_later, None),
    ],
)
def test_what_a_handler_raises_is_named_and_not_quoted(
    handler: Callable[[str], None], line: str | None, log: pytest.LogCaptureFixture
) -> None:
    registry = Registry()
    registry.task(name="t", max_attempts=3)(handler)
    loop, timekeeper = HandlerLoop(), Timekeeper()
    runner = Runner(registry, Ownership(0, "n", 1), loop, timekeeper)
    try:
        outcome = runner.run(job())
    finally:
        timekeeper.stop()
        loop.stop()

    FailureLog(LOG).note([outcome], 0.0, 3)

    assert SECRET not in log.text
    assert [line is not None and line in message for message in log.messages] == [True] * bool(line)
