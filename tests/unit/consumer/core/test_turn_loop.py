"""Turns over a partition in memory, with workers that begin a job when the test says so."""

from collections.abc import Sequence

from consumer.core.effects import Call, Steps
from consumer.core.jobs import ClaimedJob, Outcome
from consumer.core.liveness import Liveness
from consumer.core.owner import Core
from consumer.core.turn_loop import TurnLoop
from consumer.settings import ConsumerSettings
from queuepool.partitions.partition import OwnedPartition
from queuepool.testing import FakeClock, MemoryPool


class SlowWorkers:
    """Threads that were woken and have not got the interpreter yet."""

    alive = target = 4
    start_until_s = 0.0
    spare = 0

    def __init__(self) -> None:
        self.waiting: list[ClaimedJob] = []
        self.withdrawn: list[ClaimedJob] = []

    @property
    def queued(self) -> int:
        return len(self.waiting)

    def resize(self, target: int) -> None:
        """Stay as many."""

    def submit(self, jobs: Sequence[ClaimedJob]) -> None:
        self.waiting += jobs

    def withdraw(self) -> list[ClaimedJob]:
        taken, self.waiting = self.waiting, []
        self.withdrawn += taken
        return taken

    def take_ended(self) -> list[Outcome]:
        return []


def test_a_job_just_handed_to_idle_workers_is_not_taken_back_at_once() -> None:
    clock = FakeClock()
    pool, workers = MemoryPool(clock=clock), SlowWorkers()
    bell = pool.server.doorbell(pool.partition(0).key)
    owned = pool.partition(0).acquire(lease_s=10, host="test:1")
    assert isinstance(owned, OwnedPartition)
    core = Core(owned.acquired, ConsumerSettings(), workers=4, now_s=clock())
    turns = TurnLoop(
        core,
        workers,
        bell,
        liveness=Liveness(clock(), clock()),
        emit=lambda _: None,
        clock=clock,
        draw=lambda: 0.5,
    )
    clock.advance(5)  # nothing has ended for long
    pool.enqueue("t", {}, partition_key="g")
    while not workers.waiting:
        _run(turns.turn(), owned)
        clock.advance(0.001)

    _run(turns.turn(), owned)

    assert (len(workers.waiting), workers.withdrawn) == (1, [])
    clock.advance(1)  # no worker begins it: someone else may
    _run(turns.turn(), owned)
    assert len(workers.withdrawn) == 1


def _run(steps: Steps[float], owned: OwnedPartition) -> None:
    answer = None
    try:
        while True:
            effect = steps.send(answer)
            assert isinstance(effect, Call)
            answer = owned.turn(effect.verbs)
    except StopIteration:
        return
