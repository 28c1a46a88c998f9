"""Reads what a verdict needs from the servers: one bounded round trip after another.

A server that does not answer costs its own readings, and the others nothing. Of many places only
some are looked at closely in one go; see CLOSE.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from queuepool.client.effects import CallEach, CallSystem, Steps
from queuepool.client.limits import page_of_limits
from queuepool.client.parked import parked_jobs
from queuepool.client.questions import ask_each, pools_in
from queuepool.client.reachable import Where, ask_reachable
from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.models import LimitStatus, PartitionState
from queuepool.models.doctor import ServerFigures
from queuepool.models.limits import is_limit_name
from queuepool.models.places import DEFAULT_POOL
from queuepool.models.release import __version__
from queuepool.settings.config import PoolConfig
from queuepool.telemetry.doctor import Observed, Place
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.limits import verbs as homes
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.operator.checkups import checkup, figures, refusal
from queuepool.verbs.producer import pools, route
from queuepool.verbs.schedules import verbs as schedules

T = TypeVar("T")
LIMITS = 100  # looked at: those for which the most jobs wait; of the others nothing is wrong
CLOSE = 128  # places that are looked at closely at once: some 30 ms of the servers
_NODES = 32  # partitions asked for the nodes of a cluster


def observed(config: PoolConfig) -> Steps[Observed]:
    """Return everything that can be read at this moment, of at most CLOSE places closely."""
    config = replace(config, retry_for_s=0.0)  # a server that is away is a finding
    numbers = range(config.topology.partitions)
    wheres: list[Where] = [(number, DEFAULT_POOL) for number in numbers]
    try:
        having = yield from pools_in(config, numbers)
    except QueuePoolError:  # a server is away
        having = {}
    wheres += [(number, pool) for pool, some in having.items() for number in some]
    began_ms = round(time.time() * 1000)
    states = yield from ask_reachable(config, wheres, lambda where: operate.observe(where[0]))
    ended_ms = round(time.time() * 1000)
    looked = yield from ask_reachable(config, wheres[:CLOSE], lambda _: checkup())
    places = tuple(
        Place(
            partition=where[0],
            pool=where[1],
            server=config.topology.server_of(where[0]),
            state=states.get(where),
            checkup=looked.get(where),
        )
        for where in wheres
    )
    return (yield from with_the_rest(config, places, began_ms, ended_ms))


def with_the_rest(
    config: PoolConfig,
    places: tuple[Place, ...],
    began_ms: int,
    ended_ms: int,
    *,
    clamps_known: bool = False,
) -> Steps[Observed]:
    """Return what is known of places, and what servers, limits, schedules and the leader are.

    began_ms, ended_ms: this machine's time before and after the places were observed, for the
    servers' clocks.
    """
    config = replace(config, retry_for_s=0.0)
    servers = yield from ask_servers(config)
    leader, error = yield from _system(lead.lead("", lease_ms=0, address=""))
    servers = _refusing(servers, config.topology.system, error)
    if refusal(error) is not None:
        leader, _ = yield from _system(lead.who_leads())
    limits, partly = yield from _limits(config, [(place.partition, place.pool) for place in places])
    timed, _ = yield from _system(schedules.schedules(0))
    record, unread = yield from _system(route.look(config.keyspace.system()))
    states = [place.state for place in places if place.state is not None]
    now_ms = max((state.observed_ms for state in states), default=began_ms)
    return Observed(
        now_ms=now_ms if leader is None else leader.now_ms,
        version=__version__,
        places=places,
        servers=servers,
        clocks=_clocks(places, began_ms, ended_ms),
        leader_lease_ms=None if leader is None else leader.lease_ms,
        route_version=None if unread is not None else record.version if record else 0,
        limits=limits,
        limits_partly=partly,
        schedules=None if timed is None else tuple(timed.found),
        clamps_known=clamps_known,
        spare=tuple(sorted(config.topology.servers.keys() - {place.server for place in places})),
    )


def ask_servers(config: PoolConfig) -> Steps[tuple[ServerFigures, ...]]:
    """Return what each server tells of itself, of a cluster each node that has partitions."""
    found: list[ServerFigures] = []
    for name, numbers in _by_server(config).items():
        first = yield from _figures(name, numbers[:1])
        if len(numbers) > 1 and first[0].clustered:
            nodes = {one.run_id: one for one in (yield from _figures(name, numbers[:_NODES]))}
            first = list(nodes.values())
        found += first
    return tuple(found)


def _figures(name: str, numbers: Sequence[int]) -> Steps[list[ServerFigures]]:
    # The probe tells whether it refuses writes: a script that might write is refused, too.
    calls = [(number, verb) for number in numbers for verb in (figures(name), pools.probe())]
    replies: Any = yield CallEach(calls)
    if isinstance(replies, UnavailableError):
        return [ServerFigures(name=name, problem=replies.cause[:300])]
    pairs = zip(replies[::2], replies[1::2], strict=True)
    return [replace(_told(name, info), refusal=refusal(look)) for info, look in pairs]


def _told(name: str, info: Any) -> ServerFigures:
    try:
        return figures(name).read(info)
    except UnavailableError as error:
        return ServerFigures(name=name, problem=error.cause[:300])
    except QueuePoolError:  # INFO is not allowed: nothing is known, and nothing is wrong
        return ServerFigures(name=name)


def _refusing(
    servers: tuple[ServerFigures, ...], name: str, reply: QueuePoolError | None
) -> tuple[ServerFigures, ...]:
    """Return the servers with what this reply tells of one, which may have no partition."""
    why = refusal(reply)
    if why is None:
        return servers
    if all(server.name != name for server in servers):
        return (*servers, ServerFigures(name=name, refusal=why))
    return tuple(replace(one, refusal=why) if one.name == name else one for one in servers)


def _by_server(config: PoolConfig) -> Mapping[str, list[int]]:
    placement = config.topology.view.placement
    found: dict[str, list[int]] = {}
    for number, name in enumerate(placement):
        found.setdefault(name, []).append(number)
    return found


def _limits(
    config: PoolConfig, wheres: Sequence[Where]
) -> Steps[tuple[tuple[LimitStatus, ...] | None, str]]:
    """Return the limits for which the most jobs wait, and why not all of these if there are more.

    None: they could not be read.
    """
    try:
        some, _ = yield from page_of_limits(config, "", 1)
        if not some:
            return (), ""
        parked = yield from parked_jobs(config, wheres)
        names = [name for name, jobs in parked.jobs.most_common() if jobs and is_limit_name(name)]
        home_of = config.topology.view.home_of
        asked = [(home_of(name), homes.find_limit(name)) for name in names[:LIMITS]]
        found = yield from ask_each(config, asked)
    except QueuePoolError:
        return None, ""
    partly = "" if parked.complete else "not all waiting jobs could be counted"
    if len(names) > LIMITS:
        partly = f"jobs wait for {len(names):,} limits, and only {LIMITS} were looked at"
    return tuple(parked.on(one) for one in found if one is not None), partly


def _system(verb: Verb[T]) -> Steps[tuple[T | None, QueuePoolError | None]]:
    """Return what the shared keys tell, or why they could not be read."""
    replies = yield CallSystem([verb])
    try:
        return verb.read(replies if isinstance(replies, UnavailableError) else replies[0]), None
    except QueuePoolError as error:
        return None, error


def _clocks(places: Sequence[Place], began_ms: int, ended_ms: int) -> dict[str, int]:
    """Return how far each server's clock is ahead of ours at least, by the first look at it.

    It was read at some moment of the look, which is long if any server is slow.
    """
    ahead: dict[str, int] = {}
    for place in places:
        state: PartitionState | None = place.state
        if state is not None:
            meant_ms = min(max(state.observed_ms, began_ms), ended_ms)
            ahead.setdefault(place.server, state.observed_ms - meant_ms)
    return ahead
