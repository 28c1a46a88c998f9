"""Before every call: who calls, and may they? After a call of operators: a line for the audit.

A call without a known token ends UNAUTHENTICATED, a viewer's call of what is for operators ends
PERMISSION_DENIED. Every call of what is for operators is told as an event, refused or not.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio

from coordinator.calls import Context, abort, caller, names_of
from coordinator.events import OperatorCalled
from queuepool.events import Listener, ignore
from queuepool.rpc.auth import Access, Role, role_for

_NO_TOKEN = (
    "this server wants the metadata 'authorization: Bearer <token>' with its own token; "
    "give the client the token that the coordinator was started with"
)


class Guard(grpc.aio.ServerInterceptor):
    """Lets calls through by role. emit: hears of OperatorCalled, on the event loop's thread."""

    def __init__(self, access: Access, emit: Listener = ignore) -> None:
        self._access, self._emit = access, emit

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Return the handler of the call, or one that refuses it."""
        method = handler_call_details.method
        wanted = role_for(method)
        role = self._access.by_token(handler_call_details.invocation_metadata)
        if role is None and wanted is not None:
            return self._refusing(method, audited=wanted is Role.OPERATOR)
        handler: Any = await continuation(handler_call_details)
        if wanted is not Role.OPERATOR or handler is None:
            return handler
        if handler.unary_unary is None or role is None:  # no call of operators is a stream
            return self._refusing(method, audited=True)
        return grpc.unary_unary_rpc_method_handler(
            self._audited(method.rpartition("/")[2], role, handler.unary_unary),
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )

    def _audited(
        self, method: str, by_token: Role, call: Callable[[Any, Context], Awaitable[Any]]
    ) -> Callable[[Any, Context], Awaitable[Any]]:
        async def guarded(request: Any, context: Context) -> Any:
            names = names_of(context)
            role = min(by_token, self._access.by_names(names), key=list(Role).index)
            result = "CANCELLED"  # unless the call comes to its end
            try:
                if role is not Role.OPERATOR:
                    result = "PERMISSION_DENIED"
                    await abort(
                        context,
                        grpc.StatusCode.PERMISSION_DENIED,
                        _denied(method, names if by_token is Role.OPERATOR else None),
                    )
                answer = await call(request, context)
                result = "OK"
                return answer
            except grpc.aio.AbortError:
                result = _name_of(context.code(), result)
                raise
            finally:
                self._emit(OperatorCalled(caller(context), role, method, request.partition, result))

        return guarded

    def _refusing(self, method: str, *, audited: bool) -> grpc.RpcMethodHandler[Any, Any]:
        async def refuse(_requests: Any, context: Context) -> None:
            if audited:
                name = method.rpartition("/")[2]
                who = caller(context)
                self._emit(OperatorCalled(who, "nobody", name, None, "UNAUTHENTICATED"))
            await abort(context, grpc.StatusCode.UNAUTHENTICATED, _NO_TOKEN)

        # A stream handler need not read the request, so it fits calls of every kind.
        return grpc.stream_stream_rpc_method_handler(refuse)


def _denied(method: str, names: tuple[str, ...] | None) -> str:
    if names is None:
        return (
            f"{method} is for operators, and this token is a viewer's: use a token of "
            "COORDINATOR_GRPC_TOKEN"
        )
    return (
        f"{method} is for operators, and the certificate of {', '.join(names) or 'nobody'} is a "
        "viewer's: name it in COORDINATOR_GRPC_OPERATORS, or use another"
    )


def _name_of(code: Any, otherwise: str) -> str:
    """Return the name of a status code, which the library may hold as a number."""
    for known in grpc.StatusCode:
        if code is known or code == known.value[0]:
            return known.name
    return otherwise
