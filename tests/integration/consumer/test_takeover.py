"""A crashed owner is replaced long before its lease ends; one that lives is not."""

from __future__ import annotations

import signal
import time

import pytest

from consumer.core.lifeline import GRACE_S
from queuepool.client.pool import QueuePool
from queuepool.partitions.partition import Partition
from queuepool.process.embedded import EmbeddedServer
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig
from tests.chaos.proxy import Proxy
from tests.conftest import ServerFactory
from tests.integration.consumer.conftest import StartConsumer
from tests.integration.consumer.processes import Records, done, drained, has_lifeline, owners
from tests.waiting import wait_until

pytestmark = pytest.mark.chaos
LEASE_S = 60.0  # what is faster than this was not an expired lease
CUT_S = 0.7


def _port(server: EmbeddedServer) -> int:
    return int(server.url.rpartition(":")[2].partition("/")[0])


@pytest.mark.serial
def test_a_standby_replaces_a_killed_owner_within_seconds(
    pool: QueuePool, partition: Partition, consume: StartConsumer, records: Records
) -> None:
    both = [consume(partition="auto", lease_s=LEASE_S) for _ in range(2)]
    wait_until(lambda: owners(partition))
    (first,) = [p for p in both if p.pid in owners(partition)]
    (second,) = [p for p in both if p is not first]
    second.says("standing by")
    wait_until(lambda: has_lifeline(partition))
    pool.enqueue_many("work", ({"ms": 50} for _ in range(400)), partition_key="g")
    wait_until(lambda: done(partition) > 50)

    first.popen.send_signal(signal.SIGKILL)  # it stays a zombie: its parent does not know yet
    killed_ns = time.monotonic_ns()
    drained(partition, 400)

    runs = records.runs()
    again = min(run.began_ns for run in runs if run.pid == second.pid)
    assert (again - killed_ns) / 1e9 < 4.0  # 1.7 s, and time for a busy machine
    assert max(records.begun().values()) <= 2
    twice = {job_id for job_id, n in records.begun().items() if n > 1}
    assert twice <= {r.job_id for r in runs if r.pid == first.pid and killed_ns - r.began_ns < 1e9}


def test_a_restarted_process_replaces_the_one_that_it_succeeds_at_once(
    pool: QueuePool, partition: Partition, consume: StartConsumer
) -> None:
    first = consume(lease_s=LEASE_S)
    first.owns(partition)
    wait_until(lambda: has_lifeline(partition))
    first.kill()

    second = consume(lease_s=LEASE_S)

    second.owns(partition)
    pool.enqueue("work", {"ms": 0}, partition_key="g")
    drained(partition, 1)


def test_an_owner_that_dies_of_its_first_job_is_replaced_by_itself_long_before_its_lease_ends(
    pool: QueuePool, partition: Partition, consume: StartConsumer
) -> None:
    pool.enqueue("poison", partition_key="g")
    for _ in range(2):
        assert consume(lease_s=LEASE_S, max_crashes=2).ends(LEASE_S / 2) == 9

    consume(lease_s=LEASE_S, max_crashes=2).owns(partition, LEASE_S / 2)

    wait_until(lambda: partition.observe().dead == 1, LEASE_S / 2)


def test_an_owner_that_dies_of_its_first_job_is_replaced_by_a_standby(
    pool: QueuePool, consume: StartConsumer
) -> None:
    pool.enqueue("poison", partition_key="g")
    both = [consume(lease_s=LEASE_S) for _ in range(2)]

    assert [each.ends(LEASE_S / 2) for each in both] == [9, 9]


def test_an_owner_that_is_cut_off_for_less_than_the_grace_stays_the_owner(
    server_factory: ServerFactory, stage: str, consume: StartConsumer, records: Records
) -> None:
    server = server_factory()
    config = PoolConfig(topology=single(server.url, 1), keyspace=Keyspace(stage))
    with Proxy(_port(server)) as proxy, QueuePool(config=config) as pool:
        partition = pool.partition(0)
        first = consume(url=proxy.url, lease_s=LEASE_S)
        first.owns(partition)
        # It grants more than the usual time, as a busy machine may make a cut longer than it.
        patient = "tests.apps.recorded,tests.apps.patient"
        consume(url=server.url, lease_s=LEASE_S, app=patient).says("standing by")
        pool.enqueue_many("work", ({"ms": 20} for _ in range(2000)), partition_key="g")
        for _ in range(5):
            wait_until(lambda: has_lifeline(partition))
            until_s = time.monotonic() + CUT_S
            proxy.cut()
            wait_until(lambda at=until_s: time.monotonic() >= at)  # type: ignore[misc]
            proxy.healthy()
            before = done(partition)
            wait_until(lambda at=before: done(partition) > at)  # type: ignore[misc]
        state = drained(partition, 2000)

        assert owners(partition) == [first.pid]
        assert set(records.begun().values()) == {1}
        assert state.counters.get("recovered", 0) == 0


def test_an_owner_that_stands_still_keeps_its_lease(
    pool: QueuePool, partition: Partition, consume: StartConsumer
) -> None:
    first = consume(lease_s=LEASE_S)
    first.owns(partition)
    wait_until(lambda: has_lifeline(partition))
    consume(lease_s=LEASE_S).says("standing by")

    first.signal(signal.SIGSTOP)
    heartbeat_ms = _heartbeat_ms(partition)
    until_s = time.monotonic() + 2 * GRACE_S
    wait_until(lambda: time.monotonic() >= until_s)

    assert _heartbeat_ms(partition) == heartbeat_ms
    assert owners(partition) == [first.pid]
    first.signal(signal.SIGCONT)
    pool.enqueue("work", {"ms": 0}, partition_key="g")
    drained(partition, 1)
    assert owners(partition) == [first.pid]


def _heartbeat_ms(partition: Partition) -> int:
    owner = partition.observe().owner
    assert owner is not None
    return owner.heartbeat_ms
