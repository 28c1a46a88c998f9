"""What an owner asks and tells other partitions, mostly as homes of limits and batches. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from queuepool.models.places import DEFAULT_POOL

if TYPE_CHECKING:
    from queuepool.verbs import Verb


class ToLimit(Struct, frozen=True):
    """The home of the limit of this name."""

    name: str


class ToSlot(Struct, frozen=True):
    """The partition that has this slot."""

    slot: int


class ToPartition(Struct, frozen=True):
    """The partition of this number."""

    number: int


class ToAll(Struct, frozen=True):
    """Each partition that may be the home of limits, once under each name of the asker.

    elsewhere: only under its names at other places, which were not known before.
    """

    elsewhere: bool = False


Address: TypeAlias = ToLimit | ToSlot | ToPartition | ToAll


class RemoteCall(Struct, frozen=True):
    """One verb for another partition, in this pool.

    entries: the ends that it tells the home of a batch. looks: it asks whether the partition has an
    owner (see roaming).
    """

    to: Address
    verb: Verb[Any]
    pool: str = DEFAULT_POOL
    entries: tuple[bytes, ...] = ()
    looks: bool = False
