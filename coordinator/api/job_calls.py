"""The calls of the API that act on jobs; for operators only, and audited."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from coordinator.api.calls import Context, caller, with_status_codes
from coordinator.api.flow_calls import FlowCalls, read_payload
from coordinator.api.jobs import CHANGE_S
from queuepool.rpc.jobs import job_change, number_of_state
from queuepool.rpc.v1 import job_pb2
from queuepool.rpc.v1 import queue_pool_pb2 as api


class JobCalls(FlowCalls):
    """The part of the service that acts on jobs. Runs on one event loop."""

    @with_status_codes
    async def ReplayJobs(  # noqa: N802 - the names, of calls and arguments, are the API's
        self, request: api.ReplayJobsRequest, context: Context
    ) -> api.ReplayJobsResponse:
        change = await self._change(request, context, self._operators.jobs.replay)
        return api.ReplayJobsResponse(change=change)

    @with_status_codes
    async def DiscardJobs(  # noqa: N802
        self, request: api.DiscardJobsRequest, context: Context
    ) -> api.DiscardJobsResponse:
        change = await self._change(request, context, self._operators.jobs.discard)
        return api.DiscardJobsResponse(change=change)

    @with_status_codes
    async def RunJob(  # noqa: N802
        self, request: api.RunJobRequest, context: Context
    ) -> api.RunJobResponse:
        actor = caller(context)
        was = await self._act(context, lambda: self._operators.jobs.run(request, actor=actor))
        return api.RunJobResponse(state=number_of_state(was))

    @with_status_codes
    async def EditJob(  # noqa: N802
        self, request: api.EditJobRequest, context: Context
    ) -> api.EditJobResponse:
        payload, actor = read_payload(request.payload), caller(context)
        state = await self._act(
            context, lambda: self._operators.jobs.edit(request, payload, actor=actor)
        )
        return api.EditJobResponse(state=number_of_state(state))

    async def _change(
        self, request: Any, context: Context, change: Callable[..., Any]
    ) -> job_pb2.JobChange:
        if request.filter.HasField("partition"):
            await self._check_partition(request.filter.partition, context)
        ends, actor = monotonic() + CHANGE_S, caller(context)
        return job_change(await self._act(context, lambda: change(request, ends=ends, actor=actor)))
