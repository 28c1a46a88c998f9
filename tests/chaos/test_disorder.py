"""What counts as a group's jobs out of order, and what a kill excuses."""

from tests.chaos.checker import Run, Strike
from tests.chaos.disorder import disorder

OWNER, SUCCESSOR = 10, 20


def runs(*numbers: int, pid: int = OWNER, from_ns: int = 0) -> list[Run]:
    return [Run(f"job-{n}", pid, 1, from_ns + at, None) for at, n in enumerate(numbers)]


def kill(*started: int, at_ns: int = 50) -> Strike:
    ids = frozenset(f"job-{n}" for n in started)
    return Strike(pid=OWNER, at_ns=at_ns, book=ids, started=ids)


def test_order_within_each_group_is_kept_and_between_groups_does_not_matter() -> None:
    assert disorder(runs(1, 0, 3, 2, 5, 4), [], groups=2) == []


def test_a_job_after_a_later_one_of_its_group_is_out_of_order() -> None:
    found = disorder(runs(0, 4, 2, 6), [], groups=2)

    assert found == ["out of order: group 0 began job 2 after 4"]


def test_more_than_three_are_counted() -> None:
    found = disorder(runs(8, 6, 4, 2, 0), [], groups=2)

    assert found[3:] == ["and 1 more out of order"]


def test_only_the_first_begin_counts() -> None:
    assert disorder(runs(0, 2) + runs(0, 4, pid=SUCCESSOR, from_ns=100), [], groups=2) == []


def test_a_job_that_was_started_at_a_kill_may_begin_again_beside_later_ones() -> None:
    again = runs(0) + runs(4, 2, 6, pid=SUCCESSOR, from_ns=100)

    assert disorder(again, [kill(2)], groups=2) == []
    assert disorder(again, [kill(4)], groups=2) == []
    assert len(disorder(again, [kill(6)], groups=2)) == 1
    assert len(disorder(again, [kill()], groups=2)) == 1


def test_a_kill_excuses_nothing_that_began_before_it_or_in_its_own_process() -> None:
    before = runs(4, 2, pid=SUCCESSOR)
    own = runs(4, 2, from_ns=100)

    assert len(disorder(before, [kill(2)], groups=2)) == 1
    assert len(disorder(own, [kill(2)], groups=2)) == 1


def test_jobs_of_other_prefixes_are_left_out() -> None:
    others = [Run("at-1~2", OWNER, 1, 0, None), Run("wake-1~0", OWNER, 1, 1, None)]

    assert disorder([*others, *runs(1, 3)], [], groups=2) == []
