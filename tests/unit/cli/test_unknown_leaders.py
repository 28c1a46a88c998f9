"""Nobody leads, or nobody can say who does: a coordinator tells these apart, so do commands."""

from types import SimpleNamespace
from typing import Any

import pytest

from coordinator.api.service import leader_message
from coordinator.core.model import Snapshot
from queuepool.cli.inspection.sources import CoordinatorSource
from queuepool.rpc.v1 import cluster_pb2
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.web.live.board import Board
from queuepool.web.verdict import verdict_of
from tests.unit.web.coordinator import state


@pytest.mark.parametrize(
    ("snapshot", "leader", "known"),
    [
        (Snapshot(cycle=1, leader_known=False, leader_lease_ms=900), "", False),
        (Snapshot(cycle=1, leader_known=True), "", True),
        (
            Snapshot(cycle=1, leader_known=True, leader_lease_ms=9, leader_address="b:1"),
            "b:1",
            True,
        ),
        (Snapshot(cycle=1, leading=True, leader_epoch=3), "a:1", True),
    ],
)
def test_a_leader_is_unknown_only_while_its_own_server_does_not_answer(
    snapshot: Snapshot, leader: str, known: bool
) -> None:
    cluster = cluster_pb2.Cluster(leader=leader_message(snapshot, "a:1"))
    away = state(1, error="TimeoutError")  # of another server
    client: Any = SimpleNamespace(
        GetCluster=lambda _: api.GetClusterResponse(cluster=cluster),
        ListPartitions=lambda _: api.ListPartitionsResponse(partitions=[state(0), away]),
    )

    view = CoordinatorSource(client, "a:1").look()

    assert (view.leader, view.leader_known) == (leader, known)
    assert view.rows[1].problem


@pytest.mark.parametrize("unknown", [False, True])
def test_the_page_asks_for_a_leader_only_where_nobody_leads(unknown: bool) -> None:
    board = Board()
    cluster = cluster_pb2.Cluster(leader=cluster_pb2.Leader(unknown=unknown))
    board.take([state(0)], cluster, 100.0)

    told = " ".join(one.text for one in verdict_of(board.look, 101.0).findings)

    assert ("no coordinator leads" in told) is not unknown
