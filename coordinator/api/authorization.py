"""Before every call: who calls, are they allowed, is there a place? Operators' calls are logged.

    unknown method, no or wrong token   refused at once, without reading it
    viewers, operators                  separate places, with a share for each caller
    health                              open to all, with its own limits (coordinator.api.health)

A call without a known token ends with UNAUTHENTICATED, a viewer's call of an operators' method with
PERMISSION_DENIED, one without a free place with RESOURCE_EXHAUSTED. Every call of an operators'
method is reported as an event; of refused ones, only as many as a log can hold.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any, NoReturn

import grpc
import grpc.aio

from coordinator.api.acted import act_of
from coordinator.api.budgets import Places, YieldingPlaces
from coordinator.api.callers import cleaned, host_of, names_of
from coordinator.api.calls import (
    AnyTarget,
    Context,
    LimitTarget,
    NamedTarget,
    TenantTarget,
    abort,
    caller,
    read_request,
    released,
    target_of,
)
from coordinator.api.connections import OPERATOR, VIEWER, Connections
from coordinator.api.refusals import WINDOW_S, Refusals
from coordinator.core.events import CallRefused, CallsLeftOut, OperatorCalled
from queuepool.errors.escaping import key_text
from queuepool.models.log import LogEntry
from queuepool.rpc.acting import LOGGED
from queuepool.rpc.auth import OPEN_SERVICES, UNKNOWN, Access, ApiRole, name_of, role_for
from queuepool.telemetry.events import Listener, ignore

_NO_TOKEN = (
    "this server requires the metadata 'authorization: Bearer <token>'; configure the client "
    "with the token that the coordinator was started with"
)
MAX_CALLS, MAX_STREAMS = 128, 64  # of each role, at once
MAX_ARRIVALS = 512  # incomplete requests of each role
_SHARE = {
    ApiRole.VIEWER: 2,
    ApiRole.OPERATOR: 1,
}  # one viewer has at most half, so that others find places
_LONGEST_NAME = 100  # of a limit, in the audit
_SESSION_S = 60.0  # of a tool that lists the services


class Authorization(grpc.aio.ServerInterceptor):
    """Lets calls through by role.

    emit: receives calls, on the event loop's thread. connections: learns who called on which.
    """

    def __init__(
        self, access: Access, emit: Listener = ignore, connections: Connections | None = None
    ) -> None:
        self._access, self._emit, self._connections = access, emit, connections
        self._calls = {r: Places(MAX_CALLS, MAX_CALLS // _SHARE[r]) for r in ApiRole}
        self._streams = {r: Places(MAX_STREAMS, MAX_STREAMS // _SHARE[r]) for r in ApiRole}
        self._arrivals = {r: YieldingPlaces(MAX_ARRIVALS, MAX_ARRIVALS // 2) for r in ApiRole}
        self._refusals = Refusals[tuple[str, str]]()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Return the handler of the call, or one that refuses it.

        It is always a stream handler: those are called before the request is read, and need not
        read it.
        """
        details = handler_call_details
        handler: Any = await continuation(details)
        if handler is None:
            return grpc.stream_stream_rpc_method_handler(self._refuse_unknown)
        if details.method.startswith(OPEN_SERVICES):
            return handler
        method, wanted = name_of(details.method), role_for(details.method)
        role = self._access.by_token(details.invocation_metadata)

        async def serve(requests: Any, context: Context) -> None:
            audited = wanted is ApiRole.OPERATOR
            with released():
                if role is None:
                    await self._refuse_stranger(context, method, audited=audited)
                elif audited:
                    await self._audited(method, role, handler, context)
                else:
                    await self._look(method, role, handler, requests, context)

        # `read_request` reads a single request, and rejects an unreadable one.
        read = handler.request_deserializer if handler.request_streaming else None
        return grpc.stream_stream_rpc_method_handler(serve, read, handler.response_serializer)

    async def refuse(self, context: Context) -> None:
        """End a call of a method that this server does not have, whatever its name."""
        with released():
            if self._access.by_token(context.invocation_metadata()) is None:
                await self._refuse_stranger(context, UNKNOWN, audited=True)
            self._emit(CallRefused("UNIMPLEMENTED"))
            await abort(context, grpc.StatusCode.UNIMPLEMENTED, "this server has no such method")

    async def _refuse_unknown(self, _requests: Any, context: Context) -> None:
        await self.refuse(context)

    async def _refuse_stranger(self, context: Context, method: str, *, audited: bool) -> NoReturn:
        result = grpc.StatusCode.UNAUTHENTICATED
        self._emit(CallRefused(result.name))
        if audited and self._worth_a_line(method, result.name):
            self._emit(OperatorCalled(caller(context), "nobody", method, None, result.name))
        await abort(context, result, _NO_TOKEN)

    async def _look(
        self, method: str, by_token: ApiRole, handler: Any, requests: Any, context: Context
    ) -> None:
        names = names_of(context.auth_context())
        places = self._streams if handler.response_streaming else self._calls
        role = self._role(by_token, names, context)
        sessions = handler.stream_stream is not None  # of several requests, which it reads itself
        request = None if sessions else await self._request(role, handler, context)
        async with self._place(places[role], method, names, context):
            if sessions:
                await _session(handler.stream_stream(requests, context), context)
                return
            if handler.unary_stream is None:
                await context.write(await handler.unary_unary(request, context))
                return
            async with contextlib.aclosing(handler.unary_stream(request, context)) as messages:
                async for message in messages:
                    await context.write(message)

    async def _audited(
        self, method: str, by_token: ApiRole, handler: Any, context: Context
    ) -> None:
        names = names_of(context.auth_context())
        role = self._role(by_token, names, context)
        target: AnyTarget | None = None
        result, request, answer = "CANCELLED", None, None  # unless the call completes
        try:
            request = await self._request(role, handler, context)
            target = target_of(request)
            async with self._place(self._calls[role], method, names, context):
                if role is not ApiRole.OPERATOR:
                    self._emit(CallRefused("PERMISSION_DENIED"))
                    await abort(
                        context,
                        grpc.StatusCode.PERMISSION_DENIED,
                        _denied(method, names if by_token is ApiRole.OPERATOR else None),
                    )
                context.set_trailing_metadata(((LOGGED, "1"),))
                answer = await handler.unary_unary(request, context)
                result = "OK"
                await context.write(answer)
        except grpc.aio.AbortError:
            result = _name_of(context.code(), result)
            raise
        finally:
            allowed = role is ApiRole.OPERATOR and result != grpc.StatusCode.RESOURCE_EXHAUSTED.name
            if allowed or self._worth_a_line(method, result):
                event = _called(caller(context), role, method, target, result)
                if allowed and request is not None:
                    event = replace(event, entry=_entry_of(event, request, answer, context))
                self._emit(event)

    async def _request(self, role: ApiRole, handler: Any, context: Context) -> Any:
        # Before a call has a place: an incomplete request needs none.
        return await read_request(context, handler.request_deserializer, self._arrivals[role])

    @contextlib.asynccontextmanager
    async def _place(
        self, places: Places, method: str, names: tuple[str, ...], context: Context
    ) -> AsyncIterator[None]:
        holder = (names, host_of(context.peer()))
        if not places.take(holder):
            self._emit(CallRefused("RESOURCE_EXHAUSTED"))
            await abort(
                context,
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"{places.taken} calls of this kind are open; the limit is {places.most}, and "
                f"{places.most_each} per caller. {method} was not started: close some, use "
                "another coordinator, or poll",
            )
        try:
            yield
        finally:
            places.leave(holder)

    def _role(self, by_token: ApiRole, names: tuple[str, ...], context: Context) -> ApiRole:
        role = min(by_token, self._access.by_names(names), key=list(ApiRole).index)
        if self._connections is not None:
            self._connections.show(context.peer(), OPERATOR if role is ApiRole.OPERATOR else VIEWER)
        return role

    def _worth_a_line(self, method: str, result: str) -> bool:
        if not self._refusals.begun():
            asyncio.get_running_loop().call_later(WINDOW_S, self.tell_left_out)
        return self._refusals.note((method, result))

    def tell_left_out(self) -> None:
        """Report how many refused calls had no separate event since the last time."""
        for (method, result), count in self._refusals.end_window():
            self._emit(CallsLeftOut(method, result, count, WINDOW_S))


