"""The calls of the API that act on schedules and batches; for operators only, and audited."""

from __future__ import annotations

from typing import Any

from coordinator.api.acts import OperatorCalls
from coordinator.api.calls import Context, caller, with_status_codes
from queuepool.errors import InvalidInputError
from queuepool.rpc.schedules import schedule_of
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.settings import strict_json


class FlowCalls(OperatorCalls):
    """The part of the service that acts on schedules and batches. Runs on one event loop."""

    @with_status_codes
    async def CancelBatch(  # noqa: N802 - the names, of calls and arguments, are the API's
        self, request: api.CancelBatchRequest, context: Context
    ) -> api.CancelBatchResponse:
        name, reason, actor = request.batch, request.reason, caller(context)
        jobs, state = await self._act(
            context,
            lambda: self._operators.flows.cancel_batch(name, reason=reason, actor=actor),
        )
        return api.CancelBatchResponse(changed=jobs, state=state)

    @with_status_codes
    async def SetSchedule(  # noqa: N802
        self, request: api.SetScheduleRequest, context: Context
    ) -> api.SetScheduleResponse:
        schedule = schedule_of(request, read_payload(request.payload))
        reason, actor = request.reason, caller(context)
        changed = await self._act(
            context,
            lambda: self._operators.flows.set_schedule(schedule, reason=reason, actor=actor),
        )
        return api.SetScheduleResponse(changed=changed)

    @with_status_codes
    async def PauseSchedule(  # noqa: N802
        self, request: api.PauseScheduleRequest, context: Context
    ) -> api.PauseScheduleResponse:
        name, on = request.schedule, request.paused
        reason, actor = request.reason, caller(context)
        changed = await self._act(
            context,
            lambda: self._operators.flows.pause_schedule(name, on=on, reason=reason, actor=actor),
        )
        return api.PauseScheduleResponse(changed=changed)

    @with_status_codes
    async def RunSchedule(  # noqa: N802
        self, request: api.RunScheduleRequest, context: Context
    ) -> api.RunScheduleResponse:
        name, reason, actor = request.schedule, request.reason, caller(context)
        job_id, accepted = await self._act(
            context,
            lambda: self._operators.flows.run_schedule(name, reason=reason, actor=actor),
        )
        return api.RunScheduleResponse(job_id=job_id, changed=accepted)

    @with_status_codes
    async def RemoveSchedule(  # noqa: N802
        self, request: api.RemoveScheduleRequest, context: Context
    ) -> api.RemoveScheduleResponse:
        name, reason, actor = request.schedule, request.reason, caller(context)
        changed = await self._act(
            context,
            lambda: self._operators.flows.remove_schedule(name, reason=reason, actor=actor),
        )
        return api.RemoveScheduleResponse(changed=changed)


def read_payload(said: str) -> dict[str, Any]:
    """Return the arguments that a request has. Raises InvalidInputError."""
    try:
        payload = strict_json.loads(said) if said else {}
    except (ValueError, RecursionError):
        payload = None
    if isinstance(payload, dict):
        return payload
    # Without what the text is, as it may be secret.
    raise InvalidInputError('payload: use a JSON object, such as {"day": 1}')
