"""Follows a coordinator in a thread of its own: one stream, however many people watch."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from queuepool.errors import QueuePoolError
from queuepool.models.doctor import Verdict
from queuepool.web.live.board import Board

_CLUSTER_S = 3.0  # between questions about leader and servers
_PAUSES_S = (0.5, 1.0, 2.0, 5.0)
_START_S = 10.0  # in which a coordinator that starts beside the page is not missed
_log = logging.getLogger("queuepool.web")


class Watcher:
    """Keeps the board up to date. connect: returns a client of the API; close() when done."""

    def __init__(
        self,
        board: Board,
        connect: Callable[[], Any],
        changed: Callable[[], None],
        *,
        interval_ms: int = 1000,
    ) -> None:
        self._board, self._connect, self._changed = board, connect, changed
        self._interval_ms = interval_ms
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begin to follow, once; a later call does nothing."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="web-watcher", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End, and wait for the thread a moment. Idempotent."""
        self._stop.set()
        thread = self._thread
        if thread is not None:
            thread.join(2.0)

    def _run(self) -> None:
        started_s, failures, told = time.monotonic(), 0, ""
        while not self._stop.is_set():
            began_s = time.monotonic()
            try:
                self._follow()
                problem = "the coordinator ended the stream"
            except QueuePoolError as error:
                problem = str(error)
            except (
                Exception
            ) as error:  # grpc's, which is imported late; also what we did not think of
                problem = _sentence(error)
            if self._stop.is_set():
                return
            if time.monotonic() - began_s > 10:
                failures = 0
            look = self._board.look
            if not look.problem:
                told = ""
            starting = look.cluster is None and time.monotonic() - started_s < _START_S
            if problem != told and not starting:
                _log.warning("no data from the coordinator: %s", problem)
                told = problem
            self._board.fail(problem)
            self._changed()
            self._stop.wait(_PAUSES_S[min(failures, len(_PAUSES_S) - 1)])
            failures += 1

    def _follow(self) -> None:
        from queuepool.rpc.listening import Listening, silent_after_s
        from queuepool.rpc.v1 import queue_pool_pb2 as api

        client = self._connect()
        try:
            cluster, verdict, asked_s = None, None, float("-inf")
            request = api.WatchPartitionsRequest(min_interval_ms=self._interval_ms)
            listening = Listening(client.WatchPartitions(request), self._stop)
            for message in listening:
                if self._stop.is_set():
                    return
                if time.monotonic() - asked_s > _CLUSTER_S:
                    cluster = client.GetCluster(api.GetClusterRequest()).cluster
                    listening.silent_s = silent_after_s(cluster.cycle_s)
                    verdict = _verdict(client)
                    asked_s = time.monotonic()
                self._board.take(message.partitions, cluster, time.time(), verdict)
                self._changed()
        finally:
            client.close()


def _verdict(client: Any) -> Verdict | None:
    """Return what is wrong with the queue; None before the first look, and of earlier releases."""
    import grpc

    from queuepool.rpc.doctor import verdict_of
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    try:
        return verdict_of(client.Doctor(api.DoctorRequest()).verdict)
    except grpc.RpcError as error:
        if error.code() in (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.UNAVAILABLE):
            return None
        raise


def _sentence(error: Exception) -> str:
    import grpc

    if isinstance(error, grpc.RpcError):
        code, details = error.code(), error.details() or ""
        if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
            return "no coordinator responds"
        return f"the coordinator refused: {details}"
    _log.error("the page failed to read the queue", exc_info=error)
    return f"{type(error).__name__}: {error}"
