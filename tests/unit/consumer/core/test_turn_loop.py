"""Turns over a partition in memory, with workers that begin a job when the test says so."""

from collections.abc import Callable, Sequence

from consumer.core.effects import Call, Sleep
from consumer.core.jobs import DONE, HAND_BACK, ClaimedJob, Outcome
from consumer.core.liveness import Liveness
from consumer.core.outages import Outages
from consumer.core.owner import Core
from consumer.core.turn_loop import TurnLoop
from consumer.settings import ConsumerSettings
from queuepool.partitions.partition import OwnedPartition
from queuepool.testing import FakeClock, MemoryPool


class SlowWorkers:
    """Threads that were woken and have not got the interpreter yet."""

    alive = target = 4
    start_until_s = 0.0
    late = False
    spare = 0

    def __init__(self) -> None:
        self.waiting: list[ClaimedJob] = []
        self.withdrawn: list[ClaimedJob] = []
        self.running: list[ClaimedJob] = []
        self.ended: list[Outcome] = []

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
        ended, self.ended = self.ended, []
        return ended

    def stopped(self) -> bool:
        return self.late

    def begin(self, job: ClaimedJob) -> None:
        """Start a job that waits."""
        self.waiting.remove(job)
        job.started_s = 1.0
        self.running.append(job)

    def end_all(self) -> None:
        """End what runs."""
        self.ended += [Outcome(job, DONE, 1.0, 1.0) for job in self.running]
        self.running = []

    def refuse(self, job: ClaimedJob) -> None:
        """Refuse a job, and all that wait behind it: the lease may be over."""
        self.late = True
        refused = (
            [job, *self.waiting[self.waiting.index(job) + 1 :]] if job in self.waiting else [job]
        )
        self.waiting = [other for other in self.waiting if other not in refused]
        self.ended += [Outcome(one, HAND_BACK, 1.0, 1.0) for one in refused]


class Stage:
    """An owner of a partition in memory, its loop and its workers."""

    def __init__(self, workers: SlowWorkers) -> None:
        self.clock = FakeClock()
        self.pool, self.workers = MemoryPool(clock=self.clock), workers
        owned = self.pool.partition(0).acquire(lease_s=10, host="test:1")
        assert isinstance(owned, OwnedPartition)
        self.owned = owned
        self.core = Core(owned.acquired, ConsumerSettings(), workers=4, now_s=self.clock())
        self.turns = TurnLoop(
            self.core,
            workers,
            self.pool.server.doorbell(self.pool.partition(0).key),
            liveness=Liveness(self.clock(), self.clock()),
            outages=Outages(10.0, self.clock),
            emit=lambda _: None,
            clock=self.clock,
            draw=lambda: 0.5,
        )
        self.sent: list[list[str]] = []  # the scripts of each turn

    def turn(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Take a turn; meanwhile: what happens while it waits for the server."""
        steps, answer = self.turns.turn(), None
        try:
            while True:
                effect = steps.send(answer)
                assert isinstance(effect, Call)
                self.sent.append([verb.script for verb in effect.verbs])
                answer = self.owned.turn(effect.verbs)
                meanwhile()
        except StopIteration:
            return


def test_a_job_just_handed_to_idle_workers_is_not_taken_back_at_once() -> None:
    stage = Stage(SlowWorkers())
    workers = stage.workers
    stage.clock.advance(5)  # nothing has ended for long
    stage.pool.enqueue("t", {}, partition_key="g")
    while not workers.waiting:
        stage.turn()
        stage.clock.advance(0.001)

    stage.turn()

    assert (len(workers.waiting), workers.withdrawn) == (1, [])
    stage.clock.advance(1)  # no worker begins it: someone else may
    stage.turn()
    assert len(workers.withdrawn) == 1


def test_no_job_overtakes_one_that_came_too_late_to_start() -> None:
    """It is refused while a claim is on its way, whose jobs go back with it, in their order."""
    stage = Stage(SlowWorkers())
    workers = stage.workers
    ids = [stage.pool.enqueue("t", {}, partition_key="g").job_id.encode() for _ in range(9)]
    while not workers.waiting:
        stage.turn()
    first = [job.id for job in workers.waiting]
    assert first == ids[: len(first)] != ids
    for job in workers.waiting[:2]:
        workers.begin(job)
    workers.end_all()  # so there is room, and the next turn claims

    stage.turn(lambda: workers.refuse(workers.waiting[0]))

    assert "claim" in stage.sent[-1]
    assert workers.stopped()
    while workers.stopped() or not workers.waiting:
        stage.turn()
    assert [job.id for job in workers.waiting] == ids[2 : 2 + len(workers.waiting)]
    returns = [scripts for scripts in stage.sent if "hand_back" in scripts]
    assert returns
    assert all("claim" not in scripts for scripts in returns)


def test_nothing_is_claimed_or_goes_back_while_a_worker_is_about_to_refuse_a_job() -> None:
    """Jobs that went back before it would be behind it."""
    stage = Stage(SlowWorkers())
    workers = stage.workers
    ids = [stage.pool.enqueue("t", {}, partition_key="g").job_id.encode() for _ in range(4)]
    while len(workers.waiting) < 4:
        stage.turn()
    stage.turn()  # promotes, if it has not yet
    third = workers.waiting.pop(2)  # a worker has it, and has not looked at the time yet
    stage.sent = []
    workers.refuse(workers.waiting[0])
    for _ in range(5):
        stage.turn()
        stage.clock.advance(0.01)
    assert not {"hand_back", "claim"} & {script for scripts in stage.sent for script in scripts}
    assert workers.stopped()

    workers.refuse(third)
    while not workers.waiting:
        stage.turn()
    assert not workers.stopped()
    assert [job.id for job in workers.waiting] == ids


def test_jobs_stay_in_memory_while_a_claim_is_armed() -> None:
    """It may have been carried out: its jobs would come to be in front of those."""
    stage = Stage(SlowWorkers())
    workers = stage.workers
    stage.pool.enqueue("t", {}, partition_key="g")
    while not workers.waiting:
        stage.turn()
    while stage.core.due_s(stage.clock()) == 0:
        stage.turn()
    steps = stage.turns.sleep(1.0)
    assert isinstance(next(steps), Sleep)
    assert stage.core.armed is not None
    stage.clock.advance(1)

    stage.turn()
    assert workers.withdrawn == []
    stage.core.cancel_armed()
    stage.turn()
    assert len(workers.withdrawn) == 1
