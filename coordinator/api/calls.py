"""What all calls of the API share: time limits, and errors as status codes."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from coordinator.api.budgets import Place, YieldingPlaces
from coordinator.api.callers import described, host_of
from coordinator.api.filters import filter_text
from queuepool.errors import ConfigurationError, InvalidInputError, ScriptError, UnavailableError
from queuepool.models.places import DEFAULT_POOL, check_pool

_log = logging.getLogger("coordinator.status")

PAGE_SIZE, MAX_PAGE_SIZE = 100, 500
_CALL_LIMIT_S = 10.0
_REQUEST_LIMIT_S = 5.0

Context = grpc.aio.ServicerContext[Any, Any]
Request = TypeVar("Request")
Response = TypeVar("Response")
Unary = Callable[[Any, Request, Context], Awaitable[Response]]
# What an operator's call acts on: a group by its key, a partition by its number, all partitions.
Target = bytes | int | Literal["all"]


@dataclass(frozen=True, slots=True)
class LimitTarget:
    """A call acts on the limit of this name, which comes from the caller."""

    name: str


@dataclass(frozen=True, slots=True)
class TenantTarget:
    """A call acts on the tenant of this name, which comes from the caller."""

    name: str


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """A call acts on what has this name, which comes from the caller; jobs: in words."""

    kind: Literal["batch", "schedule", "task", "job", "jobs"]
    name: str


AnyTarget = Target | LimitTarget | TenantTarget | NamedTarget


def with_status_codes(call: Unary[Request, Response]) -> Unary[Request, Response]:
    """Limit the time of a call, and turn every error into a status code."""

    @functools.wraps(call)
    async def bounded(self: Any, request: Request, context: Context) -> Response:
        try:
            return await asyncio.wait_for(call(self, request, context), _CALL_LIMIT_S)
        except (grpc.aio.AbortError, asyncio.CancelledError):
            raise
        except TimeoutError:
            await abort(context, grpc.StatusCode.DEADLINE_EXCEEDED, "no reply within 10 s")
        except (InvalidInputError, ConfigurationError) as error:
            await abort(context, grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except UnavailableError as error:
            await abort(context, grpc.StatusCode.UNAVAILABLE, str(error))
        except ScriptError as error:  # the coordinator's user may not, or a key has another type
            await abort(context, grpc.StatusCode.FAILED_PRECONDITION, str(error))
        except Exception:
            _log.exception("%s failed", call.__name__)
            await abort(
                context, grpc.StatusCode.INTERNAL, "unexpected error; see the coordinator's log"
            )

    return bounded


class PlaceLostError(Exception):
    """A newer caller got the place."""


@contextlib.asynccontextmanager
async def in_place(places: YieldingPlaces, context: Context, limit_s: float) -> AsyncIterator[None]:
    """Limit a block in time, and to while it has a place.

    Raises TimeoutError, PlaceLostError. A call must not be ended within the block: its end could be
    interrupted half-way, and no other could follow.
    """
    place: Place | None = None
    try:
        async with asyncio.timeout(limit_s) as limit:
            place = places.take(host_of(context.peer()), lambda: _end_now(limit))
            yield
    except TimeoutError:
        if place is not None and place.lost:
            raise PlaceLostError from None
        raise
    finally:
        if place is not None:
            places.leave(place)


def _end_now(limit: asyncio.Timeout) -> None:
    if not limit.expired():  # otherwise it is already ending
        limit.reschedule(asyncio.get_running_loop().time())


async def read_request(
    context: Context, deserialize: Callable[[bytes], Request], arrivals: YieldingPlaces
) -> Request:
    """Return the request of a call, or end the call with the problem.

    grpc itself would wait forever for the rest of a request, and answer invalid bytes with UNKNOWN
    and the name of an exception. arrivals: where incomplete requests wait.
    """
    raw: Any = grpc.aio.EOF
    try:
        async with in_place(arrivals, context, _REQUEST_LIMIT_S):
            raw = await context.read()
    except TimeoutError:
        why = f"the request did not arrive completely within {_REQUEST_LIMIT_S:g} s"
        await abort(context, grpc.StatusCode.DEADLINE_EXCEEDED, why)
    except PlaceLostError:
        why = "too many incomplete requests; this one was the oldest. Send it again"
        await abort(context, grpc.StatusCode.RESOURCE_EXHAUSTED, why)
    try:
        return deserialize(raw)
    except (DecodeError, TypeError):  # the latter for an end instead of a request
        await abort(
            context,
            grpc.StatusCode.INVALID_ARGUMENT,
            "the request cannot be decoded as this method's message",
        )


@contextlib.contextmanager
def released() -> Iterator[None]:
    """Let go of a call that is aborted within the block, which then goes on.

    A call keeps the exception of its abort, whose traceback keeps the call: its stream would stay
    open until the next collection of garbage, and a connection may have only so many. grpc raises
    the exception again, once the handler has returned.
    """
    try:
        yield
    except grpc.aio.AbortError as error:
        error.__traceback__ = error.__context__ = None


async def abort(context: Context, code: grpc.StatusCode, message: str) -> NoReturn:
    """End a call with a status code and a readable sentence."""
    await context.abort(code, message[:1000])
    raise AssertionError("abort always raises")


def target_of(request: Any) -> AnyTarget | None:
    """Return what an operator's request names; None if it does not say."""
    fields = request.DESCRIPTOR.fields_by_name
    if "limit" in fields:
        return LimitTarget(request.limit)
    if "batch" in fields:
        return NamedTarget("batch", request.batch)
    if "schedule" in fields:
        return NamedTarget("schedule", request.schedule)
    if "job_id" in fields:
        return NamedTarget("job", request.job_id)
    if "filter" in fields:
        return NamedTarget("jobs", filter_text(request.filter))
    if "changes" in fields:
        return None
    if "all" in fields:
        named = request.WhichOneof("what")
    elif "tenant" in fields:
        named = "tenant"
    else:
        named = "partition" if "partition" in fields else "partition_key"
    if named == "all":
        return "all" if request.all else None
    if named == "tenant":
        return TenantTarget(request.tenant)
    if named == "task":
        return NamedTarget("task", request.task)
    return getattr(request, named) if named else None


def pool_of(request: Any) -> str:
    """Return the pool that a request names. Raises InvalidInputError."""
    return check_pool(request.pool) if request.pool else DEFAULT_POOL


def clamped(asked: int) -> int:
    """Return the page size for the requested one; 0 is the default."""
    return min(asked or PAGE_SIZE, MAX_PAGE_SIZE)


def caller(context: Context) -> str:
    """Return who calls, for the log: the names in its certificate, if any, and its address."""
    return described(context.auth_context(), context.peer())
