"""The gRPC API of a real process."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from queuepool.client.pool import QueuePool
from queuepool.rpc.client import QueuePoolClient, connect
from queuepool.rpc.v1 import cluster_pb2, decision_pb2, partition_pb2
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.settings.changed import HIDDEN
from tests.integration.coordinator.cluster import FakeOwner, Process, obey_until
from tests.integration.coordinator.conftest import StartProcess
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("coordinator-process")


@pytest.fixture
def running(process: StartProcess) -> Process:
    return process()


@pytest.fixture
def client(running: Process) -> Iterator[QueuePoolClient]:
    with connect(running.grpc, deadline_s=30) as made:
        wait_until(lambda: _cluster(made).leader.is_me)
        yield made


@pytest.fixture(scope="module")
def shared(redis_url: str) -> Iterator[QueuePoolClient]:
    """A client of a process that is shared by tests which leave it as it was."""
    process = Process(redis_url, f"test-{uuid.uuid4().hex[:16]}")
    try:
        with connect(process.grpc, deadline_s=30) as made:
            wait_until(lambda: _cluster(made).leader.is_me)
            yield made
    finally:
        process.kill()


def _cluster(client: QueuePoolClient) -> cluster_pb2.Cluster:
    try:
        return client.GetCluster(api.GetClusterRequest()).cluster
    except grpc.RpcError:
        return api.GetClusterResponse().cluster


def code_of(call: grpc.RpcError) -> grpc.StatusCode:
    return call.code()


def test_the_cluster_is_described(
    pool: QueuePool, client: QueuePoolClient, running: Process
) -> None:
    cluster = client.GetCluster(api.GetClusterRequest()).cluster

    assert (cluster.queue, cluster.partition_count, cluster.policy) == ("main", 2, "pwqd")
    assert (cluster.limits.min_workers, cluster.limits.max_workers) == (8, 64)
    assert cluster.leader.address == running.grpc
    assert [(s.name, s.partitions, s.reachable) for s in cluster.servers] == [("main", 2, True)]
    told = {one.name: one.value for one in cluster.settings}
    assert (told["COORDINATOR_POLICY"], told["QUEUEPOOL_PARTITIONS"]) == ("pwqd", "2")
    assert told["QUEUEPOOL_URL"] == HIDDEN


def test_partitions_come_in_pages(shared: QueuePoolClient) -> None:
    first = shared.ListPartitions(api.ListPartitionsRequest(page_size=1))
    second = shared.ListPartitions(
        api.ListPartitionsRequest(page_size=1, page_token=first.next_page_token)
    )
    huge = shared.ListPartitions(api.ListPartitionsRequest(page_size=10**9))

    assert [p.partition for p in first.partitions] == [0]
    assert [p.partition for p in second.partitions] == [1]
    assert second.next_page_token == ""
    assert [p.partition for p in huge.partitions] == [0, 1]


@pytest.mark.parametrize("token", ["x", "-1", "999999999999", "٣"])
def test_a_page_token_of_ones_own_making_is_refused(shared: QueuePoolClient, token: str) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        shared.ListPartitions(api.ListPartitionsRequest(page_token=token))
    assert code_of(caught.value) is grpc.StatusCode.INVALID_ARGUMENT

    with pytest.raises(grpc.RpcError) as caught:
        shared.ListDecisions(api.ListDecisionsRequest(page_token=token))
    assert code_of(caught.value) is grpc.StatusCode.INVALID_ARGUMENT


def test_an_unknown_partition_is_not_found(shared: QueuePoolClient) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: shared.GetPartition(api.GetPartitionRequest(partition=2)),
        lambda: shared.SetWorkers(api.SetWorkersRequest(partition=2, workers=9, ttl_s=1)),
        lambda: shared.ClearWorkers(api.ClearWorkersRequest(partition=2)),
        lambda: shared.ListDecisions(api.ListDecisionsRequest(partition=2)),
        lambda: next(iter(shared.WatchPartitions(api.WatchPartitionsRequest(partitions=[2])))),
    ]
    for call in calls:
        with pytest.raises(grpc.RpcError) as caught:
            call()
        assert code_of(caught.value) is grpc.StatusCode.NOT_FOUND
        assert "0 to 1" in (caught.value.details() or "")


def test_a_group_is_read_by_its_key(pool: QueuePool, client: QueuePoolClient) -> None:
    pool.enqueue_many("work", ({"n": n} for n in range(7)), partition_key="bulk")

    group = client.GetGroup(api.GetGroupRequest(partition_key=b"bulk")).group

    assert (group.total, group.ready, group.partition_key) == (7, 7, b"bulk")
    assert group.partition == pool.producer.route("bulk").partition
    for key, code in (
        (b"other", grpc.StatusCode.NOT_FOUND),
        (b"", grpc.StatusCode.INVALID_ARGUMENT),
        (b"x" * 65_537, grpc.StatusCode.INVALID_ARGUMENT),
    ):
        with pytest.raises(grpc.RpcError) as caught:
            client.GetGroup(api.GetGroupRequest(partition_key=key))
        assert code_of(caught.value) is code


def test_a_message_that_is_too_large_is_refused(shared: QueuePoolClient) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        shared.GetGroup(api.GetGroupRequest(partition_key=b"x" * 10_000_000))

    assert code_of(caught.value) is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_bytes_that_are_no_message_get_an_answer_without_a_stack_trace(
    client: QueuePoolClient, running: Process
) -> None:
    with grpc.insecure_channel(running.grpc) as channel:
        raw: Any = channel.unary_unary("/queuepool.rpc.v1.QueuePool/GetPartition")
        with pytest.raises(grpc.RpcError) as caught:
            raw(b"\xff\xff\xff\xff", timeout=30)

    assert code_of(caught.value) is grpc.StatusCode.INVALID_ARGUMENT
    assert "Traceback" not in (caught.value.details() or "")


def test_workers_set_by_hand_become_a_command_and_end_with_their_time(
    pool: QueuePool, client: QueuePoolClient
) -> None:
    owner = FakeOwner(pool.partition(0))

    answer = client.SetWorkers(
        api.SetWorkersRequest(partition=0, workers=24, ttl_s=60, reason="before\nthe sale")
    )
    obey_until(owner, lambda: owner.workers == 24)

    assert answer.workers == 24
    assert [c.type for c in owner.scales()] == ["SCALE_UP"]

    def shown() -> partition_pb2.PartitionState:
        return client.GetPartition(api.GetPartitionRequest(partition=0)).partition

    obey_until(owner, lambda: shown().workers.running == 24)
    assert shown().mode == partition_pb2.MODE_MANUAL
    assert shown().manual_until_ms == answer.manual_until_ms

    client.ClearWorkers(api.ClearWorkersRequest(partition=0))
    obey_until(owner, lambda: shown().mode == partition_pb2.MODE_AUTOMATIC)
    assert owner.workers == 24  # the policy continues from there

    reasons = [
        d.reason for d in client.ListDecisions(api.ListDecisionsRequest(partition=0)).decisions
    ]
    assert "set manually for 60 s by an operator: before the sale" in reasons
    assert "returned to automatic scaling by an operator" in reasons


def test_a_manual_count_ends_by_itself(pool: QueuePool, client: QueuePoolClient) -> None:
    owner = FakeOwner(pool.partition(1))
    client.SetWorkers(api.SetWorkersRequest(partition=1, workers=3, ttl_s=60))
    obey_until(owner, lambda: owner.workers == 3)

    client.SetWorkers(api.SetWorkersRequest(partition=1, workers=3, ttl_s=0.1))

    obey_until(owner, lambda: owner.workers == 8)  # back inside the limits of the policy

    assert [c.type for c in owner.scales()] == ["SCALE_DOWN", "SCALE_UP"]


@pytest.mark.parametrize(
    ("workers", "ttl_s"), [(0, 60), (5, 0), (5, -1), (5, float("nan")), (5, float("inf"))]
)
def test_impossible_manual_counts_are_refused(
    shared: QueuePoolClient, workers: int, ttl_s: float
) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        shared.SetWorkers(api.SetWorkersRequest(partition=0, workers=workers, ttl_s=ttl_s))

    assert code_of(caught.value) is grpc.StatusCode.INVALID_ARGUMENT


def test_a_manual_count_above_the_maximum_is_moved_to_it(client: QueuePoolClient) -> None:
    request = api.SetWorkersRequest(partition=0, workers=2**32 - 1, ttl_s=60)

    assert client.SetWorkers(request).workers == 64


def test_watching_brings_a_message_per_cycle(pool: QueuePool, client: QueuePoolClient) -> None:
    pool.enqueue_many("work", ({"n": n} for n in range(30)), partition_key="bulk")
    stream = client.WatchPartitions(api.WatchPartitionsRequest(), timeout=60)

    messages = [next(stream) for _ in range(5)]
    stream.cancel()

    assert all([p.partition for p in m.partitions] == [0, 1] for m in messages)
    times = [m.partitions[0].observed_ms for m in messages]
    assert times == sorted(set(times))
    assert sum(p.backlog for p in messages[-1].partitions) == 30


def test_watching_one_partition_at_an_interval(shared: QueuePoolClient) -> None:
    request = api.WatchPartitionsRequest(partitions=[1], min_interval_ms=400)

    def apart_ms() -> int:
        stream = shared.WatchPartitions(request, timeout=60)
        first, second = next(stream), next(stream)
        stream.cancel()
        assert [p.partition for p in first.partitions] == [1]
        return int(second.partitions[0].observed_ms - first.partitions[0].observed_ms)

    # The second may show a cycle soon after the first, if the server stood still in between.
    assert any(apart_ms() >= 300 for _ in range(3))


def test_decisions_carry_their_inputs(pool: QueuePool, client: QueuePoolClient) -> None:
    owner = FakeOwner(pool.partition(0), workers=100)  # above the maximum: it must come down
    obey_until(owner, lambda: owner.workers == 64)

    def down() -> list[decision_pb2.Decision]:
        page = client.ListDecisions(api.ListDecisionsRequest(partition=0, page_size=10**6))
        kind = decision_pb2.DECISION_TYPE_SCALE_DOWN
        return [d for d in page.decisions if d.type == kind]

    wait_until(down)
    decision = down()[0]
    assert (decision.previous_target, decision.target) == (100, 64)
    assert decision.inputs.workers == 100
    assert "max_workers" in decision.clamps
    assert decision.command_id == owner.scales()[0].id


def test_health_is_serving_and_reflection_is_off(running: Process, client: QueuePoolClient) -> None:
    with grpc.insecure_channel(running.grpc) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        request = health_pb2.HealthCheckRequest(service="queuepool.rpc.v1.QueuePool")
        wait_until(lambda: health.Check(request).status == health_pb2.HealthCheckResponse.SERVING)

        reflection: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
        with pytest.raises(grpc.RpcError) as caught:
            list(reflection.ServerReflectionInfo(iter([_list_services()])))
    assert code_of(caught.value) is grpc.StatusCode.UNIMPLEMENTED


def _list_services() -> reflection_pb2.ServerReflectionRequest:
    return reflection_pb2.ServerReflectionRequest(list_services="")


def test_reflection_can_be_switched_on(process: StartProcess) -> None:
    running = process(grpc_reflection="true")

    with grpc.insecure_channel(running.grpc) as channel:
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
        answer = next(iter(stub.ServerReflectionInfo(iter([_list_services()]))))

    names = {service.name for service in answer.list_services_response.service}
    assert "queuepool.rpc.v1.QueuePool" in names


def test_with_a_token_only_its_bearer_gets_an_answer(process: StartProcess) -> None:
    running = process(grpc_token="old-token,right-token")

    for token in (None, "wrong-token"):
        with (
            connect(running.grpc, token, deadline_s=30) as client,
            pytest.raises(grpc.RpcError) as caught,
        ):
            client.GetCluster(api.GetClusterRequest())
        assert code_of(caught.value) is grpc.StatusCode.UNAUTHENTICATED
    for token in ("right-token", "old-token"):
        with connect(running.grpc, token, deadline_s=30) as client:
            wait_until(lambda made=client: _cluster(made).leader.is_me)  # type: ignore[misc]
    running.stop()
    assert not any("-token" in line for line in running.log)


def test_only_so_many_streams_are_open_at_once(running: Process, client: QueuePoolClient) -> None:
    clients = [connect(running.grpc, deadline_s=30) for _ in range(2)]
    streams = [c.WatchPartitions(api.WatchPartitionsRequest()) for c in clients for _ in range(32)]
    try:
        for stream in streams:
            next(stream)

        with pytest.raises(grpc.RpcError) as caught:
            next(client.WatchPartitions(api.WatchPartitionsRequest(), timeout=60))

        assert code_of(caught.value) is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert client.GetCluster(api.GetClusterRequest()).cluster.leader.is_me
    finally:
        for each in clients:
            each.close()

    def there_is_room() -> bool:
        stream = client.WatchPartitions(api.WatchPartitionsRequest(), timeout=60)
        try:
            return bool(next(stream).partitions)
        except grpc.RpcError:
            return False
        finally:
            stream.cancel()

    wait_until(there_is_room)


def test_a_caller_that_does_not_read_costs_no_memory(
    running: Process, client: QueuePoolClient
) -> None:
    def resident_kb() -> int:
        status = Path(f"/proc/{running.popen.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0])

    stream = client.WatchPartitions(api.WatchPartitionsRequest())
    next(stream)
    before_kb = resident_kb()
    probe = client.WatchPartitions(api.WatchPartitionsRequest(), timeout=60)
    for _ in range(20):  # twenty cycles pass; the first stream is not read
        next(probe)
    probe.cancel()

    assert resident_kb() - before_kb < 4_096
    stream.cancel()
