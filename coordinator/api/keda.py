"""How many consumers there should be, for KEDA, which scales their Deployment in Kubernetes.

    consumers wanted = partitions with something to do + standbys

A partition that was not observed lately counts as one with something to do, so that an outage of a
server ends no consumer. An idle consumer leaves its partition for one that has work, so the number
of consumers may lie below that of partitions.

KEDA sends no metadata, so the token comes in the request: `tokenFromEnv` of the trigger names a
variable of the consumers' container, whose value KEDA sends. A viewer's token suffices. Off unless
COORDINATOR_KEDA says so.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import grpc
import grpc.aio

from coordinator.api.budgets import YieldingPlaces
from coordinator.api.calls import Context
from coordinator.api.changes import SnapshotChanges
from coordinator.api.open_calls import RefusedError, answer_in, read_small
from coordinator.api.operators import Operators
from coordinator.core.model import PartitionView
from coordinator.settings import CoordinatorSettings
from coordinator.snapshots.store import SnapshotStore
from queuepool.errors import ConfigurationError
from queuepool.rpc.auth import Access
from queuepool.rpc.client import bearer
from queuepool.rpc.keda import externalscaler_pb2 as api

SERVICE: Final = api.DESCRIPTOR.services_by_name["ExternalScaler"].full_name
METRIC: Final = "queuepool-consumers"
_MOST_BYTES = 16_384
_MOST_STANDBYS = 4_096
_CALLS, _CALLS_EACH, _CALL_S = 64, 32, 5.0
_STREAMS, _STREAMS_EACH, _STREAM_S = 32, 8, 600.0


def consumers_wanted(views: Sequence[PartitionView], standbys: int) -> int:
    """Return how many consumers there should be. views: of partitions and of their pools."""
    busy = {
        view.partition
        for view in views
        if view.problem or view.state is None or view.state.has_work
    }
    return len(busy) + standbys


class KedaScaler:
    """Answers KEDA. Lives on one event loop; the store wakes it. of_pools: views of named pools."""

    def __init__(
        self,
        access: Access,
        store: SnapshotStore,
        of_pools: Callable[[], Sequence[PartitionView]],
        *,
        stream_s: float = _STREAM_S,
    ) -> None:
        self._access, self._stream_s = access, stream_s
        self._store, self._of_pools = store, of_pools
        self._changes = SnapshotChanges(store)
        self._calls = YieldingPlaces(_CALLS, _CALLS_EACH)
        self._streams = YieldingPlaces(_STREAMS, _STREAMS_EACH)

    def add_to(self, server: grpc.aio.Server) -> None:
        """Make a server answer these calls."""

        def handler(call: Any, response: Any) -> Any:
            write = response.SerializeToString
            return grpc.stream_stream_rpc_method_handler(call, response_serializer=write)

        calls = {
            "IsActive": handler(self._is_active, api.IsActiveResponse),
            "StreamIsActive": handler(self._stream, api.IsActiveResponse),
            "GetMetricSpec": handler(self._spec, api.GetMetricSpecResponse),
            "GetMetrics": handler(self._metrics, api.GetMetricsResponse),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, calls),))
        server.add_registered_method_handlers(SERVICE, calls)

    async def _is_active(self, _requests: Any, context: Context) -> None:
        def active(ref: Any) -> Any:
            return api.IsActiveResponse(result=self._wanted(ref) > 0)

        await self._reply(context, api.ScaledObjectRef, active)

    async def _spec(self, _requests: Any, context: Context) -> None:
        spec = api.MetricSpec(metricName=METRIC, targetSize=1, targetSizeFloat=1.0)
        reply = api.GetMetricSpecResponse(metricSpecs=[spec])
        await self._reply(context, api.ScaledObjectRef, lambda _ref: reply)

    async def _metrics(self, _requests: Any, context: Context) -> None:
        def value(ref: Any) -> Any:
            wanted = self._wanted(ref)
            found = api.MetricValue(
                metricName=METRIC, metricValue=wanted, metricValueFloat=float(wanted)
            )
            return api.GetMetricsResponse(metricValues=[found])

        await self._reply(context, api.GetMetricsRequest, value)

    async def _reply(self, context: Context, message: Any, of: Callable[[Any], Any]) -> None:
        """Answer a call of one message by what `of` makes of the object that it is about."""

        async def answer() -> None:
            await context.write(of(await self._ref(context, message)))

        await answer_in(self._calls, context, _CALL_S, answer, what="call")

    async def _stream(self, _requests: Any, context: Context) -> None:
        async def answer() -> None:
            async with asyncio.timeout(_CALL_S):
                ref = await self._ref(context, api.ScaledObjectRef)
            last = None
            while True:
                changed, active = self._changes.following, self._wanted(ref) > 0
                if active != last:
                    await context.write(api.IsActiveResponse(result=active))
                last = active
                await changed.wait()

        await answer_in(self._streams, context, self._stream_s, answer, what="stream")

    async def _ref(self, context: Context, message: Any) -> Any:
        """Return the object that a call is about, once its token is known. Raises RefusedError."""
        request = await read_small(context, message, _MOST_BYTES)
        ref = request if message is api.ScaledObjectRef else request.scaledObjectRef
        given = ref.scalerMetadata.get("tokenFromEnv", "")
        metadata = [_bearer(given)] if given else context.invocation_metadata()
        if self._access.by_token(metadata) is None:
            raise RefusedError(
                grpc.StatusCode.UNAUTHENTICATED,
                "this server requires a token: in the trigger's metadata, let tokenFromEnv name a "
                "variable of the scaled container that holds a viewer's token",
            )
        return ref

    def _wanted(self, ref: Any) -> int:
        text = ref.scalerMetadata.get("standbys", "1")
        if re.fullmatch("[0-9]{1,4}", text) is None or int(text) > _MOST_STANDBYS:
            raise RefusedError(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"standbys must be a whole number from 0 to {_MOST_STANDBYS}",
            )
        snapshot = self._store.snapshot
        if snapshot.at_s is None:
            raise RefusedError(
                grpc.StatusCode.UNAVAILABLE, "nothing was observed yet; call again in a second"
            )
        return consumers_wanted([*snapshot.partitions, *self._of_pools()], int(text))


def _bearer(token: str) -> tuple[str, str]:
    try:
        return bearer(token)
    except ConfigurationError:  # no header could carry it, so it is not one of ours
        return bearer("?")


def scaler_of(
    settings: CoordinatorSettings, store: SnapshotStore, operators: Operators
) -> KedaScaler | None:
    """Return the scaler that the settings ask for."""
    if not settings.keda:
        return None
    return KedaScaler(settings.access(), store, operators.scaling.views_of_pools)
