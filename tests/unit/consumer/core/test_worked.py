"""What a consumer reports of executions that ended."""

from __future__ import annotations

from consumer.core.jobs import End, Outcome, claimed
from consumer.core.worked import Worked
from queuepool.models.work import EndedWork
from queuepool.verbs.owner.limit_uses import read_limit_uses, read_work


def ended(end: End, task: str, took_s: float, ended_s: float = 9.0) -> Outcome:
    return Outcome(claimed(b"1", b"", 1, 0, 0, 0.0), end, ended_s - took_s, ended_s, task=task)


def test_nothing_is_reported_until_something_has_ended() -> None:
    worked = Worked()
    worked.on_ended([])
    worked.on_ended([ended(End.HAND_BACK, "", 0.0)])

    assert worked.text() == ""
    assert read_work(b"") is None


def test_every_end_of_an_execution_counts() -> None:
    worked = Worked()
    worked.on_ended([ended(End.DONE, "mail", 0.5), ended(End.RETRY, "mail", 0.5)])

    assert read_work(worked.text().encode()) == EndedWork(2, 2.0, 2.0)


def test_of_many_that_end_together_a_sample_counts_for_all() -> None:
    worked = Worked()
    worked.on_ended([ended(End.DONE, "mail", 0.001) for _ in range(1_000)])

    assert read_work(worked.text().encode()) == EndedWork(1_000, 1_000.0, 1_000.0)


def test_nothing_is_counted_twice_or_forgotten_however_rarely_it_is_reported() -> None:
    worked = Worked()
    for _ in range(1_234):
        worked.on_ended([ended(End.DONE, "mail", 0.1)])

    assert read_work(worked.text().encode()) == EndedWork(1_234, 1_234.0, 1_234.0)
    assert read_work(worked.text().encode()) == EndedWork(1_234, 1_234.0, 1_234.0)
    assert len(worked._uncounted) == 0


def test_limits_are_read_beside_it_and_without_it() -> None:
    uses = b"12 20000 5307 2653500 smtp"
    for text in (uses, b"=1 2 3," + uses):
        assert [one.name for one in read_limit_uses(text)] == ["smtp"]
    assert read_work(uses) is None
    assert read_work(b"=1 x 3," + uses) is None
    assert read_work(b"=1 2000 3000," + uses) == EndedWork(1, 2.0, 3.0)
