"""Calls that are read before it is known who calls: in places of their own, briefly, in few bytes.

None is refused because all places are taken: the newest caller replaces the oldest one of the
address with the most, so that strangers cannot keep others out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

import grpc
from google.protobuf.message import DecodeError

from coordinator.api.budgets import YieldingPlaces
from coordinator.api.calls import Context, PlaceLostError, abort, in_place, released


class RefusedError(Exception):
    """The call ends with a status code and a sentence."""

    def __init__(self, code: grpc.StatusCode, why: str) -> None:
        super().__init__(why)
        self.code = code


class _Message(Protocol):
    DESCRIPTOR: Any


M = TypeVar("M", bound=_Message)


async def answer_in(
    places: YieldingPlaces,
    context: Context,
    limit_s: float,
    answer: Callable[[], Awaitable[None]],
    *,
    what: str,
) -> None:
    """Answer within a time limit, unless the place is taken away. what: is called, for messages."""
    with released():
        try:
            async with in_place(places, context, limit_s):
                # Separately: while it is in progress, no status could follow.
                await context.send_initial_metadata(())
                await answer()
        except TimeoutError:
            why = "this call reached its time limit; call again"
            await abort(context, grpc.StatusCode.DEADLINE_EXCEEDED, why)
        except PlaceLostError:
            why = f"replaced by a newer {what}; call again"
            await abort(context, grpc.StatusCode.RESOURCE_EXHAUSTED, why)
        except RefusedError as refused:
            await abort(context, refused.code, str(refused))


async def read_small(context: Context, message: type[M], most: int) -> M:
    """Return the request of a call. most: its bytes. Raises RefusedError."""
    raw: Any = await context.read()
    try:
        if isinstance(raw, bytes) and len(raw) <= most:
            found: M = message.FromString(raw)  # type: ignore[attr-defined]
            return found
    except DecodeError:
        pass
    raise RefusedError(
        grpc.StatusCode.INVALID_ARGUMENT,
        f"the request is not a {message.DESCRIPTOR.name} of at most {most} bytes",
    )