async def _session(messages: AsyncGenerator[Any], context: Context) -> None:
    """Answer a caller that sends several requests in a stream, for a limited time."""
    async with contextlib.aclosing(messages):
        ends = asyncio.get_running_loop().time() + _SESSION_S
        while (left_s := ends - asyncio.get_running_loop().time()) > 0:
            try:
                async with asyncio.timeout(left_s):
                    message = await anext(messages)
            except (StopAsyncIteration, TimeoutError):
                return
            await context.write(message)


def _called(
    actor: str,
    role: ApiRole,
    method: str,
    target: AnyTarget | None,
    result: str,
) -> OperatorCalled:
    if isinstance(target, LimitTarget):
        limit = cleaned(target.name[:_LONGEST_NAME])
        return OperatorCalled(actor, role, method, None, result, limit=limit)
    if isinstance(target, TenantTarget):
        tenant = cleaned(target.name[:_LONGEST_NAME])
        return OperatorCalled(actor, role, method, None, result, tenant=tenant)
    if isinstance(target, NamedTarget):
        name = cleaned(target.name[:_LONGEST_NAME])
        called = OperatorCalled(actor, role, method, None, result)
        acted_on: dict[str, Any] = {target.kind: name}
        return replace(called, **acted_on)
    if isinstance(target, bytes):
        return OperatorCalled(actor, role, method, None, result, cleaned(key_text(target)))
    return OperatorCalled(actor, role, method, target, result)


def _entry_of(event: OperatorCalled, request: Any, answer: Any, context: Context) -> LogEntry:
    return act_of(
        event.method,
        request,
        answer,
        result=event.result,
        actor=event.actor,
        metadata=context.invocation_metadata(),
    )


def _denied(method: str, names: tuple[str, ...] | None) -> str:
    if names is None:
        return (
            f"{method} requires an operator, but this token is a viewer's: use a token of "
            "COORDINATOR_GRPC_TOKEN"
        )
    known = ", ".join(cleaned(name) for name in names[:8])
    return (
        f"{method} requires an operator, but the certificate of {known or 'nobody'} is a "
        "viewer's: add its name to COORDINATOR_GRPC_OPERATORS, or use another"
    )


def _name_of(code: Any, otherwise: str) -> str:
    """Return the name of a status code, which may be a number in the library."""
    for known in grpc.StatusCode:
        if code is known or code == known.value[0]:
            return known.name
    return otherwise
