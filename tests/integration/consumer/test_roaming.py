"""One consumer process serves all partitions, one after the other, also when all have work."""

from __future__ import annotations

from queuepool.client.pool import QueuePool
from queuepool.partitions.partition import Partition
from queuepool.routing.slots import home_of
from tests.integration.consumer.conftest import StartConsumer
from tests.integration.consumer.processes import Records, done
from tests.waiting import wait_until

PARTITIONS = 4


def _enqueue(pool: QueuePool, partition: int, jobs: int, **payload: float) -> None:
    key = next(k for k in map(str, range(99)) if home_of(k, PARTITIONS) == partition)
    pool.enqueue_many("work", [payload] * jobs, partition_key=key)


def _owned(pool: QueuePool) -> list[Partition]:
    return [partition for partition in pool.partitions() if partition.observe().owner is not None]


def test_an_idle_consumer_goes_where_work_waits(
    wide: QueuePool, consume: StartConsumer, records: Records
) -> None:
    one = consume(partition="auto", partitions=PARTITIONS, lease_s=60)
    for number in range(PARTITIONS):
        _enqueue(wide, number, 20)

    wait_until(lambda: sum(map(done, wide.partitions())) == 20 * PARTITIONS)

    def all_are_counted() -> bool:
        text = one.get("/metrics")[1]
        each = 'executions_total{{end="done",partition="{}",task="work"}} 20.0'
        return all(each.format(number) in text for number in range(PARTITIONS))

    wait_until(all_are_counted, interval_s=0.1)
    assert one.is_running()
    assert set(records.begun().values()) == {1}
    wait_until(lambda: len(_owned(wide)) == 1)
    assert all(partition.audit().clean for partition in wide.partitions())


def test_a_busy_consumer_shares_its_time_and_lets_running_jobs_end(
    wide: QueuePool, consume: StartConsumer, records: Records
) -> None:
    one = consume(
        partition="auto", partitions=PARTITIONS, workers=2, max_workers=2, drain_s=0.1, lease_s=60
    )
    wait_until(lambda: len(_owned(wide)) == 1)
    (busy,) = _owned(wide)
    others = [number for number in range(PARTITIONS) if number != busy.number]
    _enqueue(wide, busy.number, 60, ms=400)
    wait_until(lambda: done(busy) > 0)

    for number in others:
        _enqueue(wide, number, 1)
    wait_until(lambda: all(done(wide.partition(number)) == 1 for number in others))
    assert 0 < done(busy) < 60
    wait_until(lambda: done(busy) == 60)

    assert set(records.begun().values()) == {1}  # none was interrupted to run again
    assert one.is_running()
    assert one.log.count("where jobs wait without an owner") == 1  # and no line for each change
    assert all(partition.audit().clean for partition in wide.partitions())


def test_a_partition_in_which_a_job_always_comes_soon_keeps_no_other_waiting(
    wide: QueuePool, consume: StartConsumer
) -> None:
    consume(partition="auto", partitions=PARTITIONS, lease_s=60)
    wait_until(lambda: len(_owned(wide)) == 1)
    (first,) = _owned(wide)
    other = wide.partition((first.number + 1) % PARTITIONS)

    def come() -> bool:
        """Let a job come to whichever of them is owned, and to the one that is to have a turn."""
        for number in {other.number, *(one.number for one in _owned(wide))}:
            _enqueue(wide, number, 1, ms=20)
        return done(other) > 3

    wait_until(come, interval_s=0.3)


def test_a_consumer_that_is_told_to_stay_stays(wide: QueuePool, consume: StartConsumer) -> None:
    stays = consume(partition="auto", partitions=PARTITIONS, roaming="false", lease_s=60)
    wait_until(lambda: len(_owned(wide)) == 1)
    (owned,) = _owned(wide)
    roams = consume(partition="auto", partitions=PARTITIONS, lease_s=60)
    wait_until(lambda: len(_owned(wide)) == 2)
    others = [p for p in wide.partitions() if p.number != owned.number]
    for partition in others:
        _enqueue(wide, partition.number, 1)

    wait_until(lambda: all(done(partition) == 1 for partition in others))

    owner = owned.observe().owner
    assert owner is not None
    assert owner.host.endswith(f":{stays.pid}")
    assert roams.is_running()
