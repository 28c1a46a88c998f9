"""Limits of jobs, with real consumers and servers: their bounds hold, and what may run does."""

from __future__ import annotations

from queuepool import Limit
from queuepool.client.pool import QueuePool
from queuepool.models import JobState, LimitStatus
from queuepool.partitions.partition import Partition
from queuepool.protocol.keys import Keyspace
from queuepool.routing.slots import home_of
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig
from queuepool.verbs.producer import verbs as produce
from tests.integration.consumer.conftest import StartConsumer
from tests.integration.consumer.processes import Records, done
from tests.waiting import wait_until

RATE, BURST = 50, 5
AHEAD = 2 * 6  # tokens that two owners may have in hand: those of 0.1 s, and one
LATE_S = 0.5  # a start that a busy machine delays comes nearer to the next ones


def _status(pool: QueuePool, name: str) -> LimitStatus:
    status = pool.limits.get(name)
    assert status is not None
    return status


def test_two_partitions_share_a_rate(
    redis_url: str, stage: str, consume: StartConsumer, records: Records
) -> None:
    config = PoolConfig(topology=single(redis_url, 2), keyspace=Keyspace(stage))
    with QueuePool(config=config) as pool:
        pool.limits.set(Limit("mail", rate=RATE, burst=BURST))
        for number in range(2):
            keys = (key for key in map(str, range(99)) if home_of(key, 2) == number)
            pool.enqueue_many("work", [{}] * 100, partition_key=next(keys), limit="mail")
            consume(partitions=2, partition=str(number))

        partitions = [pool.partition(number) for number in range(2)]
        wait_until(lambda: sum(map(done, partitions)) == 200, 30)
        granted = _status(pool, "mail").granted

    begun = sorted(run.began_ns / 1e9 for run in records.runs())
    for first, from_s in enumerate(begun):
        for last in range(first, len(begun)):
            allowed = RATE * (begun[last] - from_s + LATE_S) + BURST + AHEAD
            assert last - first + 1 <= allowed, (first, last, begun)
    assert begun[-1] - begun[0] >= (200 - BURST - AHEAD) / RATE - LATE_S
    assert granted >= 200
    assert all(partition.audit().clean for partition in partitions)


def test_a_concurrency_holds_also_after_a_crash(
    pool: QueuePool, partition: Partition, consume: StartConsumer, records: Records
) -> None:
    pool.limits.set(Limit("db", concurrency=2))
    pool.enqueue_many("work", [{"ms": 100}] * 30, partition_key="g", limit="db")
    first = consume(workers=8)
    wait_until(lambda: done(partition) >= 6)
    first.kill()
    ends = {run.job_id for run in records.runs() if run.ended_ns is None}
    killed_ns = max(run.began_ns for run in records.runs())

    consume(workers=8)
    wait_until(lambda: done(partition) == 30, 30)

    assert records.peak(killed_ns + 1) == 2
    assert len(ends) <= 2
    wait_until(lambda: _status(pool, "db").running == 0)
    assert partition.audit().clean


def test_parked_jobs_take_no_worker_and_are_no_backlog(
    pool: QueuePool, partition: Partition, consume: StartConsumer
) -> None:
    pool.limits.set(Limit("mail", rate=1000))
    pool.limits.pause("mail")
    parked = pool.enqueue_many("work", [{}] * 50, partition_key="limited", limit="mail")
    consume(workers=2)
    pool.enqueue_many("work", [{}] * 100, partition_key="free")

    wait_until(lambda: done(partition) == 100)
    state = partition.observe()
    assert (state.parked, state.backlog) == (50, 0)
    assert pool.status(parked[0].job_id, partition_key="limited").state is JobState.PARKED
    pool.limits.resume("mail")

    wait_until(lambda: done(partition) == 150)
    assert partition.observe().parked == 0


def test_a_job_cancelled_after_its_admission_keeps_no_permit(
    pool: QueuePool, partition: Partition, consume: StartConsumer
) -> None:
    pool.limits.set(Limit("db", concurrency=1))
    partition.run(produce.configure(None, hold=True))  # nothing is claimed, but jobs are admitted
    consume(workers=2)
    first = pool.enqueue("work", {}, partition_key="g", limit="db")
    wait_until(lambda: pool.status(first.job_id, partition_key="g").state is JobState.READY)
    assert pool.cancel(first.job_id, partition_key="g")
    partition.run(produce.configure(None, hold=False))

    pool.enqueue("work", {}, partition_key="g", limit="db")

    wait_until(lambda: done(partition) == 1)
