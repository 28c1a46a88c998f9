"""Jobs that take several places: they wait for all of them, and none overtakes them forever."""

import random

from consumer.core.gate import Gate
from consumer.core.jobs import ClaimedJob, claimed


def job(name: str) -> ClaimedJob:
    return claimed(name.encode(), b"", 1, 0, 0, 0.0)


class Bench:
    """A gate whose jobs are named; `2x` is a heavy one of two places, and so on."""

    def __init__(self, target: int) -> None:
        self.gate = Gate()
        self.gate.target = target
        self.jobs: dict[str, ClaimedJob] = {}

    def submit(self, *names: str) -> list[str]:
        for name in names:
            self.jobs[name] = job(name)
            self.gate.submit(self.jobs[name], int(name[0]))
        return self.enter()

    def enter(self) -> list[str]:
        return [each.id.decode() for each in self.gate.enter()]

    def left(self, *names: str) -> list[str]:
        self.gate.left([self.jobs[name] for name in names])
        return self.enter()


def test_light_jobs_enter_as_they_come_also_those_that_will_wait_inside() -> None:
    bench = Bench(target=2)

    assert bench.submit("1a", "1b", "1c") == ["1a", "1b", "1c"]
    assert (bench.gate.waiting, bench.gate.beyond) == (0, 0)


def test_a_heavy_job_takes_all_its_places() -> None:
    bench = Bench(target=4)

    assert bench.submit("3a", "1b", "1c") == ["3a", "1b"]
    assert (bench.gate.waiting, bench.gate.beyond) == (1, 2)
    assert bench.left("1b") == ["1c"]
    assert bench.left("3a") == []
    assert bench.gate.beyond == 0


def test_nobody_passes_a_heavy_job_that_waits() -> None:
    bench = Bench(target=4)
    bench.submit("1a", "1b")

    assert bench.submit("4c", "1d") == []
    assert bench.gate.waiting == 1  # the heavy one waits for its places, the other for it
    assert bench.left("1a") == []
    assert bench.left("1b") == ["4c"]
    assert bench.left("4c") == ["1d"]


def test_a_job_that_takes_more_than_there_is_takes_all() -> None:
    bench = Bench(target=2)

    assert bench.submit("1a", "9b") == ["1a"]
    assert bench.left("1a") == ["9b"]
    assert bench.submit("1c") == []
    assert bench.left("9b") == ["1c"]


def test_places_that_are_added_let_the_next_ones_in() -> None:
    bench = Bench(target=2)
    bench.submit("2a", "2b")

    bench.gate.target = 4

    assert bench.enter() == ["2b"]


def test_those_that_wait_can_be_taken_back() -> None:
    bench = Bench(target=2)
    bench.submit("2a", "2b", "1c")

    assert [each.id for each in bench.gate.withdraw()] == [b"2b", b"1c"]
    assert (bench.gate.waiting, bench.gate.beyond) == (0, 1)
    assert bench.left("2a") == []


def test_however_they_come_and_go_all_enter_in_order_and_places_are_kept() -> None:
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
