"""Asks all places that can be reached: a server that is away costs its own answers, no others.

Nor does a partition that is gone since the places were listed: the route may change at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from queuepool.client.effects import CallEach, Steps
from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.routing.finding import ASKED_AT_ONCE, parts
from queuepool.routing.topology import NoPartitionError
from queuepool.settings.config import PoolConfig
from queuepool.verbs import Verb

T = TypeVar("T")
Where = tuple[int, str]  # partition, pool


def ask_reachable(
    config: PoolConfig, wheres: Sequence[Where], verb_of: Callable[[Where], Verb[T]]
) -> Steps[dict[Where, T]]:
    """Run a verb on places, server by server; those that could not be asked are missing."""
    found: dict[Where, T] = {}
    by_server: dict[tuple[str, str], list[int]] = {}
    for number, pool in wheres:
        with suppress(NoPartitionError):
            by_server.setdefault((config.topology.server_of(number), pool), []).append(number)
    for (_, pool), numbers in by_server.items():
        for some in parts(numbers, ASKED_AT_ONCE):
            calls = [(number, verb_of((number, pool))) for number in some]
            try:
                replies = yield CallEach(calls, pool)
            except NoPartitionError:
                continue
            if isinstance(replies, UnavailableError):
                break
            for (number, verb), reply in zip(calls, replies, strict=True):
                for value in known(verb, reply):
                    found[number, pool] = value
    return found


def known(verb: Verb[T], reply: Any) -> Iterator[T]:
    """Yield what a reply says; nothing if the call was not permitted, or found damage."""
    try:
        yield verb.read(reply)
    except QueuePoolError:
        return
