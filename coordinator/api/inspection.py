"""The calls of the API that look at the servers: for jobs, groups, batches, moves, schedules."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import grpc

from coordinator.api.calls import Context, abort, clamped, with_status_codes
from coordinator.api.job_calls import JobCalls
from queuepool.errors import ConfigurationError, InvalidInputError, ScriptError
from queuepool.models.flows import BatchState
from queuepool.models.places import check_pool
from queuepool.rpc import batches, jobs, moves, schedules
from queuepool.rpc.v1 import queue_pool_pb2 as api

T = TypeVar("T")


class InspectionCalls(JobCalls):
    """The part of the service that looks for something. Runs on one event loop."""

    @with_status_codes
    async def ListGroups(  # noqa: N802 - the names, of calls and arguments, are the API's
        self, request: api.ListGroupsRequest, context: Context
    ) -> api.ListGroupsResponse:
        number, pool = await self._place(request, context)
        token, size = request.page_token, clamped(request.page_size)
        try:
            order = jobs.order_of_number(request.order)
        except ValueError as error:
            raise InvalidInputError(str(error)) from None
        found, following = await self._look(
            context,
            lambda: self._operators.inspection.groups(order, token, size, number, pool),
        )
        return api.ListGroupsResponse(groups=map(jobs.group_load, found), next_page_token=following)

    @with_status_codes
    async def FindJobs(  # noqa: N802
        self, request: api.FindJobsRequest, context: Context
    ) -> api.FindJobsResponse:
        await self._place(request, context)
        size = clamped(request.page_size)
        found, following = await self._look(
            context, lambda: self._operators.inspection.jobs(request, size)
        )
        return api.FindJobsResponse(jobs=map(jobs.job, found), next_page_token=following)

    @with_status_codes
    async def CountJobs(  # noqa: N802
        self, request: api.CountJobsRequest, context: Context
    ) -> api.CountJobsResponse:
        await self._place(request.filter, context)
        found = await self._look(context, lambda: self._operators.inspection.count(request))
        return api.CountJobsResponse(jobs=found)

    @with_status_codes
    async def ListRunning(  # noqa: N802
        self, request: api.ListRunningRequest, context: Context
    ) -> api.ListRunningResponse:
        number, _ = await self._place(request, context)
        size = clamped(request.page_size)
        found = await self._look(context, lambda: self._operators.inspection.running(number, size))
        return api.ListRunningResponse(jobs=map(jobs.running_job, found))

    @with_status_codes
    async def GetDigest(  # noqa: N802
        self, request: api.GetDigestRequest, context: Context
    ) -> api.GetDigestResponse:
        number, _ = await self._place(request, context)
        found = await self._look(context, lambda: self._operators.inspection.digest(number))
        return api.GetDigestResponse(digest=jobs.dead_digest(found))

    @with_status_codes
    async def GetHistory(  # noqa: N802
        self, request: api.GetHistoryRequest, context: Context
    ) -> api.GetHistoryResponse:
        size = clamped(request.page_size)
        found = await self._look(context, lambda: self._operators.inspection.history(request, size))
        return api.GetHistoryResponse(runs=map(jobs.past_run, found))

    @with_status_codes
    async def ListErrors(  # noqa: N802
        self, request: api.ListErrorsRequest, context: Context
    ) -> api.ListErrorsResponse:
        number, _ = await self._place(request, context)
        token, size = request.page_token, clamped(request.page_size)
        found, following = await self._look(
            context, lambda: self._operators.inspection.errors(token, size, number)
        )
        return api.ListErrorsResponse(
            errors=map(jobs.error_count, found), next_page_token=following
        )

    @with_status_codes
    async def ListBatches(  # noqa: N802
        self, request: api.ListBatchesRequest, context: Context
    ) -> api.ListBatchesResponse:
        token, size = request.page_token, clamped(request.page_size)
        found, following = await self._look(
            context, lambda: self._operators.inspection.batches(token, size)
        )
        return api.ListBatchesResponse(
            batches=map(batches.batch_line, found), next_page_token=following
        )

    @with_status_codes
    async def GetBatch(  # noqa: N802
        self, request: api.GetBatchRequest, context: Context
    ) -> api.GetBatchResponse:
        name = request.batch
        found, flow = await self._look(context, lambda: self._operators.inspection.batch(name))
        if found.state is BatchState.UNKNOWN:
            await abort(
                context,
                grpc.StatusCode.NOT_FOUND,
                "there is no such batch: it has expired or never existed",
            )
        return api.GetBatchResponse(
            batch=batches.batch(found), steps=[] if flow is None else batches.flow_steps(flow)
        )

    @with_status_codes
    async def ListMoves(  # noqa: N802
        self, _request: api.ListMovesRequest, context: Context
    ) -> api.ListMovesResponse:
        def look() -> api.ListMovesResponse:
            facts = self._operators.inspection.moves()
            count, version = len(facts.view.placement), facts.view.version
            told = moves.messages_of(facts)  # which compares tables
            return api.ListMovesResponse(moves=told, partitions=count, version=version)

        try:
            return await self._look(context, look)
        except ConfigurationError as error:  # what is stored is damaged, not the request
            await abort(context, grpc.StatusCode.FAILED_PRECONDITION, str(error))

    @with_status_codes
    async def ListSchedules(  # noqa: N802
        self, request: api.ListSchedulesRequest, context: Context
    ) -> api.ListSchedulesResponse:
        name, token, size = request.name, request.page_token, clamped(request.page_size)
        now_ms = int(time.time() * 1000)

        def look() -> api.ListSchedulesResponse:
            found, following = self._operators.inspection.schedules(name, token, size)
            told = [schedules.message_of(one, now_ms) for one in found]  # which computes times
            return api.ListSchedulesResponse(schedules=told, next_page_token=following)

        return await self._look(context, look)

    async def _place(self, request: Any, context: Context) -> tuple[int | None, str | None]:
        """Return the partition and the pool that a request names, if it does."""
        number = request.partition if request.HasField("partition") else None
        if number is not None:
            await self._check_partition(number, context)
        pool = getattr(request, "pool", "")
        return number, check_pool(pool) if pool else None

    async def _look(self, context: Context, work: Callable[[], T]) -> T:
        try:
            return await self._operators.off_loop(work)
        except ScriptError as error:  # the coordinator's user may not, or a key has another type
            await abort(context, grpc.StatusCode.FAILED_PRECONDITION, str(error))
