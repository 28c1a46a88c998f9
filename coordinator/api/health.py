"""gRPC health, open to all: cheap answers, in places that unknown callers cannot hold.

Probes and streams have separate limits from those of authenticated callers. Neither refuses: the
newest caller replaces the oldest place of the address with the most. A probe is answered as soon as
its request is complete, so only incomplete ones wait long enough to lose their place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2 as api

from coordinator.api.budgets import YieldingPlaces
from coordinator.api.calls import Context
from coordinator.api.changes import Changes
from coordinator.api.open_calls import RefusedError, answer_in, read_small

SERVICE = api.DESCRIPTOR.services_by_name["Health"].full_name

MAX_PROBES, MAX_PROBES_EACH = 256, 128  # in flight, per address
MAX_STREAMS, MAX_STREAMS_EACH = 64, 16
_PROBE_S = 5.0  # for the request to arrive and the reply to leave
_STREAM_S = 600.0  # then callers ask again
_MAX_REQUEST = 256  # bytes: the name of a service

Status, Request = api.HealthCheckResponse, api.HealthCheckRequest


class Health:
    """Answers health checks. Lives on one event loop."""

    def __init__(self, services: Iterable[str], *, stream_s: float = _STREAM_S) -> None:
        self._status: dict[str, Any] = dict.fromkeys(("", *services), Status.NOT_SERVING)
        self._stream_s, self._ended = stream_s, False
        self._changes = Changes()
        self._probes = YieldingPlaces(MAX_PROBES, MAX_PROBES_EACH)
        self._streams = YieldingPlaces(MAX_STREAMS, MAX_STREAMS_EACH)

    def set_all(self, serving: bool) -> None:
        """Set the status for probes and streams, unless `end` was called."""
        if self._ended:
            return
        value = Status.SERVING if serving else Status.NOT_SERVING
        self._status = dict.fromkeys(self._status, value)
        self._changes.note()

    def end(self) -> None:
        """Set NOT_SERVING permanently. Idempotent."""
        self.set_all(False)
        self._ended = True

    def add_to(self, server: grpc.aio.Server) -> None:
        """Make a server answer these calls."""

        # Stream handlers, since those are called before the request arrives: we limit what a
        # caller sends, and when.
        def answered_by(call: Callable[[Any, Context], Awaitable[None]]) -> Any:
            write = Status.SerializeToString
            return grpc.stream_stream_rpc_method_handler(call, response_serializer=write)

        calls = {"Check": answered_by(self._check), "Watch": answered_by(self._watch)}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, calls),))
        server.add_registered_method_handlers(SERVICE, calls)

    async def _check(self, _requests: Any, context: Context) -> None:
        async def answer() -> None:
            status = self._status.get((await read_small(context, Request, _MAX_REQUEST)).service)
            if status is None:
                raise RefusedError(grpc.StatusCode.NOT_FOUND, "unknown service")
            await context.write(Status(status=status))

        await answer_in(self._probes, context, _PROBE_S, answer, what="health check")

    async def _watch(self, _requests: Any, context: Context) -> None:
        async def answer() -> None:
            async with asyncio.timeout(_PROBE_S):
                service = (await read_small(context, Request, _MAX_REQUEST)).service
            last = None
            while True:
                changed = self._changes.following
                status = self._status.get(service, Status.SERVICE_UNKNOWN)
                if status != last:
                    await context.write(Status(status=status))
                last = status
                await changed.wait()

        await answer_in(self._streams, context, self._stream_s, answer, what="health check")
