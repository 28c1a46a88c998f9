"""The client and the token check, against a real gRPC server in this process."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from coordinator.api.authorization import Authorization
from queuepool.errors import ConfigurationError
from queuepool.rpc.auth import Access
from queuepool.rpc.client import connect
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.rpc.v1.cluster_pb2 import Cluster
from queuepool.rpc.v1.partition_pb2 import PartitionState
from queuepool.rpc.v1.queue_pool_pb2_grpc import QueuePoolServicer, add_QueuePoolServicer_to_server

TOKEN = "s3cret-of-this-test"


class Coordinator(QueuePoolServicer):
    """Answers just enough to be asked."""

    async def GetCluster(  # noqa: N802 - named by the protocol
        self, request: api.GetClusterRequest, context: Any
    ) -> api.GetClusterResponse:
        return api.GetClusterResponse(cluster=Cluster(stage="test", queue="q"))

    async def GetPartition(  # noqa: N802
        self, request: api.GetPartitionRequest, context: Any
    ) -> api.GetPartitionResponse:
        await asyncio.Event().wait()  # never answers
        raise AssertionError

    async def WatchPartitions(  # noqa: N802
        self, request: api.WatchPartitionsRequest, context: Any
    ) -> AsyncIterator[api.WatchPartitionsResponse]:
        for backlog in range(3):
            states = [PartitionState(partition=p, backlog=backlog) for p in request.partitions]
            yield api.WatchPartitionsResponse(partitions=states)


@contextmanager
def serving(token: str | None) -> Iterator[str]:
    """Run a server on a free port of this machine, in a thread with its own event loop."""
    started, addresses = threading.Event(), list[str]()
    stop: list[Callable[[], object]] = []

    async def serve() -> None:
        server = grpc.aio.server(interceptors=[Authorization(Access([token] if token else []))])
        add_QueuePoolServicer_to_server(Coordinator(), server)
        health_pb2_grpc.add_HealthServicer_to_server(health.aio.HealthServicer(), server)
        addresses.append(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}")
        ended, loop = asyncio.Event(), asyncio.get_running_loop()
        stop.append(lambda: loop.call_soon_threadsafe(ended.set))
        await server.start()
        started.set()
        await ended.wait()
        await server.stop(grace=0)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="rpc-test-server")
    thread.start()
    try:
        assert started.wait(60), "the server did not start"
        yield addresses[0]
    finally:
        for call in stop:
            call()
        thread.join(60)


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    with serving(TOKEN) as address:
        yield address


@pytest.fixture(scope="module")
def unguarded() -> Iterator[str]:
    with serving(None) as address:
        yield address


def test_the_right_token_opens_calls_and_streams(guarded: str) -> None:
    with connect(guarded, token=TOKEN) as pool:
        cluster = pool.GetCluster(api.GetClusterRequest()).cluster
        seen = list(pool.WatchPartitions(api.WatchPartitionsRequest(partitions=[1, 2])))

    assert (cluster.stage, cluster.queue) == ("test", "q")
    assert [[state.backlog for state in message.partitions] for message in seen] == [
        [0, 0],
        [1, 1],
        [2, 2],
    ]


@pytest.mark.parametrize("token", [None, "wrong", TOKEN + "x", TOKEN[:-1], TOKEN.upper()])
def test_no_other_token_is_let_in(guarded: str, token: str | None) -> None:
    with connect(guarded, token=token) as pool:
        for call in (
            lambda: pool.GetCluster(api.GetClusterRequest()),
            lambda: list(pool.WatchPartitions(api.WatchPartitionsRequest(), timeout=30)),
        ):
            with pytest.raises(grpc.RpcError) as refused:
                call()

            assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
            details = str(refused.value.details())
            assert "authorization: Bearer" in details
            assert TOKEN not in details


def test_two_tokens_are_refused_even_if_one_is_right(guarded: str) -> None:
    with (
        connect(guarded, token=TOKEN) as pool,
        pytest.raises(grpc.RpcError) as refused,
    ):
        pool.GetCluster(api.GetClusterRequest(), metadata=(("authorization", "Bearer other"),))

    assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_health_answers_without_a_token(guarded: str) -> None:
    with grpc.insecure_channel(guarded) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=30)

    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_a_server_without_a_token_asks_for_none(unguarded: str) -> None:
    with connect(unguarded) as pool:
        assert pool.GetCluster(api.GetClusterRequest()).cluster.stage == "test"


def test_a_call_that_is_never_answered_ends_at_the_default_deadline(unguarded: str) -> None:
    with (
        connect(unguarded, deadline_s=0.1) as pool,
        pytest.raises(grpc.RpcError) as late,
    ):
        pool.GetPartition(api.GetPartitionRequest(partition=1))

    assert late.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


def test_the_callers_own_deadline_wins(unguarded: str) -> None:
    with (
        connect(unguarded, deadline_s=600) as pool,
        pytest.raises(grpc.RpcError) as late,
    ):
        pool.GetPartition(api.GetPartitionRequest(partition=1), timeout=0.1)

    assert late.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


@pytest.mark.parametrize("token", ["", "two words", "umläut", "line\nbreak"])
def test_a_token_that_no_header_can_carry_is_refused_at_once(token: str) -> None:
    with pytest.raises(ConfigurationError, match="printable ASCII"):
        connect("127.0.0.1:1", token=token)
    with pytest.raises(ConfigurationError, match="printable ASCII"):
        Access([token])


def test_a_missing_authority_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "ca.pem"

    with pytest.raises(ConfigurationError, match=r"ca\.pem: No such file"):
        connect("127.0.0.1:1", tls_ca=missing)


def test_closing_twice_is_harmless() -> None:
    pool = connect("127.0.0.1:1")

    pool.close()
    pool.close()


@pytest.mark.parametrize("port", ["", "notaport", "0", "65536", "-1", "7070x"])
def test_an_address_without_a_port_is_refused_before_it_is_called(port: str) -> None:
    with pytest.raises(ConfigurationError, match="use HOST:PORT"):
        connect(f"127.0.0.1:{port}")


@pytest.mark.parametrize("address", ["localhost:7070", "unix:api", "dns:///h:1", "[::1]:7070"])
def test_other_addresses_that_grpc_knows_are_left_to_it(address: str) -> None:
    with connect(address) as client:
        assert client is not None
