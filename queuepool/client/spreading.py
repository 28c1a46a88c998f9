"""Groups that are spread over several slots, as steps for both pools.

    spread_out   parts k-1 .. 1, then the group: "spread over k", kept --> jobs go to any part
    whole        the group --how many parts?--> its parts, together

The group's own record is written last, so whoever finds it finds all parts, and a call that ended
halfway is repeated by the next one. Records are kept for a month without work: a part that ends
early must not be forgotten while others go on. A part says itself over how many slots the group is
spread, in case that the group's own record is gone. Any step may be repeated.
"""

from __future__ import annotations

from time import monotonic
from typing import Any

from queuepool.client.effects import Steps
from queuepool.client.holding import KEPT_MS, check_settings, configure_group
from queuepool.client.producer import Producer
from queuepool.client.questions import ask_places, following
from queuepool.client.routes import Route, Routes, remember
from queuepool.errors import InvalidInputError
from queuepool.models import GroupStatus
from queuepool.models.jobs import parts_together, total_of
from queuepool.routing.spreading import check_spread, shares
from queuepool.routing.views import View
from queuepool.settings.config import PoolConfig
from queuepool.verbs.producer import verbs as produce

_SURE_S = 3600.0  # much less than records are kept without work
_ROUNDS = 3  # in which the settings of a group may change while it is spread


def spread_out(producer: Producer, key: Any, tenant: str | None, spread: object) -> Steps[int]:
    """Return over how many slots the jobs of a call go, once the group's record says so.

    Raises InvalidInputError for a key that is a function, or a serial group.
    """
    wanted = check_spread(spread)
    if wanted == 1:
        return 1
    if not isinstance(key, (str, bytes)):
        raise InvalidInputError(
            "spread needs one partition_key for all jobs of the call: it is that group which is "
            "spread over several slots"
        )
    route = producer.route(key, tenant)
    known = producer.spread.get(route.group)
    if known is None or known[0] < wanted or monotonic() > known[1]:
        yield from _declare(producer.config, route, key, wanted)
        remember(producer.spread, route.group, (wanted, monotonic() + _SURE_S))
    return wanted


def _declare(config: PoolConfig, route: Route, key: Any, wanted: int) -> Steps[None]:
    routes, status = Routes(config), (yield from whole(config, route))[0]
    for _ in range(_ROUNDS):
        check_unordered(status, key)
        if status.spread >= wanted:
            return
        bounds = bounds_of(key, status.max_running or 0, wanted)
        for part in reversed(range(wanted)):
            settings = _settings_of(status, bounds[part])
            yield from _note(config, routes.part(route, part), wanted, settings)
        before, status = status, (yield from whole(config, route))[0]
        if _settings_of(before, 0) == _settings_of(status, 0):
            return


def check_unordered(status: GroupStatus, key: Any) -> None:
    """Raise InvalidInputError for a group whose jobs are to run in order."""
    if status.serial:
        raise InvalidInputError(
            f"group {key!r} is serial: its jobs run one at a time, in order, which a spread group "
            "gives up. Nothing was done; leave out spread, or configure(serial=False) first"
        )


def bounds_of(key: Any, most: int, parts: int) -> list[int]:
    """Return how many jobs each part may run at once. Raises InvalidInputError for too few."""
    if 0 < most < parts:
        raise InvalidInputError(
            f"group {key!r} is spread over {parts} slots, each of which runs a share of "
            f"max_running={most}: use at least {parts}. Nothing was done"
        )
    return shares(most, parts)


def _settings_of(status: GroupStatus, bound: int) -> dict[str, Any]:
    if not status.has_settings:
        return {}
    tier = {} if status.tier is None else {"tier": int(status.tier)}
    held = status.held_ms is not None
    return {"hold": held, "max_running": bound, "weight": status.weight} | tier


def _note(config: PoolConfig, route: Route, spread: int, settings: dict[str, Any]) -> Steps[None]:
    def asking(view: View) -> Steps[list[bool | None]]:
        verb = produce.configure(
            route.group,
            spread=spread,
            keep_ms=KEPT_MS,
            slot=route.slot,
            version=view.version_for(route.slot),
            **settings,
        )
        return ask_places(config, view.places_of(route.slot), verb)

    yield from following(config, asking)


def whole(config: PoolConfig, route: Route) -> Steps[tuple[GroupStatus, int]]:
    """Return the totals of a group with all its parts and pools, and how many readings they are."""
    first = yield from _in_pools(config, route)
    found, readings, routes = [total_of(first)], len(first), Routes(config)
    spread = found[0].spread
    if spread == 1 and not found[0].is_known:  # a part may know more
        spread = total_of((yield from _in_pools(config, routes.part(route, 1)))).spread
    for part in range(1, spread):
        of_part = yield from _in_pools(config, routes.part(route, part))
        found.append(total_of(of_part))
        readings += len(of_part)
    return parts_together(found), readings


def _in_pools(config: PoolConfig, route: Route) -> Steps[list[GroupStatus]]:
    def asking(view: View) -> Steps[list[GroupStatus]]:
        verb = produce.group(route.group, view.version)
        return ask_places(config, view.places_of(route.slot), verb)

    return (yield from following(config, asking))


def parts_of(config: PoolConfig, route: Route) -> Steps[list[Route]]:
    """Return where the parts of a group are; of one that is not spread only itself."""
    status, _ = yield from whole(config, route)
    routes = Routes(config)
    return [routes.part(route, part) for part in range(status.spread)]


def configure_whole(config: PoolConfig, route: Route, key: Any, **settings: Any) -> Steps[bool]:
    """Return whether that changed how a group may run, with all its parts; see configure_group.

    Raises InvalidInputError for what a spread group cannot be: serial, or bounded to fewer jobs
    than it has parts; like check_settings, before any part is changed.
    """
    known = ("max_running", "weight", "tier", "serial")
    check_settings(**{name: settings.get(name) for name in known})
    parts = yield from parts_of(config, route)
    if len(parts) == 1:
        return (yield from configure_group(config, route, key, **settings))
    if settings.get("serial"):
        raise InvalidInputError(
            f"group {key!r} is spread over {len(parts)} slots, which run its jobs side by side, so "
            "it cannot be serial. Nothing was done"
        )
    most = settings.get("max_running")
    bounds = bounds_of(key, most, len(parts)) if type(most) is int else [most] * len(parts)
    changed = False
    for part, bound in zip(parts, bounds, strict=True):
        own = settings | {"max_running": bound, "create": True}
        changed |= yield from configure_group(config, part, key, **own)
    return changed
