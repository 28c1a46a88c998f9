"""What a pool's call needs from the network: its steps yield an effect and receive the answer.

    Call       one round trip to a partition     the replies in order, or the UnavailableError
    CallEach   one verb a partition, of several  as for Call
    CallSystem one round trip to the shared keys  as for Call
    Verify     the route record, once            nothing
    Follow     the newest route record           nothing, or the UnavailableError
    Pause      some time                         nothing

QueuePool executes the steps with blocking servers, AsyncQueuePool with awaited ones; see
queuepool.client.network. An exception from outside is thrown into the steps. Pure.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator, Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from queuepool.models.places import DEFAULT_POOL
from queuepool.partitions.route import Leave
from queuepool.verbs import Verb

T = TypeVar("T")


class Call(msgspec.Struct, eq=False):
    """Run these verbs on a partition's pool.

    leave: what it may do about a missing route record. adds: whether it may be the first use of the
    pool, which is noted before. since: the version of the route by which it was chosen; by an older
    one than is known it is not sent, and the answer is a MovedError. 0: whichever.
    """

    partition: int
    verbs: Sequence[Verb[Any]]
    leave: Leave = Leave.LOOK
    pool: str = DEFAULT_POOL
    adds: bool = False
    since: int = 0


class CallEach(msgspec.Struct, eq=False):
    """Run a verb on each of these partitions, concurrently if possible."""

    calls: Sequence[tuple[int, Verb[Any]]]
    pool: str = DEFAULT_POOL


class CallSystem(msgspec.Struct, eq=False):
    """Run these verbs on the keys that coordinators share."""

    verbs: Sequence[Verb[Any]]


class Verify(msgspec.Struct, eq=False):
    """Read the route record if it was not read yet, and route by it."""


class Follow(msgspec.Struct, eq=False):
    """Read the route record, and route by it from now on."""


class Pause(msgspec.Struct, eq=False):
    """Wait for this long."""

    seconds: float


Effect: TypeAlias = Call | CallEach | CallSystem | Verify | Follow | Pause
Steps: TypeAlias = Generator[Effect, Any, T]


def struck(steps: Steps[Any], error: BaseException) -> None:
    """Throw an exception from outside into unfinished steps, which raise it again."""
    if inspect.getgeneratorstate(steps) == inspect.GEN_SUSPENDED:
        steps.throw(error)
