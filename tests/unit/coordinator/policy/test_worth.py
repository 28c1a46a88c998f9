"""What reports of ended jobs say about how much work they were."""

from __future__ import annotations

from coordinator.policy.worth import Worth
from queuepool.models.work import EndedWork


def told(*reports: EndedWork | None) -> Worth:
    worth = Worth()
    for report in reports:
        worth = worth.observe(report)
    return worth


FIRST = EndedWork(1_000, 400.0, 400.0)


def test_a_job_counts_as_the_latest_report_says() -> None:
    worth = told(FIRST, EndedWork(1_100, 420.0, 430.0))

    assert (worth.share, worth.slower) == (0.2, 1.5)
    assert not worth.as_usual
    assert told(FIRST, EndedWork(1_100, 420.0, 422.0)).as_usual


def test_without_a_report_every_job_counts_as_one_and_nothing_is_usual() -> None:
    for worth in (told(), told(None), told(FIRST), told(FIRST, FIRST), told(FIRST, None)):
        assert (worth.share, worth.as_usual) == (1.0, False)


def test_a_new_consumer_begins_at_nothing() -> None:
    worth = told(FIRST, EndedWork(1_100, 420.0, 430.0), EndedWork(5, 5.0, 5.0))

    assert (worth.share, worth.slower) == (0.2, 1.5)
    assert told(FIRST, EndedWork(10, 5.0, 5.0), EndedWork(20, 15.0, 15.0)).share == 1.0


def test_a_damaged_report_counts_no_job_as_more_than_one() -> None:
    assert told(FIRST, EndedWork(1_001, 10.0**12, 0.0)).share == 1.0
