"""A coordinator that is lost, and nobody says so: no stream of it ends, and none says anything."""

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from queuepool.cli.inspection.recordings import from_coordinator
from queuepool.rpc import listening
from queuepool.rpc.client import connect
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.rpc.v1.cluster_pb2 import Cluster
from queuepool.rpc.v1.partition_pb2 import PartitionState, Totals
from queuepool.rpc.v1.queue_pool_pb2_grpc import QueuePoolServicer, add_QueuePoolServicer_to_server
from queuepool.web.live.board import Board
from queuepool.web.live.watcher import Watcher
from tests.waiting import wait_until


class Coordinator(QueuePoolServicer):
    """Says one thing on each stream, and the next when a test lets it."""

    def __init__(self, cycle_s: float = 1.0) -> None:
        self.cycle_s, self.streams, self.ended = cycle_s, 0, 0
        self.speaks = threading.Event()

    def WatchPartitions(  # noqa: N802 - named by the protocol
        self, _request: Any, context: grpc.ServicerContext
    ) -> Iterator[api.WatchPartitionsResponse]:
        self.streams += 1
        over = threading.Event()
        context.add_callback(over.set)
        yield self.message(1)
        while not over.is_set() and not self.speaks.wait(0.02):
            pass
        if self.speaks.is_set():
            yield self.message(2)
        over.wait()
        self.ended += 1

    def Record(  # noqa: N802
        self, _request: Any, context: grpc.ServicerContext
    ) -> Iterator[api.RecordResponse]:
        over = threading.Event()
        context.add_callback(over.set)
        while not over.is_set() and not self.speaks.wait(0.02):
            pass
        yield api.RecordResponse(lines=b"line\n", cycles=1)

    def message(self, backlog: int) -> api.WatchPartitionsResponse:
        return api.WatchPartitionsResponse(
            partitions=[PartitionState(partition=0, backlog=backlog, totals=Totals())]
        )

    def GetCluster(self, _request: Any, _context: Any) -> api.GetClusterResponse:  # noqa: N802
        return api.GetClusterResponse(cluster=Cluster(cycle_s=self.cycle_s))

    def Doctor(self, _request: Any, _context: Any) -> api.DoctorResponse:  # noqa: N802
        return api.DoctorResponse()


@contextlib.contextmanager
def serving(coordinator: Coordinator) -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(8))
    add_QueuePoolServicer_to_server(coordinator, server)
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield address
    finally:
        server.stop(0).wait(60)


class Page:
    """What a page knows, and the problems that it has told so far."""

    def __init__(self, address: str) -> None:
        self.board, self.told = Board(), list[str]()
        self.watcher = Watcher(self.board, lambda: connect(address), self._changed)

    def _changed(self) -> None:
        self.told.append(self.board.look.problem)

    def __enter__(self) -> "Page":
        self.watcher.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.watcher.stop()


def test_a_page_leaves_a_stream_that_has_fallen_silent_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listening, "SILENT_S", 0.3)
    coordinator = Coordinator(cycle_s=0.05)
    with serving(coordinator) as address, Page(address) as page:
        wait_until(lambda: any("silent" in problem for problem in page.told))
        wait_until(lambda: coordinator.streams > 1 and page.told[-1] == "")

        wait_until(lambda: coordinator.ended >= 1)  # it leaves no stream open
        coordinator.speaks.set()
        wait_until(lambda: page.board.look.places[0].backlog == 2)


def test_a_page_waits_for_a_coordinator_whose_cycles_are_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listening, "SILENT_S", 1.0)
    coordinator = Coordinator(cycle_s=60)
    with serving(coordinator) as address, Page(address) as page:
        wait_until(lambda: page.told and page.told[-1] == "")  # it knows the cycles now
        streams, told = coordinator.streams, len(page.told)
        assert not coordinator.speaks.wait(3.0)  # a cycle of several times the usual limit
        coordinator.speaks.set()
        wait_until(lambda: page.board.look.places[0].backlog == 2)

    assert coordinator.streams == streams
    assert not any(page.told[told:])


def test_a_recording_waits_for_a_coordinator_whose_cycles_are_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listening, "SILENT_S", 0.3)
    coordinator, stopping = Coordinator(cycle_s=60), threading.Event()
    speaks_later = threading.Timer(1.5, coordinator.speaks.set)
    speaks_later.start()
    with serving(coordinator) as address:
        parts = from_coordinator(address, stopping)
        assert parts is not None
        assert next(parts).lines == b"line\n"

        stopping.set()
        assert list(parts) == []


def test_a_page_that_is_closed_hangs_up() -> None:
    coordinator = Coordinator()
    with serving(coordinator) as address:
        with Page(address) as page:
            wait_until(lambda: page.board.look.is_live)

        wait_until(lambda: coordinator.ended == 1)


@pytest.mark.parametrize(
    ("cycle_s", "expected"), [(0.0, 15.0), (1.0, 15.0), (5.0, 15.0), (10.0, 30.0), (60.0, 180.0)]
)
def test_how_long_a_coordinator_may_be_silent(cycle_s: float, expected: float) -> None:
    assert listening.silent_after_s(cycle_s) == expected
