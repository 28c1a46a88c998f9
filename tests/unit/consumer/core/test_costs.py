"""Groups with jobs of very different length get equal worker seconds, over turns in memory."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count

import pytest

from consumer.core.costs import MOST_LANES, Costs
from consumer.core.jobs import ClaimedJob, End, Outcome, claimed
from consumer.core.levels import MOST_AHEAD
from queuepool.partitions.partition import OwnedPartition
from queuepool.protocol import codec
from queuepool.testing import FakeClock, MemoryPool
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.unit.consumer.core.world import World

pytestmark = pytest.mark.thorough


class Cluster:
    """Workers of one owner, whose jobs take as long as their group says."""

    def __init__(self, *, workers: int = 8, **lengths_s: float) -> None:
        self.workers = workers
        self.lengths_s = lengths_s
        self.clock, self.costs = FakeClock(), Costs()
        self.pool = MemoryPool(clock=self.clock)
        self.world = w.World(self.pool.partition(0), self.clock, None)
        owned = self.pool.partition(0).acquire(lease_s=10**6, host="test")
        assert isinstance(owned, OwnedPartition)
        self.owned = owned
        self.busy_s = dict.fromkeys(lengths_s, 0.0)
        self.waits_s: dict[str, list[float]] = {}
        self.running: dict[bytes, ClaimedJob] = {}
        self._ends: list[tuple[float, int, ClaimedJob]] = []
        self._count = count()
        self._enqueued_s: dict[str, float] = {}

    def enqueue(self, group: str, jobs: int, *, tier: int = 2) -> None:
        """Add jobs to a group."""
        names = [f"{group}-{next(self._count)}" for _ in range(jobs)]
        self._enqueued_s |= dict.fromkeys(names, self.clock())
        for n in range(0, jobs, 1000):
            w.enqueue(self.world, names[n : n + 1000], group.encode(), tier=tier)

    def claim(self) -> None:
        """Claim for the idle workers."""
        free = self.workers - len(self.running)
        if free <= 0:
            return
        ahead = self.costs.ahead(self.clock(), self.workers)
        claims = self.owned.run(
            own.claim(
                self.owned.ownership,
                free,
                starting=free,
                promote_after_ms=0,
                weights=w.WEIGHTS,
                ahead=ahead,
            )
        )
        now = self.clock()
        jobs = [
            claimed(job_id, body, 1, 0, claims.now_ms, now)
            for job_id, body in zip(claims.ids, claims.bodies, strict=True)
        ]
        for job in jobs:
            job.started_s = now
            self.running[job.id] = job
            group = job.group.decode()
            self.waits_s.setdefault(group, []).append(now - self._enqueued_s[job.id.decode()])
            heappush(self._ends, (now + self.lengths_s[group], next(self._count), job))
        self.costs.on_claimed(
            jobs, now, claimed=self.running, all_taken=claims.taken < free, ahead=ahead
        )

    def step(self) -> None:
        """Let the next job end, and claim."""
        end_s, _, job = heappop(self._ends)
        self.clock.advance(max(0.0, end_s - self.clock()))
        del self.running[job.id]
        self.busy_s[job.group.decode()] += self.lengths_s[job.group.decode()]
        self.costs.on_ended([Outcome(job, End.DONE, job.started_s, end_s)])
        self.owned.run(
            own.finish(self.owned.ownership, {job.group: own.Acks(len(job.body), [job.id])})
        )
        self.claim()

    def run(self, seconds: float) -> None:
        """Let time pass."""
        until_s = self.clock() + seconds
        self.claim()
        while self._ends and self._ends[0][0] <= until_s:
            self.step()
        self.clock.advance(max(0.0, until_s - self.clock()))


@pytest.mark.parametrize(
    "lengths",
    [(0.5, 0.05), (0.3, 0.2), pytest.param((2.0, 0.02), marks=pytest.mark.slow)],
)
def test_two_groups_get_equal_worker_seconds(lengths: tuple[float, float]) -> None:
    cluster = Cluster(a=lengths[0], b=lengths[1])
    cluster.enqueue("a", 2000)
    cluster.enqueue("b", 20_000)
    cluster.run(10 * lengths[0])
    before = dict(cluster.busy_s)

    cluster.run(30 * lengths[0])

    a, b = (cluster.busy_s[g] - before[g] for g in "ab")
    if lengths[0] >= 2 * lengths[1]:
        assert 0.9 < a / b < 1.1
    else:  # by jobs, as always
        assert 0.9 < (a / b) / (lengths[0] / lengths[1]) < 1.1


def test_three_groups_share_and_no_worker_is_idle() -> None:
    cluster = Cluster(a=1.0, b=0.1, c=0.02)
    for group, jobs in (("a", 1000), ("b", 3000), ("c", 8000)):
        cluster.enqueue(group, jobs)

    cluster.run(30.0)

    total = sum(cluster.busy_s.values())
    assert total > 0.95 * 8 * 30
    assert all(0.27 < busy_s / total < 0.4 for busy_s in cluster.busy_s.values())


@pytest.mark.parametrize(
    ("workers", "others_s", "small_s"), [(16, 0.05, 0.05), (8, 0.02, 0.05), (8, 0.02, 0.2)]
)
def test_a_group_that_comes_later_neither_waits_nor_has_saved_up(
    workers: int, others_s: float, small_s: float
) -> None:
    late = [f"c{n}" for n in range(10)]
    cluster = Cluster(workers=workers, a=2.0, b=others_s, **dict.fromkeys(late, small_s))
    cluster.enqueue("a", 300)
    cluster.enqueue("b", 10_000)
    cluster.run(15.0)

    for group in late:
        cluster.enqueue(group, 10)
        cluster.run(2.0)

    waits = sorted(wait_s for group in late for wait_s in cluster.waits_s[group])
    assert len(waits) == 100
    assert waits[int(0.99 * len(waits))] < 3 * small_s


def test_a_new_group_has_credit_for_few_jobs() -> None:
    cluster = Cluster(workers=8, a=1.0, b=0.02, c=0.05)
    cluster.enqueue("a", 300)
    cluster.enqueue("b", 10_000)
    cluster.run(10.0)
    before = dict(cluster.busy_s)
    cluster.enqueue("c", 2000)

    cluster.run(15.0)

    shares = [cluster.busy_s[g] - before[g] for g in "abc"]
    assert all(0.28 < share / sum(shares) < 0.39 for share in shares)


def test_small_groups_without_a_pause_neither_wait_nor_spoil_the_shares_of_others() -> None:
    late = [f"c{n}" for n in range(150)]
    cluster = Cluster(workers=16, a=2.0, b=0.02, **dict.fromkeys(late, 0.02))
    cluster.enqueue("a", 400)
    cluster.enqueue("b", 12_000)
    cluster.run(10.0)
    before = dict(cluster.busy_s)

    for group in late:
        cluster.enqueue(group, 10)
        cluster.run(0.1)

    a, b = (cluster.busy_s[g] - before[g] for g in "ab")
    assert 0.85 < a / b < 1.2
    waits = sorted(wait_s for group in late for wait_s in cluster.waits_s[group])
    assert len(waits) == 10 * len(late)
    assert waits[int(0.99 * len(waits))] < 0.2


def test_a_lane_that_is_ahead_gets_everything_while_nothing_else_is_ready() -> None:
    cluster = Cluster(a=2.0, b=0.02)
    cluster.enqueue("a", 200)
    cluster.enqueue("b", 10)

    cluster.run(40.0)

    assert cluster.busy_s["a"] > 0.9 * 8 * 38


def test_a_group_that_comes_back_does_not_claim_what_it_missed() -> None:
    cluster = Cluster(a=0.5, b=0.05)
    cluster.enqueue("a", 2000)
    cluster.enqueue("b", 100)
    cluster.run(60.0)
    before = dict(cluster.busy_s)

    cluster.enqueue("b", 20_000)
    cluster.run(20.0)

    a, b = (cluster.busy_s[g] - before[g] for g in "ab")
    assert 0.8 < a / b < 1.2


def test_very_long_jobs_of_a_new_group_do_not_take_all_workers_before_one_has_ended() -> None:
    cluster = Cluster(a=100.0, b=0.05)
    cluster.enqueue("b", 8000)
    cluster.run(5.0)
    cluster.enqueue("a", 50)
    before = cluster.busy_s["b"]

    cluster.run(60.0)

    assert cluster.busy_s["b"] - before > 0.4 * 8 * 60
    assert sum(job.group == b"a" for job in cluster.running.values()) >= 3


def test_tiers_are_not_compared() -> None:
    cluster = Cluster(a=1.0, b=0.05)
    cluster.enqueue("a", 100, tier=1)
    cluster.enqueue("b", 5000, tier=2)

    cluster.run(10.0)

    assert cluster.costs.ahead(cluster.clock(), 8) == []


def _job(group: bytes, n: int) -> ClaimedJob:
    body = b"12" + b"0" * 11 + b"007" + b"%02x" % len(group) + group
    return claimed(b"%s-%d" % (group, n), body, 1, 0, 0, 0.0)


def test_jobs_that_wait_in_memory_are_no_debt_of_those_that_come_later() -> None:
    costs = Costs()
    costs.on_ended([Outcome(_job(b"x", 0), End.DONE, 0.0, 1.0)])
    large = [_job(b"large", n) for n in range(200)]
    ids = {job.id for job in large}
    costs.on_claimed(large, 1.0, claimed=ids, all_taken=False)
    costs.on_ended([Outcome(job, End.DONE, 1.0, 1.3) for job in large[:8]])
    ids -= {job.id for job in large[:8]}

    small = _job(b"small", 1)
    costs.on_claimed([small], 1.3, claimed={*ids, small.id}, all_taken=False)
    costs.on_ended([Outcome(small, End.DONE, 1.3, 1.301)])

    assert costs.ahead(1.31, 8) == [b"2large"]
    assert costs._lanes[b"2large"].charged_s(1.31, 8) < 8.0


def test_short_jobs_are_not_counted() -> None:
    costs = Costs()
    jobs = [_job(b"a", n) for n in range(100)]
    costs.on_ended([Outcome(job, End.DONE, 1.0, 1.0001) for job in jobs])

    costs.on_claimed(jobs, 1.0, claimed={job.id for job in jobs}, all_taken=False)

    assert costs._lanes == {}


def test_what_is_handed_back_costs_nothing_and_numbers_are_bounded() -> None:
    costs = Costs()
    costs.on_ended([Outcome(_job(b"x", 0), End.DONE, 0.0, 1.0)])
    jobs = [_job(b"g%d" % n, n) for n in range(2 * MOST_LANES)]
    costs.on_claimed(jobs, 1.0, claimed={job.id for job in jobs}, all_taken=False)
    assert len(costs._lanes) == MOST_LANES

    costs.on_ended([Outcome(j, End.DONE, 1.0, 1.0 + n / 10) for n, j in enumerate(jobs[:100])])
    assert len(costs.ahead(11.0, 1000)) == MOST_AHEAD
    costs.on_ended([Outcome(job, End.HAND_BACK, 1.0, 20.0) for job in jobs[100:110]])
    costs.on_claimed([], 20.0, claimed=(), all_taken=False)

    assert costs._running == {}
    assert all(lane.running == 0 for lane in costs._lanes.values())
    costs.on_claimed([], 20.0, claimed=(), all_taken=True)
    assert costs._lanes == {}


def _counting() -> Costs:
    costs = Costs()
    costs.on_ended([Outcome(_job(b"x", 0), End.DONE, 0.0, 1.0)])
    return costs


def _run(costs: Costs, jobs: list[ClaimedJob], at_s: float, took_s: float, *ahead: bytes) -> None:
    """Claim jobs and let them end."""
    costs.on_claimed(jobs, at_s, claimed={j.id for j in jobs}, all_taken=False, ahead=ahead)
    costs.on_ended([Outcome(job, End.DONE, at_s, at_s + took_s) for job in jobs])


def test_a_group_that_comes_back_does_not_wait_for_a_new_one_of_jobs_that_take_no_time() -> None:
    costs = _counting()
    large = [_job(b"large", n) for n in range(400)]
    _run(costs, large[:200], 1.0, 1e-6)
    _run(costs, [_job(b"small", 1)], 1.01, 1e-4)
    _run(costs, large[200:], 1.02, 1e-6, b"2large")  # nothing of the small group was left
    assert costs._lanes[b"2small"].empty

    _run(costs, [_job(b"small", 2)], 1.05, 1e-4)

    assert b"2small" not in costs.ahead(1.06, 8)


@pytest.mark.parametrize(("running", "waits"), [(1, False), (8, True)])
def test_jobs_do_not_wait_for_jobs_that_take_no_time_while_workers_are_idle(
    running: int, *, waits: bool
) -> None:
    costs = _counting()
    large = [_job(b"large", n) for n in range(400)]
    _run(costs, large[:200], 1.0, 1e-6)
    _run(costs, [_job(b"small", n) for n in range(20)], 1.1, 0.2)
    small = [_job(b"small", n) for n in range(20, 20 + running)]
    ids = {job.id for job in (*small, *large[200:])}
    costs.on_claimed([*small, *large[200:]], 1.3, claimed=ids, all_taken=False)
    costs.on_ended([Outcome(job, End.DONE, 1.3, 1.3) for job in large[200:]])
    assert b"2small" in costs.ahead(1.3, 8)

    for n in range(10):
        ahead = costs.ahead(1.4 + n / 10, 8)

    assert (b"2small" in ahead) is waits


def test_nothing_is_ahead_when_no_lane_that_is_known_has_jobs_left() -> None:
    costs = Costs()
    costs.on_ended([Outcome(_job(b"x", 0), End.DONE, 0.0, 1.0)])
    long, *others = [_job(b"long", 0), _job(b"b", 1), _job(b"c", 2)]
    ids = {job.id for job in others}
    costs.on_claimed(others, 1.0, claimed=ids, all_taken=False)
    costs.on_claimed([long], 1.1, claimed={*ids, long.id}, all_taken=False, ahead=[b"2long"])
    costs.on_ended([Outcome(long, End.DONE, 1.1, 1.2)])
    costs.on_claimed([], 1.2, claimed=ids, all_taken=True)

    assert costs.ahead(1.2, 8) == []


@pytest.mark.parametrize("order", ["fair", "shortest"])
def test_an_owner_serves_the_shortest_group_first_where_it_is_told_to(order: str) -> None:
    world = World(workers=2, order=order, shortest_wait_s=60)
    world.pool.enqueue_many("t", [{}] * 40, partition_key="long")
    world.pool.enqueue_many("t", [{}] * 6, partition_key="short")

    verb = world.core.plan(world.now).verbs[-1]

    assert verb.script == "claim"
    assert (b"shortest" in verb.args or "shortest" in verb.args) == (order == "shortest")
    claims = world.owned.run(verb)
    groups = {codec.read_group(body) for body in claims.bodies[:6]}
    assert groups == ({b"short"} if order == "shortest" else {b"long", b"short"})
