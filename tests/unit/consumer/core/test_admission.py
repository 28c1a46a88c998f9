"""Jobs that take several slots wait for all of them, and are not starved by light jobs."""

import random

from consumer.core.admission import Admission
from consumer.core.jobs import ClaimedJob, claimed


def job(name: str) -> ClaimedJob:
    return claimed(name.encode(), b"", 1, 0, 0, 0.0)


class Bench:
    """Jobs are named by their slots: `2x` takes two."""

    def __init__(self, target: int) -> None:
        self.admission = Admission()
        self.admission.target = target
        self.jobs: dict[str, ClaimedJob] = {}

    def submit(self, *names: str) -> list[str]:
        for name in names:
            self.jobs[name] = job(name)
            self.admission.submit(self.jobs[name], int(name[0]))
        return self.enter()

    def enter(self) -> list[str]:
        return [each.id.decode() for each in self.admission.admit()]

    def left(self, *names: str) -> list[str]:
        self.admission.left([self.jobs[name] for name in names])
        return self.enter()


def test_light_jobs_are_admitted_at_once_even_beyond_the_slots() -> None:
    bench = Bench(target=2)

    assert bench.submit("1a", "1b", "1c") == ["1a", "1b", "1c"]
    assert (bench.admission.waiting, bench.admission.beyond) == (0, 0)


def test_a_heavy_job_takes_all_its_slots() -> None:
    bench = Bench(target=4)

    assert bench.submit("3a", "1b", "1c") == ["3a", "1b"]
    assert (bench.admission.waiting, bench.admission.beyond) == (1, 2)
    assert bench.left("1b") == ["1c"]
    assert bench.left("3a") == []
    assert bench.admission.beyond == 0


def test_no_job_overtakes_a_heavy_one_that_waits() -> None:
    bench = Bench(target=4)
    bench.submit("1a", "1b")

    assert bench.submit("4c", "1d") == []
    assert bench.admission.waiting == 1  # the light one, behind the heavy one
    assert bench.left("1a") == []
    assert bench.left("1b") == ["4c"]
    assert bench.left("4c") == ["1d"]


def test_a_job_that_needs_more_slots_than_there_are_takes_all() -> None:
    bench = Bench(target=2)

    assert bench.submit("1a", "9b") == ["1a"]
    assert bench.left("1a") == ["9b"]
    assert bench.submit("1c") == []
    assert bench.left("9b") == ["1c"]


def test_added_slots_admit_the_next_jobs() -> None:
    bench = Bench(target=2)
    bench.submit("2a", "2b")

    bench.admission.target = 4

    assert bench.enter() == ["2b"]


def test_waiting_jobs_can_be_taken_back() -> None:
    bench = Bench(target=2)
    bench.submit("2a", "2b", "1c")

    assert [each.id for each in bench.admission.withdraw()] == [b"2b", b"1c"]
    assert (bench.admission.waiting, bench.admission.beyond) == (0, 1)
    assert bench.left("2a") == []


def test_all_are_admitted_in_order_and_heavy_jobs_stay_within_the_slots() -> None:
    dice = random.Random(7)
    for _ in range(200):
        target = dice.randint(1, 6)
        bench = Bench(target)
        names = [f"{dice.randint(1, 7)}-{n}" for n in range(30)]
        inside: list[str] = []
        entered: list[str] = []
        left = list(names)
        while left or inside:
            if left and dice.random() < 0.5:
                new = bench.submit(left.pop(0))
            else:
                leaves = dice.choice(inside) if inside else None
                new = bench.left(leaves) if leaves else bench.enter()
                inside = [name for name in inside if name != leaves]
            inside += new
            entered += new
            heavy = [int(name[0]) for name in inside if name[0] != "1"]
            light = len(inside) - len(heavy)
            if heavy and light == 0:
                assert sum(min(slots, target) for slots in heavy) <= target
        assert entered == names
