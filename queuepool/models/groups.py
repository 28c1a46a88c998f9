"""The largest and the oldest task groups: frozen data, and the choice among many. Pure.

Groups arrive in parts, in no order, some more than once. `Best` keeps twice as many as are wanted
at most, and says what a group must be better than to matter: servers send only such ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models.places import DEFAULT_POOL
from queuepool.models.tenants import is_part, key_in, tenant_text

MOST_GROUPS = 10_000


class GroupOrder(StrEnum):
    """Which groups come first: those with the most jobs left, or those created first."""

    SIZE = "size"
    AGE = "age"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLoad:
    """A task group with work left, as it was when its partition was looked at.

    group: as stored. total: jobs that it ever had; left: those that have not ended, also delayed
    and parked ones; dead: those kept as dead. created_ms: when it began. held_ms: since when it is
    held, None: it is not. pool: None for the default one; jobs of other pools are counted apart.
    """

    group: bytes
    partition: int
    pool: str | None = None
    total: int
    left: int
    delayed: int = 0
    parked: int = 0
    dead: int = 0
    created_ms: int
    held_ms: int | None = None

    def plus(self, other: GroupLoad) -> GroupLoad:
        """Return this and another part of the same group, in the place of the group itself."""
        first, second = (other, self) if is_part(self.group) else (self, other)
        held = [one.held_ms for one in (self, other) if one.held_ms is not None]
        return replace(
            first,
            total=first.total + second.total,
            left=first.left + second.left,
            delayed=first.delayed + second.delayed,
            parked=first.parked + second.parked,
            dead=first.dead + second.dead,
            created_ms=min(first.created_ms, second.created_ms),
            held_ms=min(held, default=None),
        )

    @property
    def tenant(self) -> str | None:
        """Return the tenant that the group belongs to, None of a plain group."""
        return tenant_text(self.group)


def together(found: Iterable[GroupLoad]) -> list[GroupLoad]:
    """Return groups with those that are parts of one, which is spread, as one; in their order."""
    groups: dict[tuple[str | None, bytes, str | None], GroupLoad] = {}
    for one in found:
        whole = one.tenant, key_in(one.group), one.pool
        known = groups.get(whole)
        groups[whole] = one if known is None else known.plus(one)
    return list(groups.values())


def order_of(order: object) -> GroupOrder:
    """Return an order that a caller named. Raises InvalidInputError."""
    for known in GroupOrder:
        if order == known:
            return known
    raise InvalidInputError(f"order={shown(order)}: use {' or '.join(GroupOrder)}")


class Best:
    """The first groups in an order, of all that were added."""

    def __init__(self, order: GroupOrder, most: int) -> None:
        self._order, self._most = order, most
        self._found: dict[tuple[int, str, bytes], GroupLoad] = {}
        self.least = 0  # what a server compares a group with; 0: with nothing yet

    def __len__(self) -> int:
        """Return how many groups are kept."""
        return len(self._found)

    def add(self, groups: Iterable[GroupLoad]) -> None:
        """Take more groups; one that was there before is replaced by what it is now."""
        for one in groups:
            self._found[_place(one)] = one
            if len(self._found) >= 2 * self._most:
                kept = self.first()
                self._found = {_place(each): each for each in kept}
                last = kept[-1]
                self.least = last.left if self._order is GroupOrder.SIZE else last.created_ms

    def first(self) -> list[GroupLoad]:
        """Return the first ones, in order."""
        return sorted(self._found.values(), key=self._rank)[: self._most]

    def _rank(self, one: GroupLoad) -> tuple[int, int, int, bytes]:
        by_size = (-one.left, one.created_ms)
        first, then = by_size if self._order is GroupOrder.SIZE else by_size[::-1]
        return first, then, one.partition, one.group


def _place(one: GroupLoad) -> tuple[int, str, bytes]:
    return one.partition, one.pool or DEFAULT_POOL, one.group
