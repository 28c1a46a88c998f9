"""Refused calls in the log: the first of a kind, then how many were left out."""

import logging

import pytest

from coordinator.api.library_logs import quieten
from coordinator.api.refusals import LINES, Refusals


def test_the_first_of_each_kind_have_a_line_and_the_rest_are_counted() -> None:
    refusals = Refusals[str]()
    assert not refusals.begun()

    told = {kind: [refusals.note(kind) for _ in range(LINES + 3)] for kind in "ab"}

    assert told == dict.fromkeys("ab", [True] * LINES + [False] * 3)
    assert refusals.begun()
    assert refusals.end_window() == [("a", 3), ("b", 3)]


def test_a_window_begins_anew() -> None:
    refusals = Refusals[str]()
    for _ in range(LINES):
        refusals.note("a")

    assert refusals.end_window() == []
    assert not refusals.begun()
    assert refusals.note("a")


def test_what_grpc_logs_of_its_callers_is_short_printable_and_seldom(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRPC_VERBOSITY", "INFO")  # a user's own stays
    logger = logging.getLogger("grpc._cython.cygrpc")
    monkeypatch.setattr(logger, "filters", [])
    quieten()
    quieten()

    for _ in range(100):
        logger.error("Unexpected [%s]", "a\n\x1b[31m" + "x" * 100_000)

    assert len(logger.filters) == 1
    assert len(caplog.messages) == LINES
    assert all(m.isprintable() and len(m) < 400 for m in caplog.messages)
