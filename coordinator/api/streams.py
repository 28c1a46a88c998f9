"""The calls of the API that send something after each cycle, until the caller hangs up."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
import time
from collections.abc import AsyncIterator
from typing import Any

import grpc

from coordinator.api import messages
from coordinator.api.calls import Context, abort, pool_of
from coordinator.api.changes import SnapshotChanges
from coordinator.api.cluster_info import ClusterInfo
from coordinator.api.inspection import InspectionCalls
from coordinator.api.operators import Operators
from coordinator.api.recording import NotLeadingError, TooManyFollowersError, recorded
from coordinator.core.model import PartitionView, Snapshot
from coordinator.snapshots.cycles import CycleFeed
from coordinator.snapshots.shadows import ShadowBoard
from coordinator.snapshots.store import SnapshotStore
from coordinator.snapshots.verdict import VerdictBoard
from queuepool.errors import InvalidInputError, UnavailableError
from queuepool.models.places import DEFAULT_POOL
from queuepool.rpc.v1 import queue_pool_pb2 as api

_log = logging.getLogger("coordinator.status")

_MAX_INTERVAL_S = 60.0
_MAX_STREAM_S = 3600.0  # then callers call again, and are authorized again


class StreamCalls(InspectionCalls):
    """The part of the service that streams. Runs on one event loop; the store wakes it."""

    def __init__(
        self,
        info: ClusterInfo,
        store: SnapshotStore,
        operators: Operators,
        *,
        max_stream_s: float = _MAX_STREAM_S,
        cycles: CycleFeed | None = None,
        shadows: ShadowBoard | None = None,
        verdicts: VerdictBoard | None = None,
    ) -> None:
        super().__init__(info, operators)
        self._store = store
        self._cycles, self._shadows = cycles or CycleFeed(), shadows or ShadowBoard()
        self._verdicts = verdicts or VerdictBoard()
        self._max_stream_s = max_stream_s
        self._changes = SnapshotChanges(store)
        self._id = f"{platform.node()}:{os.getpid()}"

    async def WatchPartitions(  # noqa: N802
        self, request: api.WatchPartitionsRequest, context: Context
    ) -> AsyncIterator[api.WatchPartitionsResponse]:
        """Send the latest snapshot after each cycle, for at most an hour.

        A slow reader misses cycles, but messages never pile up here: the next one is created when
        the previous one has been sent.
        """
        for number in request.partitions:
            await self._check_partition(number, context)
        try:
            async for message in self._messages(request):
                yield message
        except Exception:
            _log.exception("WatchPartitions failed")
            await abort(
                context, grpc.StatusCode.INTERNAL, "unexpected error; see the coordinator's log"
            )

    async def Record(  # noqa: N802
        self, request: api.RecordRequest, context: Context
    ) -> AsyncIterator[api.RecordResponse]:
        """Send the cycles of this leader, for at most an hour; see coordinator.api.recording."""
        try:
            store, cycles, _ = await self._followed(pool := pool_of(request))
            async with contextlib.aclosing(
                recorded(cycles, store, self._operators, for_s=self._max_stream_s, pool=pool)
            ) as found:
                async for message in found:
                    yield message
        except InvalidInputError as error:
            await abort(context, grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except NotLeadingError as error:
            await abort(context, grpc.StatusCode.FAILED_PRECONDITION, str(error))
        except TooManyFollowersError as error:
            await abort(context, grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
        except UnavailableError as error:  # no thread, or a server is away
            await abort(context, grpc.StatusCode.UNAVAILABLE, str(error))
        except Exception:
            _log.exception("Record failed")
            await abort(
                context, grpc.StatusCode.INTERNAL, "unexpected error; see the coordinator's log"
            )

    async def _messages(
        self, request: api.WatchPartitionsRequest
    ) -> AsyncIterator[api.WatchPartitionsResponse]:
        wanted = frozenset(request.partitions)
        interval_s = min(request.min_interval_ms / 1000, _MAX_INTERVAL_S)
        sent_cycle, end_s = 0, time.monotonic() + self._max_stream_s
        while (left_s := end_s - time.monotonic()) > 0:
            changed, snapshot = self._changes.following, self._store.snapshot
            if snapshot.cycle == sent_cycle:
                with contextlib.suppress(TimeoutError):  # a caller that hangs up cancels us
                    await asyncio.wait_for(changed.wait(), left_s)
                continue
            sent_cycle = snapshot.cycle
            yield api.WatchPartitionsResponse(
                partitions=[
                    self._message(view)
                    for view in self._views(snapshot)
                    if not wanted or view.partition in wanted
                ]
            )
            if interval_s:
                await asyncio.sleep(interval_s)

    async def _followed(self, pool: str) -> tuple[SnapshotStore, CycleFeed, ShadowBoard]:
        """Return what is published about a pool. Raises InvalidInputError, UnavailableError."""
        if pool == DEFAULT_POOL:
            return self._store, self._cycles, self._shadows
        found = await self._operators.off_loop(lambda: self._operators.scaling.other_pool(pool))
        return found.store, found.cycles, found.shadows

    def _views(self, snapshot: Snapshot) -> list[PartitionView]:
        """Return the partitions, then the other pools that they have."""
        return [*snapshot.partitions, *self._operators.scaling.views_of_pools()]

    def _message(self, view: PartitionView) -> Any:
        return messages.partition(
            view, now_s=time.monotonic(), stale_after_s=2 * self._info.cycle_s
        )
