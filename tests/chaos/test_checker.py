"""The checker finds what it is there for: fed a lost, a doubled, an overlapping job, it fails."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from queuepool.models import JobState
from tests.chaos.checker import Books, Events, Run, Strike, Verdict, check

S = 1_000_000_000  # ns
OWNER, SUCCESSOR = 10, 20


def run(job: str, began_s: float, ended_s: float | None, pid: int = OWNER, attempt: int = 1) -> Run:
    ended_ns = None if ended_s is None else int(ended_s * S)
    return Run(job, pid, attempt, int(began_s * S), ended_ns)


def books(states: Mapping[str, JobState], **counters: int) -> Books:
    done = sum(state is JobState.DONE for state in states.values())
    return Books(
        counters={"enqueued": len(states), "done": done} | counters,
        states=states,
        dead=sum(state is JobState.DEAD for state in states.values()),
        left=sum(state in (JobState.READY, JobState.IN_FLIGHT) for state in states.values()),
    )


def judge(
    runs: Sequence[Run],
    strikes: Sequence[Strike] = (),
    states: Mapping[str, JobState] | None = None,
    more_starts: int = 0,
    lost_allowed: int = 0,
    **counters: int,
) -> Verdict:
    known = states or DONE
    events = Events(dict.fromkeys(known, 0), runs)
    return check(
        events,
        books(known, **counters),
        strikes,
        more_starts=more_starts,
        lost_allowed=lost_allowed,
    )


DONE = dict.fromkeys(("a", "b"), JobState.DONE)
GOOD = [run("a", 1, 2), run("b", 1, 2)]


def test_what_went_well_has_no_violation() -> None:
    assert judge(GOOD) == Verdict(jobs=2)


def test_an_accepted_job_that_is_nowhere_is_lost() -> None:
    verdict = judge(GOOD[:1], states={"a": JobState.DONE, "b": JobState.UNKNOWN}, done=1)

    assert verdict.lost == ("b",)
    assert "lost: 1 (b), 0 allowed" in verdict.violations
    assert "lost: 1 jobs were enqueued and are in no book" in verdict.violations


def test_a_loss_that_the_fault_may_cost_is_told_and_allowed() -> None:
    # A failover takes the counters back with the jobs.
    states = {"a": JobState.DONE, "b": JobState.UNKNOWN}

    verdict = judge(GOOD[:1], states=states, lost_allowed=1, enqueued=1)

    assert (verdict.lost, verdict.violations) == (("b",), ())


def test_a_dead_job_is_not_lost() -> None:
    states = {"a": JobState.DONE, "b": JobState.DEAD}

    assert judge([*GOOD[:1], run("b", 1, None)], states=states).violations == ()


def test_a_job_that_ended_and_is_forgotten_is_not_lost() -> None:
    assert judge(GOOD, states=dict.fromkeys("ab", JobState.UNKNOWN), done=2).violations == ()


@pytest.mark.parametrize("state", [JobState.READY, JobState.IN_FLIGHT])
def test_a_job_that_never_ends_is_stuck(state: JobState) -> None:
    verdict = judge(GOOD[:1], states={"a": JobState.DONE, "b": state})

    assert verdict.lost == ()
    assert verdict.violations == ("stuck: 1 (b) accepted and not ended",)


def test_a_job_that_is_done_without_having_run_is_found() -> None:
    assert any("never run: 1 (b)" in text for text in judge(GOOD[:1]).violations)


@pytest.mark.parametrize("counters", [{"done": 3}, {"cancelled": 1}, {"done": 3, "enqueued": 3}])
def test_a_job_that_ends_twice_in_the_books_is_found(counters: dict[str, int]) -> None:
    final = replace(books(DONE), counters={"enqueued": 2, "done": 2} | counters)

    verdict = check(Events(dict.fromkeys("ab", 0), GOOD), final)

    assert verdict.terminals == 1
    assert verdict.violations[0].startswith("doubled: 1 ends more than jobs")


def test_a_job_that_began_twice_without_a_reason_is_found() -> None:
    verdict = judge([*GOOD, run("a", 3, 4, SUCCESSOR)])

    assert verdict.starts == 1
    assert verdict.violations == ("duplicate start: a began in process 10 and 2.000 s later in 20",)


def test_a_retry_is_no_duplicate_start() -> None:
    runs = [run("a", 1, None), run("a", 2, 3, attempt=2), GOOD[1]]

    assert judge(runs) == Verdict(jobs=2)


def test_what_ran_at_a_kill_may_begin_again() -> None:
    kill = Strike(pid=OWNER, at_ns=2 * S, book=frozenset("a"), takeover_s=2)
    runs = [run("a", 1, None), run("b", 0.5, 1.9), run("a", 3, 4, SUCCESSOR)]

    verdict = judge(runs, [kill])

    assert (verdict.starts, verdict.starts_allowed, verdict.violations) == (1, 1, ())
    assert verdict.takeovers_s == (1.0,)


def test_what_was_acknowledged_before_a_kill_may_not_begin_again() -> None:
    kill = Strike(pid=OWNER, at_ns=2 * S, book=frozenset("a"))
    runs = [run("a", 1, None), run("b", 0.5, 1.9), *(run(j, 3, 4, SUCCESSOR) for j in "ab")]

    verdict = judge(runs, [kill])

    assert (verdict.starts, verdict.starts_allowed) == (2, 1)
    assert [text[:18] for text in verdict.violations] == ["duplicate start: b"]


def test_a_kill_of_one_process_excuses_nothing_of_another() -> None:
    kill = Strike(pid=99, at_ns=2 * S, book=frozenset("a"))

    assert judge([*GOOD, run("a", 3, 4, SUCCESSOR)], [kill]).violations != ()


def test_the_fault_may_allow_further_starts_and_not_more() -> None:
    runs = [*GOOD, run("a", 3, 4, SUCCESSOR)]

    assert judge(runs, more_starts=1).violations == ()
    assert len(judge([*runs, run("b", 3, 4, SUCCESSOR)], more_starts=1).violations) == 2


@pytest.mark.parametrize("ended_s", [2.0, None])
def test_two_executions_at_once_are_found(ended_s: float | None) -> None:
    runs = [run("a", 1, ended_s), run("a", 1.5, 3, SUCCESSOR), GOOD[1]]

    # More starts are allowed here, so that only the overlap is left to be found.
    verdict = judge(runs, more_starts=1)

    assert verdict.violations == ("overlapping: a ran in 10 and in 20 at once",)


def test_a_zombie_may_overlap_from_its_stop_on_and_not_before() -> None:
    book = frozenset("a")
    runs = [run("a", 1, 9), GOOD[1], run("a", 5, 6, SUCCESSOR)]

    assert judge(runs, [Strike(pid=OWNER, at_ns=2 * S, book=book)]).violations == ()
    later = judge(runs, [Strike(pid=OWNER, at_ns=6 * S, book=book)])
    assert "overlapping: a ran in 10 and in 20 at once" in later.violations


def test_a_start_after_the_lease_is_found_until_the_fault_is_over() -> None:
    strike = Strike(pid=OWNER, at_ns=0, lease_s=1.5, over_ns=5 * S)
    allowed = [run("a", 1.4, 1.6), run("b", 5.1, 6)]

    assert judge(allowed, [strike]).violations == ()
    verdict = judge([run("a", 1.6, 1.7), allowed[1]], [strike])
    assert verdict.violations == ("untimely: 1 (a) begun by 10 after its lease",)


@pytest.mark.parametrize(
    ("successor_s", "text"), [(None, "no takeover: nobody"), (4.5, "late takeover of 10: 2.50 s")]
)
def test_a_takeover_that_is_late_or_missing_is_found(successor_s: float | None, text: str) -> None:
    kill = Strike(pid=OWNER, at_ns=2 * S, book=frozenset(), takeover_s=2)
    b = run("b", 1, 3) if successor_s is None else run("b", successor_s, 5, SUCCESSOR)

    assert judge([GOOD[0], b], [kill]).violations[0].startswith(text)


def test_who_takes_over_when_all_is_done_has_nothing_to_run() -> None:
    kill = Strike(pid=OWNER, at_ns=3 * S, book=frozenset(), takeover_s=2)

    verdict = judge([GOOD[0], run("b", 1, 2)], [kill])

    assert (verdict.violations, verdict.takeovers_s) == ((), ())


def test_what_an_audit_found_is_a_violation() -> None:
    events = Events({"a": 0}, [run("a", 1, 2)])
    final = Books(
        counters={"enqueued": 1, "done": 1}, states={"a": JobState.DONE}, problems=("orphan",)
    )

    assert check(events, final).violations == ("orphan",)
