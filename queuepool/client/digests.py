"""Where a group is whose name is a digest: that of a long key, as lists show it. Steps.

A digest does not tell the slot, and so not the partition: the group is looked for in all of them,
and one of its jobs has its slot.
"""

from __future__ import annotations

from functools import partial

from queuepool.client.effects import Steps
from queuepool.client.questions import ask_each, ask_places, following, numbered, pools_in
from queuepool.client.routes import Route, Routes
from queuepool.errors import ScriptError
from queuepool.models import JobState
from queuepool.models.finding import JobFilter
from queuepool.routing.slots import SLOTS
from queuepool.routing.views import View
from queuepool.settings.config import PoolConfig
from queuepool.verbs.operator import finding
from queuepool.verbs.producer import verbs as produce

_STATES = (JobState.READY, JobState.DELAYED, JobState.DEAD, JobState.IN_FLIGHT)


def looked_for(config: PoolConfig, route: Route) -> Steps[Route]:
    """Return the route of the group that has the name of this one, which may be a digest."""
    return following(config, partial(_looked_for, config, route))


def _looked_for(config: PoolConfig, route: Route, view: View) -> Steps[Route]:
    here = view.places_of(route.slot)
    verb = produce.group(route.group, view.version)
    statuses = yield from ask_places(config, here, verb)
    if any(status.is_known and status.spread == 1 for status in statuses):
        return route  # also a key of as many bytes is no digest then
    places = yield from _places_with(config, view, route.group)
    for place, pool in places.items():
        slot = yield from _slot_of_a_job(config.of(pool), place, route.group)
        if slot is not None:
            return Routes(config).of_group(slot, route.group)
    if not places or set(places) & set(here):
        return route
    # No job is found soon: any slot of the partition leads to what it knows of the group.
    slots = (slot for slot in range(SLOTS) if view.partition_of(slot) in places)
    return Routes(config).of_group(next(slots, route.slot), route.group)


def _places_with(config: PoolConfig, view: View, group: bytes) -> Steps[dict[int, str]]:
    """Return the partitions that know a group, each with a pool in which it is known."""
    numbers, default = view.numbers, config.keyspace.pool
    known: dict[int, str] = {}
    others = yield from pools_in(config, numbers)
    for pool, having in ((default, numbers), *others.items()):
        verb = produce.group(group, view.version)
        calls = [(number, numbered(number, verb)) for number in having]
        for number, status in (yield from ask_each(config.of(pool), calls)):
            if status.is_known:
                known.setdefault(number, pool)
    return known


def _slot_of_a_job(config: PoolConfig, place: int, group: bytes) -> Steps[int | None]:
    calls = [
        (place, finding.find(place, JobFilter(state=state, group=group), most=1))
        for state in _STATES
    ]
    try:
        pages = yield from ask_each(config, calls)
    except ScriptError:  # producers may not look for jobs
        return None
    for page in pages:
        for job in page.jobs:
            if job.slot is not None:
                return job.slot
    return None
