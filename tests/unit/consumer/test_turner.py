"""Turns over a partition in memory, with workers that begin a job when the test says so."""

from collections.abc import Sequence
from typing import Any

import pytest

from consumer.core.jobs import Claimed, Outcome
from consumer.core.owner import Core
from consumer.loop import turn_loop as turner
from consumer.loop.liveness import Pulse
from consumer.loop.turn_loop import Turner
from consumer.settings import ConsumerSettings
from queuepool.partitions.partition import OwnedPartition
from queuepool.testing import FakeClock, MemoryPool


class SlowWorkers:
    """Threads that were woken and have not got the interpreter yet."""

    alive = target = 4

    def __init__(self) -> None:
        self.waiting: list[Claimed] = []
        self.withdrawn: list[Claimed] = []
        self.ended: list[Outcome] = []

    @property
    def queued(self) -> int:
        return len(self.waiting)

    def submit(self, jobs: Sequence[Claimed]) -> None:
        self.waiting += jobs

    def withdraw(self) -> list[Claimed]:
        taken, self.waiting = self.waiting, []
        self.withdrawn += taken
        return taken

    def take_ended(self) -> list[Outcome]:
        ended, self.ended = self.ended, []
        return ended


class Nothing:
    """A bell that never rings, and a runner that runs nothing."""

    start_until_s = 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock()
    monkeypatch.setattr(turner, "monotonic", clock)
    return clock


def test_a_job_just_handed_to_idle_workers_is_not_taken_back_at_once(clock: FakeClock) -> None:
    pool, workers = MemoryPool(clock=clock), SlowWorkers()
    owned = pool.partition(0).acquire(lease_s=10, host="test:1")
    assert isinstance(owned, OwnedPartition)
    core = Core(owned.acquired, ConsumerSettings(), workers=4, now_s=clock())
    bell: Any = Nothing()
    turns = Turner(
        core, owned, workers, bell, lambda _: None, Pulse(clock(), clock()), bell  # type: ignore[arg-type]
    )  # fmt: skip
    clock.advance(5)  # nothing has ended for long
    pool.enqueue("t", {}, partition_key="g")
    while not workers.waiting:
        turns.turn()
        clock.advance(0.001)

    turns.turn()

    assert (len(workers.waiting), workers.withdrawn) == (1, [])
    clock.advance(1)  # no worker begins it: somebody else may
    turns.turn()
    assert len(workers.withdrawn) == 1
