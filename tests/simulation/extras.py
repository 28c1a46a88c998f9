"""What jobs and groups of a seed ask for beyond being run; and when that changes. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

from queuepool.routing.slots import group_of

TENANT = "acme"
SHARE = 0.4  # of the seeds
_CHANGES_WITHIN_S = 12.0


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a group (its number), of the tenant (its name), or of the partition (None)."""

    at_s: float
    target: int | str | None
    settings: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """Shares are of enqueue calls."""

    changes: tuple[Change, ...] = ()  # those of one target in the order of their times
    unique: float = 0.0  # its jobs have unique keys
    keys: int = 1
    expires: float = 0.0  # its jobs expire
    tenant: bool = False  # groups with odd numbers belong to one

    def tenant_of(self, group: int) -> str | None:
        """Return the tenant of a group."""
        return TENANT if self.tenant and group % 2 else None

    def name_of(self, group: int) -> bytes:
        """Return the name of a group."""
        return group_of(b"group-%d" % group, (self.tenant_of(group) or "").encode())

    @property
    def serial(self) -> bool:
        """Return whether any group is serial for a while."""
        return any(change.settings.get("serial") for change in self.changes)

    def beside_limits(self) -> Extras:
        """Return what is proved of jobs with limits, too.

        No holds that last, since parked jobs are not counted as held; and no serial groups: jobs
        that were at gates before their group became serial may be overtaken, as the docs say.
        """
        last_s = _CHANGES_WITHIN_S + 4.0
        kept = (c for c in self.changes if c.at_s != last_s and "serial" not in c.settings)
        return replace(self, changes=tuple(kept))

    def final(self) -> list[Change]:
        """Return what each target has when all changes were made."""
        states: dict[int | str | None, dict[str, Any]] = {}
        for change in self.changes:
            states.setdefault(change.target, {}).update(change.settings)
        return [Change(0.0, target, settings) for target, settings in states.items()]


def draw_extras(r: random.Random, groups: int) -> Extras | None:
    """Return the extras of a seed; most have none."""
    if r.random() >= SHARE:
        return None
    changes: list[Change] = []
    for group in range(groups):
        changes += sorted(_of_group(r, group), key=lambda change: change.at_s)
    if r.random() < 0.3:
        changes += _hold(r, None)
    unique, keys, expires = r.choice((0.0, 0.5, 1.0)), r.randint(1, 6), r.choice((0.0, 0.0, 0.5))
    tenant = r.random() < 0.5
    if tenant:
        changes += sorted(_of_tenant(r), key=lambda change: change.at_s)
    return Extras(changes=tuple(changes), unique=unique, keys=keys, expires=expires, tenant=tenant)


def _of_group(r: random.Random, group: int) -> list[Change]:
    changes: list[Change] = []
    if r.random() < 0.4:
        changes.append(Change(0.0, group, {"serial": True}))
        if r.random() < 0.3:
            changes += [Change(at, group, {"serial": on}) for at, on in _spell(r)]
    elif r.random() < 0.5:
        changes.append(Change(0.0, group, {"max_running": r.randint(1, 3)}))
        for _ in range(r.randint(0, 3)):
            at_s = r.uniform(0.0, _CHANGES_WITHIN_S)
            changes.append(Change(at_s, group, {"max_running": r.choice((0, 1, 2, 3))}))
    if r.random() < 0.4:
        changes += _hold(r, group)
    if r.random() < 0.1:  # it stays held
        changes.append(Change(_CHANGES_WITHIN_S + 4.0, group, {"hold": True}))
    return changes


def _of_tenant(r: random.Random) -> list[Change]:
    times = [0.0, *(r.uniform(0.0, _CHANGES_WITHIN_S) for _ in range(r.randint(0, 3)))]
    changes = [Change(at_s, TENANT, {"max_running": r.choice((0, 1, 2, 3))}) for at_s in times]
    if r.random() < 0.3:
        changes.append(Change(0.0, TENANT, {"weight": r.randint(2, 5)}))
    return changes + _hold(r, TENANT) if r.random() < 0.4 else changes


def _hold(r: random.Random, target: int | str | None) -> list[Change]:
    return [Change(at_s, target, {"hold": not on}) for at_s, on in _spell(r)]


def _spell(r: random.Random) -> list[tuple[float, bool]]:
    # Off at one time, on again at another.
    begin_s = r.uniform(0.0, _CHANGES_WITHIN_S)
    return [(begin_s, False), (begin_s + r.uniform(0.1, 4.0), True)]
