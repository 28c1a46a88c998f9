"""Several pools in one consumer: each has lanes, a lease and workers of its own. Real processes."""

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from queuepool import Job, Limit
from queuepool.client.pool import QueuePool
from queuepool.models import JobState
from queuepool.partitions.partition import Partition
from tests.integration.consumer.conftest import StartConsumer
from tests.integration.consumer.processes import Records, done, drained, has_lifeline, scale
from tests.integration.consumer.test_pools import workers
from tests.waiting import wait_until

APP = "tests.apps.pools"
POOLS = "default=2..8,io=async:2000,cpu=process:1..3"
GROUP = "album"


@pytest.fixture
def places(pool: QueuePool) -> dict[str, Partition]:
    return {name: pool.partition(0, name) for name in ("default", "io", "cpu")}


def test_three_pools_run_side_by_side(
    pool: QueuePool, places: dict[str, Partition], consume: StartConsumer, tmp_path: Path
) -> None:
    consumer = consume(app=APP, pools=POOLS)
    for place in places.values():
        consumer.owns(place)
    gate = tmp_path / "gate"
    blocked = pool.enqueue_many(
        "pools.encode", [{"gate": str(gate)}] * 20, partition_key=GROUP, pool="cpu"
    )
    sleepers = pool.enqueue_many(
        "pools.wait", [{"gate": str(tmp_path / "io")}] * 2000, partition_key=GROUP, pool="io"
    )
    plain = pool.enqueue_many("pools.plain", [{}] * 200, partition_key=GROUP)

    wait_until(lambda: places["io"].observe().in_flight == 2000)
    drained(places["default"], 200)
    (tmp_path / "io").touch()
    drained(places["io"], 2000)

    assert done(places["cpu"]) == 0  # and a full pool delayed no other
    threads = len(list(Path(f"/proc/{consumer.pid}/task").iterdir()))
    assert threads < 30
    assert plain[0].result()[0] == sleepers[0].result() == consumer.pid
    gate.touch()
    drained(places["cpu"], 20)
    assert blocked[0].result() != consumer.pid
    group = pool.group(GROUP).wait(timeout_s=60, show=False)
    assert (group.total, group.done, group.left) == (2220, 2220, 0)
    status, text = consumer.get("/metrics")
    assert status == 200
    assert 'queuepool_executions_total{end="done",partition="0",task="pools.plain"} 200.0' in text
    assert (
        'queuepool_executions_total{end="done",partition="0/io",task="pools.wait"} 2000.0' in text
    )
    assert 'queuepool_owner{partition="0/cpu"} 1.0' in text
    assert text.count("# TYPE queuepool_owner ") == 1
    assert consumer.stop() == 0
    assert {place.observe().owner for place in places.values()} == {None}


def test_each_pool_obeys_its_own_commands(
    places: dict[str, Partition], consume: StartConsumer
) -> None:
    consume(app=APP, pools=POOLS)
    wait_until(lambda: workers(places["cpu"]) == (1, 1))
    wait_until(lambda: workers(places["default"]) == (2, 2))

    scale(places["cpu"], 3, leader=1)
    scale(places["io"], 7, leader=1)

    wait_until(lambda: workers(places["cpu"]) == (3, 3))
    wait_until(lambda: workers(places["io"]) == (2000, 2000))  # below its range: clamped
    assert workers(places["default"]) == (2, 2)


def runs_one(place: Partition) -> bool:
    return place.observe().in_flight == 1


def test_a_killed_consumer_is_replaced_in_every_pool(
    pool: QueuePool, places: dict[str, Partition], consume: StartConsumer, tmp_path: Path
) -> None:
    first = consume(app=APP, pools=POOLS, lease_s=60)
    for place in places.values():
        first.owns(place)
        wait_until(partial(has_lifeline, place))
    gate = tmp_path / "gate"
    pool.enqueue("pools.encode", {"gate": str(gate)}, partition_key=GROUP, pool="cpu")
    pool.enqueue("pools.wait", {"seconds": 600}, partition_key=GROUP, pool="io")
    pool.enqueue("pools.plain", {"gate": str(gate)}, partition_key=GROUP)
    for place in places.values():
        wait_until(partial(runs_one, place))

    second = consume(app=APP, pools=POOLS, lease_s=60)
    second.says("standing by")
    os.kill(first.pid, signal.SIGKILL)
    for place in places.values():
        second.owns(place)
    gate.touch()

    drained(places["cpu"], 1)
    drained(places["default"], 1)
    wait_until(partial(runs_one, places["io"]))  # it runs again, for its ten minutes


def test_jobs_of_a_pool_wait_for_a_consumer_that_has_it(
    pool: QueuePool, places: dict[str, Partition], consume: StartConsumer
) -> None:
    without = consume(app=APP, pools="default=2")
    without.says("task 'pools.encode' runs in pool 'cpu', which is not among the pools here")
    without.owns(places["default"])
    job = pool.enqueue("pools.encode", {}, partition_key=GROUP, pool="cpu")
    pool.enqueue("pools.plain", {}, partition_key=GROUP)
    drained(places["default"], 1)
    assert job.job_status().state is JobState.READY

    alone = consume(app=APP, pools="cpu=process:1")

    drained(places["cpu"], 1)
    assert job.result() not in (without.pid, alone.pid)
    assert [place.name for place in pool.places()] == ["0", "0/cpu"]


def test_a_pool_is_held_alone(
    pool: QueuePool, places: dict[str, Partition], consume: StartConsumer
) -> None:
    consumer = consume(app=APP, pools=POOLS)
    for place in places.values():
        consumer.owns(place)
    wait_until(lambda: len(pool.places()) == 3)
    assert pool.hold(pool="cpu") == 1
    job = pool.enqueue("pools.encode", {}, partition_key=GROUP, pool="cpu")
    pool.enqueue("pools.plain", {}, partition_key=GROUP)

    drained(places["default"], 1)
    assert job.job_status().state is JobState.READY
    assert pool.release(pool="cpu") == 1

    drained(places["cpu"], 1)


def test_a_limit_holds_for_all_pools_together(
    pool: QueuePool,
    places: dict[str, Partition],
    consume: StartConsumer,
    records: Records,
    tmp_path: Path,
) -> None:
    pool.limits.set(Limit("db", concurrency=2))
    used = [places["default"], places["cpu"]]
    jobs = [Job({"ms": 20}, task="work")] * 20
    jobs[5] = Job({"gate": "open"}, task="wait_for")
    for place in used:
        pool.enqueue_many(jobs, partition_key=GROUP, pool=place.pool, limit="db")
    first = consume(pools="default=4,cpu=4")
    wait_until(lambda: len(records.begun()) == 12)  # both permits are in use
    first.kill()  # what either pool had is given back
    (tmp_path / "open").touch()
    killed_ns = max(run.began_ns for run in records.runs())

    consume(pools="default=4,cpu=4")
    for place in used:
        drained(place, 20)

    assert 1 <= records.peak(killed_ns + 1) <= 2
    wait_until(lambda: [s.running for s in [pool.limits.get("db")] if s] == [0])
