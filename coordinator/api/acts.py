"""The calls of the API that change something: worker counts, scaling, holds, groups, limits.

They are for operators only (queuepool.rpc.auth), and each leaves a line in the audit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import grpc

from coordinator.api.calls import (
    Context,
    LimitTarget,
    abort,
    caller,
    pool_of,
    target_of,
    with_status_codes,
)
from coordinator.api.cluster_info import ClusterInfo
from coordinator.api.flows import UnknownBatchError
from coordinator.api.operators import Operators
from queuepool.client.editing import UnchangeableJobError, UnknownJobError
from queuepool.client.holding import UnknownGroupError
from queuepool.client.limits import UnknownLimitError
from queuepool.client.scaling import ChangedMeanwhileError, UnreadableRecordError
from queuepool.client.schedules import UnknownScheduleError
from queuepool.errors import InvalidInputError, ScriptError
from queuepool.rpc.limits import limit_of
from queuepool.rpc.scaling import message_of
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.rpc.v1.queue_pool_pb2_grpc import QueuePoolServicer

T = TypeVar("T")
_UNKNOWN = (
    *(UnknownGroupError, UnknownLimitError, UnknownScheduleError, UnknownBatchError),
    UnknownJobError,
)


class OperatorCalls(QueuePoolServicer):
    """The part of the service that is for operators. Runs on one event loop."""

    def __init__(self, info: ClusterInfo, operators: Operators) -> None:
        self._info, self._operators = info, operators

    @with_status_codes
    async def SetWorkers(  # noqa: N802 - the names, of calls and arguments, are the API's
        self, request: api.SetWorkersRequest, context: Context
    ) -> api.SetWorkersResponse:
        await self._check_partition(request.partition, context)
        workers, until_ms = await self._operators.act_off_loop(
            lambda: self._operators.scaling.set_workers(
                request.partition,
                request.workers,
                request.ttl_s,
                pool=pool_of(request),
                reason=request.reason,
                actor=caller(context),
            )
        )
        return api.SetWorkersResponse(workers=workers, manual_until_ms=until_ms)

    @with_status_codes
    async def ClearWorkers(  # noqa: N802
        self, request: api.ClearWorkersRequest, context: Context
    ) -> api.ClearWorkersResponse:
        await self._check_partition(request.partition, context)
        await self._operators.act_off_loop(
            lambda: self._operators.scaling.clear_workers(
                request.partition,
                pool=pool_of(request),
                reason=request.reason,
                actor=caller(context),
            )
        )
        return api.ClearWorkersResponse()

    @with_status_codes
    async def Hold(  # noqa: N802
        self, request: api.HoldRequest, context: Context
    ) -> api.HoldResponse:
        return api.HoldResponse(changed=await self._switch(request, context, on=True))

    @with_status_codes
    async def Release(  # noqa: N802
        self, request: api.ReleaseRequest, context: Context
    ) -> api.ReleaseResponse:
        return api.ReleaseResponse(changed=await self._switch(request, context, on=False))

    @with_status_codes
    async def ConfigureGroup(  # noqa: N802
        self, request: api.ConfigureGroupRequest, context: Context
    ) -> api.ConfigureGroupResponse:
        changed = await self._act(
            context,
            lambda: self._operators.configure(
                request.partition_key,
                max_running=request.max_running if request.HasField("max_running") else None,
                serial=request.serial if request.HasField("serial") else None,
                weight=request.weight if request.HasField("weight") else None,
                tier=request.tier if request.HasField("tier") else None,
                create=request.create,
                reason=request.reason,
                actor=caller(context),
            ),
        )
        return api.ConfigureGroupResponse(changed=changed)

    @with_status_codes
    async def ConfigureTenant(  # noqa: N802
        self, request: api.ConfigureTenantRequest, context: Context
    ) -> api.ConfigureTenantResponse:
        changed = await self._act(
            context,
            lambda: self._operators.configure_tenant(
                request.tenant,
                max_running=request.max_running if request.HasField("max_running") else None,
                weight=request.weight if request.HasField("weight") else None,
                reason=request.reason,
                actor=caller(context),
            ),
        )
        return api.ConfigureTenantResponse(changed=changed)

    @with_status_codes
    async def SetLimit(  # noqa: N802
        self, request: api.SetLimitRequest, context: Context
    ) -> api.SetLimitResponse:
        limit, reason, actor = limit_of(request), request.reason, caller(context)
        return api.SetLimitResponse(
            changed=await self._act(
                context, lambda: self._operators.limits.set(limit, reason=reason, actor=actor)
            )
        )

    @with_status_codes
    async def PauseLimit(  # noqa: N802
        self, request: api.PauseLimitRequest, context: Context
    ) -> api.PauseLimitResponse:
        changed = await self._act(
            context,
            lambda: self._operators.limits.pause(
                request.limit, on=request.paused, reason=request.reason, actor=caller(context)
            ),
        )
        return api.PauseLimitResponse(changed=changed)

    @with_status_codes
    async def RemoveLimit(  # noqa: N802
        self, request: api.RemoveLimitRequest, context: Context
    ) -> api.RemoveLimitResponse:
        changed = await self._act(
            context,
            lambda: self._operators.limits.remove(
                request.limit, reason=request.reason, actor=caller(context)
            ),
        )
        return api.RemoveLimitResponse(changed=changed)

    @with_status_codes
    async def SetPolicy(  # noqa: N802
        self, request: api.SetPolicyRequest, context: Context
    ) -> api.SetPolicyResponse:
        before, after = await self._act(
            context,
            lambda: self._operators.scaling.set_policy(
                dict(request.changes),
                pool=pool_of(request),
                version=request.version if request.HasField("version") else None,
                replace=request.replace,
                reason=request.reason,
                actor=caller(context),
            ),
        )
        return api.SetPolicyResponse(before=message_of(before), after=message_of(after))

    async def _switch(
        self, request: api.HoldRequest | api.ReleaseRequest, context: Context, *, on: bool
    ) -> int:
        what = target_of(request)
        if what is None or isinstance(what, LimitTarget):
            raise InvalidInputError(
                "name a partition_key, a tenant, a task, a partition, or all=true"
            )
        if request.pool and not isinstance(what, int) and what != "all":
            raise InvalidInputError(
                "groups, tenants and tasks are held in all pools: omit the pool"
            )
        if isinstance(what, int):
            await self._check_partition(what, context)
        pool = pool_of(request) if request.pool else None
        return await self._act(
            context,
            lambda: self._operators.switch(
                what, pool, on=on, reason=request.reason, actor=caller(context)
            ),
        )

    async def _act(self, context: Context, work: Callable[[], T]) -> T:
        try:
            return await self._operators.act_off_loop(work)
        except _UNKNOWN as error:
            await abort(context, grpc.StatusCode.NOT_FOUND, str(error))
        except ChangedMeanwhileError as error:
            await abort(context, grpc.StatusCode.ABORTED, str(error))
        except (UnreadableRecordError, UnchangeableJobError, ScriptError) as error:
            # For the last: the coordinator's user may not, or a key has another type.
            await abort(context, grpc.StatusCode.FAILED_PRECONDITION, str(error))

    async def _check_partition(self, number: int, context: Context) -> None:
        count = self._info.topology.partitions
        if number >= count:
            await abort(
                context,
                grpc.StatusCode.NOT_FOUND,
                f"there is no partition {number}: use 0 to {count - 1}",
            )
