"""What a call of a pool asks of the network: its steps yield an effect and are sent the answer.

    Call       one round trip to a partition     the replies in order, or the UnavailableError
    CallEach   one verb a partition, of several  as for Call
    Pause      some time                         nothing

QueuePool carries the steps out with blocking servers, AsyncQueuePool with awaited ones; see
queuepool.client.network. An exception that strikes from outside is thrown into the steps. Pure.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator, Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from queuepool.partitions.route import Leave
from queuepool.verbs import Verb

T = TypeVar("T")


class Call(msgspec.Struct, eq=False):
    """Run these verbs on a partition. leave: what may be done about a missing route record."""

    partition: int
    verbs: Sequence[Verb[Any]]
    leave: Leave = Leave.LOOK


class CallEach(msgspec.Struct, eq=False):
    """Run a verb on each of these partitions, at the same time where that is possible."""

    calls: Sequence[tuple[int, Verb[Any]]]


class Pause(msgspec.Struct, eq=False):
    """Wait so long."""

    seconds: float


Steps: TypeAlias = Generator[Call | CallEach | Pause, Any, T]


def struck(steps: Steps[Any], error: BaseException) -> None:
    """Let steps that are not over know what struck outside of them; they raise it again."""
    if inspect.getgeneratorstate(steps) == inspect.GEN_SUSPENDED:
        steps.throw(error)
