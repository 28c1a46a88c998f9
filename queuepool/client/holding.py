"""How groups may run; hold a group, a partition or all of them: as steps for both pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from queuepool.client.effects import Follow, Steps
from queuepool.client.producer import Producer
from queuepool.client.questions import ask, ask_each, ask_places, following, pools_in
from queuepool.client.routes import Route
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models import Tier
from queuepool.models.places import DEFAULT_POOL, partition_at
from queuepool.routing.views import View
from queuepool.settings.config import PoolConfig
from queuepool.tasks.options import check_name, check_tier
from queuepool.verbs import Verb
from queuepool.verbs.producer import pools
from queuepool.verbs.producer import verbs as produce

KEPT_MS = 32 * 86_400_000  # settings of a group without work: more than a month
_MOST = 100_000
_HEAVIEST = 100
OWN = "own"  # tier: each job has that of its own


class UnknownGroupError(InvalidInputError):
    """A group has no jobs on record, so there is nothing to configure, hold or release."""


def check_settings(
    *,
    max_running: object = None,
    weight: object = None,
    tier: object = None,
    serial: object = None,
) -> None:
    """Raise InvalidInputError for what no group can be configured with."""
    if max_running is not None and (type(max_running) is not int or not 0 <= max_running <= _MOST):
        raise InvalidInputError(
            f"max_running={max_running!r}: use 1 to {_MOST:,}, or 0 for any number of jobs"
        )
    if weight is not None and (type(weight) is not int or not 1 <= weight <= _HEAVIEST):
        raise InvalidInputError(
            f"weight={weight!r}: use 1 to {_HEAVIEST}; a group of weight 3 has three turns for "
            "each turn of a group of weight 1"
        )
    if serial is not None and type(serial) is not bool:
        raise InvalidInputError(f"serial={shown(serial)}: use True or False")
    if tier is not None and tier != OWN:
        check_tier(tier, f", or {OWN}: each job has its own")


_NO_JOBS = (
    "group {!r} has no jobs: none were enqueued, or they ended some time ago and the group was "
    "forgotten, so there is nothing to configure, hold or release. Enqueue its jobs first, "
    "configure it with create=True (--create), or hold their partition"
)


def configure_group(
    config: PoolConfig,
    route: Route,
    key: Any,
    *,
    hold: bool | None = None,
    max_running: int | None = None,
    serial: bool | None = None,
    weight: int | None = None,
    tier: Tier | int | str | None = None,
    create: bool = False,
) -> Steps[bool]:
    """Return whether that changed how a group may run. None leaves a setting unchanged.

    create: also of a group without jobs, whose settings are kept for a time.
    Raises UnknownGroupError if the group has no jobs, InvalidInputError like `check_settings`.
    """
    check_settings(max_running=max_running, weight=weight, tier=tier, serial=serial)

    def asking(view: View) -> Steps[list[bool | None]]:
        verb = produce.configure(
            route.group,
            hold=hold,
            max_running=max_running,
            serial=serial,
            weight=weight,
            tier=_tier(tier),
            keep_ms=KEPT_MS if create else 0,
            slot=route.slot,
            version=view.version_for(route.slot),
        )
        return ask_places(config, view.places_of(route.slot), verb)

    found = yield from following(config, asking)
    if all(changed is None for changed in found):
        raise UnknownGroupError(_NO_JOBS.format(key))
    if tier is not None:
        yield from following(config, lambda view: _follow_at_gates(config, view, route))
    return any(found)


def _tier(tier: Tier | int | str | None) -> int | None:
    if tier is None:
        return None
    return produce.OWN_TIERS if tier == OWN else check_tier(tier)


def _follow_at_gates(config: PoolConfig, view: View, route: Route) -> Steps[None]:
    """Let parked jobs have their turns in the tier that their group has: in bounded steps."""
    version = view.version_for(route.slot)
    for partition in view.places_of(route.slot):
        for pool in (config.keyspace.pool, *(yield from ask(config, partition, pools.look()))):
            verb = produce.tier_at_gates(route.group, version=version)
            while cursor := (yield from ask(config.of(pool), partition, verb)):
                verb = produce.tier_at_gates(route.group, cursor, version)


def hold(
    producer: Producer, partition: int | None, pool: str | None, task: Any, *, on: bool
) -> Steps[int]:
    """Return how many partitions changed, each pool of one counted. None: of all of them.

    task: a function registered as one, or its name. Raises InvalidInputError for a pool that no
    partition has, and for a task together with a partition or a pool.
    """
    yield Follow()
    config = producer.config
    if task is None:
        return (
            yield from following(config, lambda view: _hold(config, view, partition, pool, on=on))
        )
    if partition is not None or pool is not None:
        raise InvalidInputError(
            "a task is held in all partitions and pools: leave partition and pool out"
        )
    name = check_name(producer.registry.name_of(task))
    return (yield from following(config, lambda view: _hold_task(config, view, name, on=on)))


def _hold_task(config: PoolConfig, view: View, task: str, *, on: bool) -> Steps[int]:
    known = {DEFAULT_POOL: list(view.numbers)} | (yield from pools_in(config, view.numbers))
    return (
        yield from _ask_pools(config, known, produce.hold_task(task, on=on, version=view.version))
    )


def _hold(
    config: PoolConfig, view: View, partition: int | None, pool: str | None, *, on: bool
) -> Steps[int]:
    numbers: Sequence[int] = view.numbers
    if partition is not None:
        if type(partition) is not int:
            raise InvalidInputError(f"partition={shown(partition)}: use its number, such as 3")
        config.topology.server_of(partition)  # raises for a partition that is not there
        numbers = [n for n in numbers if partition in (n, partition_at(n))] or [partition]
    version = view.version if partition is None else produce.ANY_VERSION
    verb = produce.configure(None, hold=on, version=version)
    known = {DEFAULT_POOL: list(numbers)} | (yield from pools_in(config, numbers))
    if pool is not None and pool not in known:
        raise InvalidInputError(
            f"pool={shown(pool)}: no consumer ran it here and no job was enqueued for it, so there "
            f"is nothing to hold or release; known pools: {', '.join(known)}"
        )
    meant = known if pool is None else {pool: known[pool]}
    return (yield from _ask_pools(config, meant, verb))


def _ask_pools(
    config: PoolConfig, known: Mapping[str, Sequence[int]], verb: Verb[Any]
) -> Steps[int]:
    """Ask the partitions of each pool; return how many say that they changed."""
    changed = 0
    for name, numbers in known.items():
        calls = [(number, verb) for number in numbers]
        changed += sum(map(bool, (yield from ask_each(config.of(name), calls))))
    return changed
