"""Queries of both pools, as steps: they are repeated until answered, which is harmless.

What asks for a group, or for a job, begins again by a newer route when a partition says that it
moved (`following`).

A connection that the server closed, or its restart, is not the caller's concern. The owner of a
partition does not wait like this: its loop has to renew a lease. Enqueueing has its own rules, see
queuepool.client.delivery.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any, TypeVar

from queuepool.client.effects import Call, CallEach, CallSystem, Follow, Pause, Steps, Verify
from queuepool.client.retrying import Attempts
from queuepool.errors import InvalidInputError, MovedError, UnavailableError
from queuepool.errors.escaping import shown
from queuepool.models import JobState, JobStatus
from queuepool.models.places import DEFAULT_POOL
from queuepool.protocol import ids
from queuepool.routing.finding import ASKED_AT_ONCE, is_found, parts, the_only_one
from queuepool.routing.views import View
from queuepool.settings.config import PoolConfig
from queuepool.verbs import Verb
from queuepool.verbs.producer import pools
from queuepool.verbs.producer import verbs as produce

T = TypeVar("T")


def following(config: PoolConfig, steps_of: Callable[[View], Steps[T]]) -> Steps[T]:
    """Run steps by the newest route that is known, again whenever a partition knows a newer one.

    Raises the last MovedError if the route is not known within retry_for_s.
    """
    if config.topology.view.record is None:
        yield Verify()
    attempts = Attempts(monotonic() + config.retry_for_s)
    while True:
        view = config.topology.view
        try:
            return (yield from steps_of(view))
        except MovedError as error:
            yield Follow()
            if config.topology.view.version < max(error.version, view.version + 1):
                pause_s = attempts.next_pause(monotonic(), random.random())
                if pause_s is None:
                    raise
                yield Pause(pause_s)
        except UnavailableError:  # its server may be gone for good, since its slots have moved
            yield Follow()
            if config.topology.view.version <= view.version:
                raise


def ask(config: PoolConfig, partition: int, verb: Verb[T]) -> Steps[T]:
    """Run a verb that may be repeated, until the server answers; return its typed reply.

    In the pool of the config. Raises the last UnavailableError after retry_for_s.
    """
    call = Call(partition, [verb], pool=config.keyspace.pool)
    return (yield from _until_answered(config, call, lambda replies: verb.read(replies[0])))


def ask_all(config: PoolConfig, partition: int, verbs: Sequence[Verb[T]]) -> Steps[list[T]]:
    """Run verbs that may be repeated, in one round trip; return their typed replies."""
    call = Call(partition, verbs, pool=config.keyspace.pool)
    return (
        yield from _until_answered(
            config, call, lambda replies: [v.read(r) for v, r in zip(verbs, replies, strict=True)]
        )
    )


def ask_system(config: PoolConfig, verb: Verb[T]) -> Steps[T]:
    """Run a verb that may be repeated on the keys that coordinators share, until answered."""
    call = CallSystem([verb])
    return (yield from _until_answered(config, call, lambda replies: verb.read(replies[0])))


def ask_pools(config: PoolConfig, partition: int, verb: Verb[T]) -> Steps[list[T]]:
    """Run a verb on a partition and on its other pools: one round trip if it has none."""
    look = pools.look()

    def read(replies: Any) -> tuple[T, tuple[str, ...]]:
        return verb.read(replies[0]), look.read(replies[1])

    first, others = yield from _until_answered(config, Call(partition, [verb, look]), read)
    return [first, *(yield from _ask_others(config, others, partition, verb))]


def ask_places(config: PoolConfig, partitions: Sequence[int], verb: Verb[T]) -> Steps[list[T]]:
    """Run a verb on several partitions, each with its other pools."""
    found: list[T] = []
    for partition in partitions:
        found += yield from ask_pools(config, partition, verb)
    return found


def _ask_others(
    config: PoolConfig, names: Sequence[str], partition: int, verb: Verb[T]
) -> Steps[list[T]]:
    found: list[T] = []
    for pool in names:
        found += ((yield from ask(config.of(pool), partition, verb)),)
    return found


def ask_everywhere(config: PoolConfig, verb_of: Callable[[View], Verb[T]]) -> Steps[list[T]]:
    """Run a verb on all partitions and all pools of theirs, those of the newest route."""
    yield Follow()
    return (yield from following(config, lambda view: _everywhere(config, view, verb_of(view))))


def _everywhere(config: PoolConfig, view: View, verb: Verb[T]) -> Steps[list[T]]:
    numbers = view.numbers
    found = yield from ask_each(config, [(number, verb) for number in numbers])
    for pool, having in (yield from pools_in(config, numbers)).items():
        found += yield from ask_each(config.of(pool), [(number, verb) for number in having])
    return found


def pools_in(config: PoolConfig, partitions: Sequence[int]) -> Steps[dict[str, list[int]]]:
    """Return which pools there are besides the default one, each with the partitions that have it.

    A partition has a pool once a job was enqueued for it, or once a consumer has run it.
    """
    calls = [(number, numbered(number, pools.look())) for number in partitions]
    found: dict[str, list[int]] = {}
    for number, names in (yield from ask_each(config, calls)):
        for name in names:
            found.setdefault(name, []).append(number)
    return {name: sorted(found[name]) for name in sorted(found)}


def places_of(config: PoolConfig, partition: int | None) -> Steps[list[tuple[int, str]]]:
    """Return a partition, or all, with the default pool and then its others."""
    if partition is not None and type(partition) is not int:
        raise InvalidInputError(f"partition={shown(partition)}: use the number of a partition")
    numbers = config.topology.view.numbers if partition is None else (partition,)
    config.topology.server_of(numbers[0])  # raises for a partition that is not there
    known = yield from pools_in(config, numbers)
    default = config.keyspace.pool
    others = [(number, pool) for pool, having in known.items() for number in having]
    places = [*((number, default) for number in numbers), *others]
    return sorted(places, key=lambda place: (place[0], place[1] != default, place[1]))


def numbered(number: int, verb: Verb[T]) -> Verb[tuple[int, T]]:
    """Return a verb whose reply names the partition, for `ask_each`, whose replies come sorted."""
    return Verb(verb.script, verb.args, lambda reply: (number, verb.read(reply)))


def find_in(
    config: PoolConfig, view: View, partition: int, job_id: str, pool: str
) -> Steps[JobStatus]:
    """Find a job in a partition: in this pool first, then in the others."""
    verb = produce.status(job_id, partition, view.version)
    status = yield from ask(config.of(pool), partition, verb)
    if status.state is not JobState.UNKNOWN:
        return _in_pool(status, pool)
    for name in (DEFAULT_POOL, *(yield from ask(config, partition, pools.look()))):
        if name != pool:
            other = yield from ask(config.of(name), partition, verb)
            if other.state is not JobState.UNKNOWN:
                return _in_pool(other, name)
    return status


def _in_pool(status: JobStatus, pool: str) -> JobStatus:
    return status if pool == DEFAULT_POOL else replace(status, pool=pool)


def find(config: PoolConfig, view: View, job_id: str) -> Steps[JobStatus]:
    """Find a job of which only the id is known: by its hint first, then in all partitions.

    Their default pools come first, then the others. Raises InvalidInputError when several
    partitions have a job of that id.
    """
    numbers, slot = view.numbers, ids.hinted_slot(job_id)
    statuses = []
    if slot is not None:
        first = view.partition_of(slot)
        hinted = yield from ask(config, first, produce.status(job_id, first, view.version))
        if is_found(hinted, slot):
            return hinted
        statuses.append(hinted)
    others = set(numbers) - {status.partition for status in statuses}
    calls = [(number, produce.status(job_id, number, view.version)) for number in others]
    statuses += yield from ask_each(config, calls)
    found = the_only_one(statuses)
    if found.state is not JobState.UNKNOWN:
        return found
    for pool, having in (yield from pools_in(config, numbers)).items():
        calls = [(number, produce.status(job_id, number, view.version)) for number in having]
        answers = yield from ask_each(config.of(pool), calls)
        statuses += [_in_pool(status, pool) for status in answers]
    return the_only_one(statuses)


def ask_each(config: PoolConfig, asked: Sequence[tuple[int, Verb[T]]]) -> Steps[list[T]]:
    """Run a verb that may be repeated on each of these partitions; return their typed replies.

    They come server by server, a bounded number at a time, from the pool of the config.
    """
    server_of, replies = config.topology.server_of, []
    for some in parts(sorted(asked, key=lambda call: (server_of(call[0]), call[0])), ASKED_AT_ONCE):
        calls = CallEach(some, config.keyspace.pool)
        replies += yield from _until_answered(config, calls, partial(_read_all, some))
    return replies


def _read_all(calls: Sequence[tuple[int, Verb[T]]], replies: Sequence[Any]) -> list[T]:
    return [verb.read(reply) for (_number, verb), reply in zip(calls, replies, strict=True)]


def _until_answered(
    config: PoolConfig, question: Call | CallEach | CallSystem, read: Callable[[Any], T]
) -> Steps[T]:
    attempts = Attempts(monotonic() + config.retry_for_s)
    while True:
        replies = yield question
        try:
            if isinstance(replies, UnavailableError):
                raise replies
            return read(replies)
        except MovedError:
            raise
        except UnavailableError:
            pause_s = attempts.next_pause(monotonic(), random.random())
            if pause_s is None:
                raise
        yield Pause(pause_s)
