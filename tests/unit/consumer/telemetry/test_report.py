"""What a consumer's log says of the jobs that its predecessor left."""

from __future__ import annotations

import logging

import pytest

from consumer.core import events
from consumer.telemetry.report import EventLog
from queuepool.verbs.owner.replies import Recovered


def lines(caplog: pytest.LogCaptureFixture, found: Recovered) -> list[logging.LogRecord]:
    with caplog.at_level(logging.INFO, logger="consumer"):
        EventLog().listen(events.RecoveredJobs(found))
    return caplog.records


def test_a_job_that_kept_killing_its_consumers_has_a_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    summary, dead = lines(caplog, Recovered(0, 2, 3, 0, (b"-j1",)))

    assert (summary.levelname, dead.levelname) == ("WARNING", "ERROR")
    assert summary.getMessage() == (
        "recovered 2 jobs of a dead owner (3 had been running, 1 were buried, 0 cancelled)"
    )
    assert dead.getMessage().startswith("job -j1 is dead (crashed): ")
    assert (vars(dead)["job"], vars(dead)["reason"]) == ("-j1", "crashed")


def test_of_very_many_the_first_have(caplog: pytest.LogCaptureFixture) -> None:
    found = lines(caplog, Recovered(0, 0, 200, 0, tuple(b"j%d" % n for n in range(200))))

    assert "200 were buried" in found[0].getMessage()
    assert [vars(line)["job"] for line in found[1:]] == [f"j{n}" for n in range(5)]


def test_a_recovery_that_found_nothing_has_no_line(caplog: pytest.LogCaptureFixture) -> None:
    assert lines(caplog, Recovered(0, 0, 0, 0)) == []
