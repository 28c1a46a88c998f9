"""What every call of the API shares: a bound in time, and errors as status codes."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any, NoReturn, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from queuepool.errors import ConfigurationError, InvalidInputError, UnavailableError

_log = logging.getLogger("coordinator.status")

PAGE_SIZE, MAX_PAGE_SIZE = 100, 500
_CALL_LIMIT_S = 10.0

Context = grpc.aio.ServicerContext[Any, Any]
Request = TypeVar("Request")
Response = TypeVar("Response")
Unary = Callable[[Any, Request, Context], Awaitable[Response]]


def guarded(call: Unary[Request, Response]) -> Unary[Request, Response]:
    """Bound a call in time, and turn every error into a status code."""

    @functools.wraps(call)
    async def bounded(self: Any, request: Request, context: Context) -> Response:
        try:
            return await asyncio.wait_for(call(self, request, context), _CALL_LIMIT_S)
        except (grpc.aio.AbortError, asyncio.CancelledError):
            raise
        except TimeoutError:
            await abort(context, grpc.StatusCode.DEADLINE_EXCEEDED, "no answer in 10 s")
        except (InvalidInputError, ConfigurationError) as error:
            await abort(context, grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except UnavailableError as error:
            await abort(context, grpc.StatusCode.UNAVAILABLE, str(error))
        except Exception:
            _log.exception("%s failed", call.__name__)
            await abort(context, grpc.StatusCode.INTERNAL, "unexpected; see the coordinator's log")

    return bounded


class _Unreadable:
    """Stands for a request that is none; whoever audits finds no partition in it."""

    partition = None


class ReadableRequests(grpc.aio.ServerInterceptor):
    """Refuse bytes that are no message of `service` as INVALID_ARGUMENT.

    Without it grpc answers UNKNOWN, with the name of an exception in place of a sentence.
    """

    def __init__(self, service: str) -> None:
        self._prefix = f"/{service}/"

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Return the handler of the call, which hears of a bad request by itself."""
        handler = await continuation(handler_call_details)
        if handler is None or not handler_call_details.method.startswith(self._prefix):
            return handler
        read = functools.partial(_read, handler.request_deserializer)
        if handler.response_streaming:

            async def stream(request: Any, context: Context) -> AsyncIterator[Any]:
                await _refuse_unreadable(request, context)
                async with contextlib.aclosing(handler.unary_stream(request, context)) as messages:
                    async for message in messages:
                        yield message

            return grpc.unary_stream_rpc_method_handler(stream, read, handler.response_serializer)

        async def unary(request: Any, context: Context) -> Any:
            await _refuse_unreadable(request, context)
            return await handler.unary_unary(request, context)

        return grpc.unary_unary_rpc_method_handler(unary, read, handler.response_serializer)


def _read(deserialize: Callable[[bytes], Any], raw: bytes) -> Any:
    try:
        return deserialize(raw)
    except DecodeError:
        return _Unreadable()


async def _refuse_unreadable(request: Any, context: Context) -> None:
    if isinstance(request, _Unreadable):
        await abort(context, grpc.StatusCode.INVALID_ARGUMENT, "the request is no such message")


async def abort(context: Context, code: grpc.StatusCode, message: str) -> NoReturn:
    """End a call with a status code and a sentence for people."""
    await context.abort(code, message[:1000])
    raise AssertionError("abort always raises")


def clamped(asked: int) -> int:
    """Return the page size for the one that was asked for, 0 being our choice."""
    return min(asked or PAGE_SIZE, MAX_PAGE_SIZE)


def names_of(context: Context) -> tuple[str, ...]:
    """Return the names in the caller's certificate: the common one, then the alternative ones."""
    known: Mapping[str, Iterable[bytes]] = context.auth_context() or {}
    kinds = ("x509_common_name", "x509_subject_alternative_name")
    return tuple(n.decode("utf-8", "replace") for kind in kinds for n in known.get(kind, ()))


def caller(context: Context) -> str:
    """Return who calls, for the log: the names in its certificate, if any, and its address."""
    text = " ".join([*names_of(context), context.peer()])
    return "".join(c if c.isprintable() else " " for c in text)
