"""The move of slots as the gRPC API of a real coordinator, which makes it, shows it."""

from __future__ import annotations

import grpc
import pytest

from queuepool.cli.display.moves import describe
from queuepool.cli.inspection.moving import Moves
from queuepool.client.pool import QueuePool
from queuepool.rpc.client import QueuePoolClient
from queuepool.rpc.v1 import move_pb2
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.integration.coordinator.cluster import Process
from tests.integration.coordinator.test_process import get
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("coordinator-process")
KEY = "import-42"  # of partition 1


def listed(client: QueuePoolClient) -> list[move_pb2.Move]:
    return list(client.ListMoves(api.ListMovesRequest()).moves)


def test_a_move_is_shown_while_it_is_under_way_and_afterwards(
    pool: QueuePool, running: Process, client: QueuePoolClient
) -> None:
    pool.enqueue_many("t", [{}] * 3, partition_key=KEY)
    owned = pool.partition(1).acquire(lease_s=60)
    assert not isinstance(owned, own.Held)
    claims = w.claim(owned, 1)
    assert listed(client) == []
    wait_until(lambda: client.GetCluster(api.GetClusterRequest()).cluster.leader.id)

    moves = Moves(pool)
    moves.set_partitions(1)
    [under_way] = listed(client)
    wait_until(lambda: "queuepool_move_running 1.0" in get(running.metrics))
    w.finish(owned, claims)
    wait_until(lambda: moves.facts().under_way is None)
    [ended] = listed(client)
    wait_until(lambda: "queuepool_move_running 0.0" in get(running.metrics))
    assert "queuepool_move_jobs_carried_total 2.0" in get(running.metrics)

    assert (under_way.stage, under_way.before, under_way.to) == ("moving", 2, 1)
    assert under_way.asked_ms > 0
    assert under_way.slots_moved < under_way.slots == 2048  # one has a job that runs
    assert (ended.stage, ended.before, ended.to, ended.slots) == ("ended", 2, 1, 0)
    answer = client.ListMoves(api.ListMovesRequest())
    said = describe(moves.facts())
    assert (answer.partitions, answer.version) == (said["partitions"], said["version"])
    assert (ended.stage, ended.reason) == (said["stage"], said["reason"])


def test_a_damaged_move_is_told_as_such(pool: QueuePool, client: QueuePoolClient) -> None:
    record = pool.route.read()
    assert record is not None
    server, key = pool.system
    verb = operate.change_route(record.version, "n", {"move": "{"})
    assert verb.read(server.run(key, [verb])[0])[0]

    with pytest.raises(grpc.RpcError, match="the move in the route record cannot be read") as told:
        client.ListMoves(api.ListMovesRequest())

    assert told.value.code() is grpc.StatusCode.FAILED_PRECONDITION
