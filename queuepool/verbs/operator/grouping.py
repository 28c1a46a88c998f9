"""The verb that lists task groups, a bounded part at a time. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from queuepool.models.groups import GroupLoad, GroupOrder
from queuepool.models.places import DEFAULT_POOL
from queuepool.verbs import Argument, Verb

LOOK = 200  # places that one call looks at, about a millisecond of a server
LISTS_AT_ONCE = 100  # lists that one call is asked for

# A list of groups in a partition, and where to go on in it
Place = tuple[bytes, bytes]
ALL: tuple[Place, ...] = tuple(
    (name, b"")
    for name in (
        *(b"ring:0", b"ring:1", b"ring:2", b"ring:3"),
        *(b"mg", b"mt", b"gt", b"dl", b"fl"),
    )
)


class Part(Struct, frozen=True):
    """A part of the groups of a partition. following: what is to be looked at next."""

    now_ms: int
    looked: int
    following: tuple[Place, ...]
    groups: list[GroupLoad]


def groups(
    partition: int,
    order: GroupOrder,
    places: Sequence[Place] = ALL,
    *,
    least: int = 0,
    pool: str = DEFAULT_POOL,
    look: int = LOOK,
) -> Verb[Part]:
    """List groups; begin with ALL, go on with what follows until nothing does.

    least: only those with more jobs left than this, or created before this; 0: all of them.
    """

    def read(r: Any) -> Part:
        following = tuple(zip(map(bytes, r[2][::2]), map(bytes, r[2][1::2]), strict=True))
        named = None if pool == DEFAULT_POOL else pool
        return Part(r[0], r[1], following, [_load(partition, named, row) for row in r[3:]])

    args: list[Argument] = [look, str(order), least]
    args += [text for place in places for text in place]
    return Verb("groups", args, read)


def _load(partition: int, pool: str | None, row: Any) -> GroupLoad:
    group, total, left, delayed, parked, dead, created_ms, held_ms = row
    return GroupLoad(
        group=bytes(group),
        partition=partition,
        pool=pool,
        total=total,
        left=left,
        delayed=delayed,
        parked=parked,
        dead=dead,
        created_ms=created_ms,
        held_ms=held_ms or None,
    )
