"""Queries of both pools, as steps: they are repeated until answered, which is harmless.

A connection that the server closed, or its restart, is not the caller's concern. The owner of a
partition does not wait like this: its loop has to renew a lease. Enqueueing has its own rules, see
queuepool.client.delivery.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import Any, TypeVar

from queuepool.client.effects import Call, CallEach, Pause, Steps
from queuepool.client.retrying import Attempts
from queuepool.errors import UnavailableError
from queuepool.models import JobStatus
from queuepool.protocol import ids
from queuepool.routing.finding import ASKED_AT_ONCE, is_found, parts, the_only_one
from queuepool.routing.slots import partition_of
from queuepool.settings.config import PoolConfig
from queuepool.verbs import Verb
from queuepool.verbs.producer import verbs as produce

T = TypeVar("T")


def ask(config: PoolConfig, partition: int, verb: Verb[T]) -> Steps[T]:
    """Run a verb that may be repeated, until the server answers; return its typed reply.

    Raises the last UnavailableError after retry_for_s.
    """
    call = Call(partition, [verb])
    return (yield from _until_answered(config, call, lambda replies: verb.read(replies[0])))


def find(config: PoolConfig, job_id: str) -> Steps[JobStatus]:
    """Find a job of which only the id is known: by its hint first, then in all partitions.

    Raises InvalidInputError when several partitions have a job of that id.
    """
    topology, slot = config.topology, ids.hinted_slot(job_id)
    statuses = []
    if slot is not None:
        first = partition_of(slot, topology.partitions)
        hinted = yield from ask(config, first, produce.status(job_id, first))
        if is_found(hinted, slot):
            return hinted
        statuses.append(hinted)
    others = set(range(topology.partitions)) - {status.partition for status in statuses}
    calls = [(number, produce.status(job_id, number)) for number in others]
    statuses += yield from ask_each(config, calls)
    return the_only_one(statuses)


def ask_each(config: PoolConfig, calls: Sequence[tuple[int, Verb[T]]]) -> Steps[list[T]]:
    """Run a verb that may be repeated on each of these partitions; return their typed replies.

    They come server by server, a bounded number at a time.
    """
    server_of, replies = config.topology.server_of, []
    for some in parts(sorted(calls, key=lambda call: (server_of(call[0]), call[0])), ASKED_AT_ONCE):
        replies += yield from _until_answered(config, CallEach(some), partial(_read_all, some))
    return replies


def _read_all(calls: Sequence[tuple[int, Verb[T]]], replies: Sequence[Any]) -> list[T]:
    return [verb.read(reply) for (_number, verb), reply in zip(calls, replies, strict=True)]


def _until_answered(
    config: PoolConfig, question: Call | CallEach, read: Callable[[Any], T]
) -> Steps[T]:
    attempts = Attempts(monotonic() + config.retry_for_s)
    while True:
        replies = yield question
        try:
            if isinstance(replies, UnavailableError):
                raise replies
            return read(replies)
        except UnavailableError:
            pause_s = attempts.next_pause(monotonic(), random.random())
            if pause_s is None:
                raise
        yield Pause(pause_s)
