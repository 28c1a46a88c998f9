"""The checker must fail when it is fed a lost, a doubled, an overlapping or a late job."""

from __future__ import annotations

import pytest

from consumer.core.jobs import End
from tests.simulation.checker import violations
from tests.simulation.journal import Execution, Journal, Terminal

JOB = b"job"


def ran(
    start_s: float,
    end_s: float | None = None,
    *,
    job_id: bytes = JOB,
    epoch: int = 1,
    end: End = End.DONE,
    left_s: float = 1.0,
    suspect: bool = False,
) -> Execution:
    """Return an execution."""
    over = None if end_s is None else end
    return Execution(job_id, epoch, start_s, left_s, suspect, end_s, over)


def journal(*executions: Execution, states: tuple[str, ...] = ("done",)) -> Journal:
    """Return a journal of one accepted job."""
    terminals = [Terminal(JOB, state, 10.0) for state in states]
    return Journal(
        accepted={JOB},
        stored=[JOB],
        executions=list(executions),
        terminals=terminals,
        epochs=[1, 2],
    )


def found(journal: Journal, *, lossless: bool = False) -> str:
    """Return all violations as one text."""
    return "; ".join(violations(journal, lossless=lossless))


def test_a_job_that_ran_and_ended_once_is_in_order() -> None:
    assert found(journal(ran(1, 2)), lossless=True) == ""


def test_a_retry_is_in_order() -> None:
    assert found(journal(ran(1, 2, end=End.RETRY), ran(3, 4)), lossless=True) == ""


def test_a_job_whose_owner_was_lost_may_run_again() -> None:
    book = journal(ran(1), ran(5, 6, epoch=2))
    book.lost_s[1] = 4.0

    assert found(book) == ""


@pytest.mark.parametrize(
    ("book", "word"),
    [
        (journal(ran(1, 2), states=()), "lost: b'job' never ended"),
        (journal(), "lost: b'job' is done and never ran"),
        (journal(ran(1, 2), states=("cancelled",)), "nobody asked"),
        (journal(ran(1, 2), states=("done", "done")), "doubled: b'job' ended 2 times"),
        (journal(ran(1, 2), ran(3, 4)), "doubled: b'job' began at 1.000"),
        (journal(ran(1, 2), ran(3, 4, epoch=2)), "doubled"),
        (journal(ran(1, 5), ran(3, 4)), "overlapping"),
        (journal(ran(1, 5), ran(3, 4, epoch=2)), "overlapping"),
        (journal(ran(1, 5, end=End.RETRY), ran(3, 4)), "overlapping"),
        (journal(ran(1, 2, left_s=-0.5)), "whose lease was over for 0.500 s"),
        (journal(ran(11, 12)), "after its end"),
        (journal(ran(1, 2), states=("crashed",)), "innocent"),
    ],
)
def test_what_must_not_be_is_found(book: Journal, word: str) -> None:
    assert word in found(book)


def test_an_accepted_job_that_was_never_stored_is_lost() -> None:
    book = journal(ran(1, 2))
    book.accepted.add(b"other")

    assert "lost: b'other' was accepted and never stored" in found(book)


def test_two_suspects_at_once_are_found() -> None:
    book = journal(ran(1, 3, suspect=True), ran(2, 4, job_id=b"x", suspect=True))

    assert "suspects b'job' and b'x' ran at once" in found(book)


def test_epochs_that_do_not_grow_are_found() -> None:
    book = journal(ran(1, 2))
    book.epochs += [2]

    assert "epochs do not grow" in found(book)


def test_a_target_out_of_bounds_is_found() -> None:
    book = journal(ran(1, 2))
    book.targets.append(("consumer-1", 99, 1, 64))

    assert "wants 99 workers" in found(book)


def test_jobs_of_a_lane_out_of_order_are_found_when_nothing_went_wrong() -> None:
    book = journal(ran(1, 2, job_id=b"x"), ran(2, 3))
    book.stored.append(b"x")
    book.terminals.append(Terminal(b"x", "done", 5.0))
    book.lane_of = {JOB: (2, "g"), b"x": (2, "g")}

    assert "out of order" in found(book, lossless=True)
    assert found(book) == ""
