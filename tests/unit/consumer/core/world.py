"""A core over a partition in memory, under a clock that the test moves; the test is the workers."""

from collections.abc import Sequence
from contextlib import suppress
from enum import Enum

from consumer.core.jobs import ClaimedJob, End, Outcome
from consumer.core.owner import Core
from consumer.core.turn import Turn
from consumer.settings import ConsumerSettings
from queuepool.errors import UnavailableError
from queuepool.partitions.partition import OwnedPartition
from queuepool.tasks.job import Job
from queuepool.testing import FakeClock, MemoryPool
from queuepool.testing.data import STARTED, PartitionData
from queuepool.verbs.leader import verbs as lead

LEASE_S = 10.0


class Fate(Enum):
    """What becomes of a turn."""

    ANSWERED = "answered"
    NEVER_SENT = "never sent"
    ANSWER_LOST = "answer lost"


class World:
    """One partition and the core that owns it. `running` is what the test has to end."""

    def __init__(self, *, workers: int = 4, **settings: object) -> None:
        self.clock = FakeClock()
        self.pool = MemoryPool(clock=self.clock)
        self.partition = self.pool.partition(0)
        sizes = {} if "pools" in settings else {"workers": workers, "max_workers": 4096}
        self.settings = ConsumerSettings(**{"lease_s": LEASE_S, **sizes, **settings})  # type: ignore[arg-type]
        self.leader = 1
        self.runs: list[bytes] = []  # every job that was started, in order
        self.take_over(workers)

    def take_over(self, workers: int | None = None) -> None:
        """Begin a new ownership, as a process that starts; what ran is forgotten."""
        acquired = self.partition.acquire(lease_s=LEASE_S, host="test:1")
        assert isinstance(acquired, OwnedPartition), acquired
        self.owned = acquired
        self.core = Core(
            acquired.acquired,
            self.settings,
            workers=workers or self.settings.workers,
            now_s=self.now,
        )
        self.running: list[ClaimedJob] = []
        self.reported: list[object] = []

    def crash(self) -> None:
        """Die, and be replaced when the lease is over."""
        self.clock.advance(LEASE_S + 0.1)
        self.take_over()

    @property
    def now(self) -> float:
        return self.clock()

    @property
    def data(self) -> PartitionData:
        return self.pool.server.data(self.partition.key)

    @property
    def book(self) -> dict[bytes, float]:
        """Return what is booked under this epoch: id -> score."""
        return {job_id: score for score, job_id in self.data.book(self.owned.epoch).entries()}

    @property
    def started(self) -> set[bytes]:
        """Return the ids that are booked as running."""
        return {job_id for job_id, score in self.book.items() if score >= STARTED}

    def enqueue(
        self,
        jobs: int,
        group: str = "g",
        *,
        delay_s: float | None = None,
        tier: str = "default",
        size_bytes: int = 0,
    ) -> list[bytes]:
        """Enqueue jobs, each with a payload of about that size; returns their ids, in order."""
        payload = {"x": "x" * size_bytes} if size_bytes else {}
        results = self.pool.enqueue_many(
            "t", [Job(payload)] * jobs, partition_key=group, delay_s=delay_s, tier=tier
        )
        return [r.job_id.encode() for r in results]

    def turn(
        self, fate: Fate = Fate.ANSWERED, *, took_s: float = 0.0005, forgotten: str = ""
    ) -> list[ClaimedJob]:
        """Run one turn; returns the jobs that it started.

        forgotten: a script that the server has to be sent again; its verbs follow the others.
        """
        plan = self.core.plan(self.now)
        if fate is not Fate.NEVER_SENT:
            places = sorted(range(len(plan.verbs)), key=lambda i: plan.verbs[i].script == forgotten)
            answers = self.owned.turn([plan.verbs[i] for i in places])
            replies = [answers[places.index(i)] for i in range(len(places))]
        self.clock.advance(took_s)
        if fate is not Fate.ANSWERED:
            self.core.on_no_reply(plan, self.now)
            return []
        ready, reported = self.core.apply_replies(plan, replies, self.now)
        self.began(ready)
        self.reported += reported
        return ready

    def answer(self, plan: Turn, failing: str) -> None:
        """Let the server refuse one script of a turn and answer the rest."""
        replies = self.owned.turn(plan.verbs)
        for i, verb in enumerate(plan.verbs):
            if verb.script == failing:
                replies[i] = UnavailableError("refused by the test")
        with suppress(UnavailableError):
            self.core.apply_replies(plan, replies, self.now)
        self.began(plan.jobs)
        self.reported += plan.events

    def began(self, jobs: Sequence[ClaimedJob]) -> None:
        for job in jobs[: max(0, self.core.target - len(self.running))]:
            job.started_s = self.now
        self.running += jobs
        self.runs += [job.id for job in jobs]

    def settle(self, turns: int = 50) -> list[ClaimedJob]:
        """Run turns until nothing is due; returns the jobs that they started."""
        started: list[ClaimedJob] = []
        for _ in range(turns):
            if self.core.due_s(self.now) > 0:
                return started
            started += self.turn()
        raise AssertionError(f"something is still due after {turns} turns")

    def end(
        self,
        jobs: Sequence[ClaimedJob],
        end: End = End.DONE,
        *,
        took_s: float = 0.01,
        **more: object,
    ) -> None:
        """End executions."""
        for job in jobs:
            self.running.remove(job)
        self.core.on_ended(
            [Outcome(job, end, self.now - took_s, self.now, "t", **more) for job in jobs]  # type: ignore[arg-type]
        )

    def command(self, target: int, **changes: object) -> str:
        """Have a leader say how many workers there shall be; returns the command's id."""
        self.leader += 1
        said = {
            "type": "SCALE_UP",
            "partition": 0,
            "target_workers": target,
            "reason": "test",
            "expires_ms": 60_000,
            **changes,
        }
        return self.partition.run(lead.command(self.leader, 1, **said))[1]  # type: ignore[arg-type]

    def hear(self) -> None:
        """Ring the bell for a command or a cancel, and take the turn."""
        self.core.on_wake(b"c", self.now)
        self.settle()

    def of(self, kind: type) -> list[object]:
        """Return the events of one kind that were reported."""
        return [event for event in self.reported if isinstance(event, kind)]

    def counter(self, name: str) -> int:
        return self.data.counters.get(name, 0)

    def ready_ids(self) -> list[bytes]:
        """Return the ids in lanes, lane by lane."""
        return [job_id for lane in self.data.lanes.values() for job_id in lane]

    def check(self, *, lossy: bool = False) -> None:
        """What holds between any two turns; `lossy` while answers may be missing."""
        core = self.core
        ending = {o.job.id for o in core.in_flight.outbox}
        waits = core.in_flight.suspects
        waiting = {job.id for job in (*waits._first, *waits._last)}
        assert core.open == len(set(core.claimed) - ending - waiting)
        assert lossy or set(self.book) <= set(core.claimed) | ending
        assert len({job.id for job in self.running}) == len(self.running)
        suspects = [job for job in self.running if job.crashes >= self.settings.max_crashes - 1]
        assert len(suspects) <= 1
        assert all(job.id in self.started for job in suspects if job.id in self.book)
