"""A coordinator that answers with what a test says, and remembers what it was asked to do."""

import threading
from collections.abc import Iterator
from typing import Any

import grpc

from queuepool.rpc.v1 import cluster_pb2, partition_pb2, policy_pb2
from queuepool.rpc.v1 import queue_pool_pb2 as api


def state(number: int, **known: Any) -> partition_pb2.PartitionState:
    """Return a partition that is owned and idle, but for what is known of it."""
    known = {"backlog": 0, "observed_ms": 1_700_000_000_000} | known
    if known.pop("owned", True):
        known["owner"] = partition_pb2.Owner(
            id=f"host:{number}", host="host", epoch=7, lease_remaining_ms=900
        )
    workers = partition_pb2.Workers(target=8, running=8, busy=known.pop("busy", 0))
    return partition_pb2.PartitionState(
        partition=number, server="main", workers=workers, totals=partition_pb2.Totals(), **known
    )


class Stream:
    """A stream of one observation, which then goes on until it is cancelled."""

    def __init__(self, coordinator: "FakeCoordinator") -> None:
        self._coordinator, self._ended = coordinator, threading.Event()

    def __iter__(self) -> Iterator[api.WatchPartitionsResponse]:
        yield api.WatchPartitionsResponse(partitions=self._coordinator.states)
        self._ended.wait(30)

    def cancel(self) -> None:
        self._ended.set()


class Away(grpc.RpcError):
    """What a call to a coordinator raises that is away."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def details(self) -> str:
        return ""


class FakeCoordinator:
    """A client of the API without a server behind it."""

    def __init__(self, partitions: int = 4) -> None:
        self.states = [state(number) for number in range(partitions)]
        self.cluster = cluster_pb2.Cluster(
            stage="dev",
            queue="main",
            leader=cluster_pb2.Leader(id="host:1", epoch=3, address="127.0.0.1:7070"),
            partition_count=partitions,
            servers=[cluster_pb2.Server(name="main", partitions=partitions, reachable=True)],
            policy="sized",
            limits=cluster_pb2.Limits(min_workers=8, max_workers=64),
            version="1.2.3",
        )
        self.answers: dict[str, Any] = {
            "GetCluster": api.GetClusterResponse(cluster=self.cluster),
            "Hold": api.HoldResponse(changed=1),
            "Release": api.ReleaseResponse(changed=1),
            "SetWorkers": api.SetWorkersResponse(workers=12),
            "ListDecisions": api.ListDecisionsResponse(),
            "GetPolicy": api.GetPolicyResponse(
                record=policy_pb2.ScalingRecord(version=4, values={"max_workers": "32"}),
                in_force=policy_pb2.InForce(policy="sized", mode="auto", profile="normal"),
            ),
        }
        self.asked: list[tuple[str, Any]] = []

    def WatchPartitions(self, _request: Any) -> Stream:  # noqa: N802 - as the API says
        return Stream(self)

    def __getattr__(self, name: str) -> Any:
        if not name[0].isupper():
            raise AttributeError(name)

        def call(request: Any) -> Any:
            self.asked.append((name, request))
            return self.answers.get(name) or getattr(api, f"{name}Response")()

        return call

    def close(self) -> None:
        pass
