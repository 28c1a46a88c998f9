"""The token check of a gRPC server: every call but the health check carries the secret."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import Any, Final

import grpc
import grpc.aio

from queuepool.rpc.client import AUTHORIZATION, bearer

# Load balancers and kubelets probe health without secrets, and it reveals nothing else.
OPEN_SERVICES: Final = ("/grpc.health.v1.Health/",)


class BearerTokenInterceptor(grpc.aio.ServerInterceptor):
    """Refuse calls without `authorization: Bearer <token>` as UNAUTHENTICATED.

    Several tokens are accepted while callers move from an old one to a new one.

    The comparison takes the same time wherever a wrong token differs. Without TLS the token can
    be read on the way; it then keeps out mistakes, not attackers.
    """

    def __init__(self, *tokens: str) -> None:
        self._expected = [bearer(token)[1].encode() for token in tokens]

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Return the handler of the call, or one that refuses it."""
        open_to_all = handler_call_details.method.startswith(OPEN_SERVICES)
        if open_to_all or self._accepts(handler_call_details.invocation_metadata):
            return await continuation(handler_call_details)
        # A stream handler need not read the request, so it fits calls of every kind.
        return grpc.stream_stream_rpc_method_handler(_refuse)

    def _accepts(self, metadata: Any) -> bool:
        given = [value for key, value in metadata or () if key == AUTHORIZATION]
        # More than one is refused, since nobody knows which of them a proxy has checked.
        if len(given) != 1:
            return False
        # All are compared: how long it takes must not tell which of them was nearly right.
        matches = [hmac.compare_digest(_as_bytes(given[0]), known) for known in self._expected]
        return any(matches)


def _as_bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


async def _refuse(_requests: Any, context: grpc.aio.ServicerContext[Any, Any]) -> None:
    await context.abort(
        grpc.StatusCode.UNAUTHENTICATED,
        "this server wants the metadata 'authorization: Bearer <token>' with its own token; "
        "give the client the token that the coordinator was started with",
    )
