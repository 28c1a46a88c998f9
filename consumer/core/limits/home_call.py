"""What an owner asks and tells other partitions, mostly as homes of limits and batches. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from consumer.core.limits.earlier import EVERY
from queuepool.models.places import DEFAULT_POOL
from queuepool.verbs import Verb
from queuepool.verbs.limits import verbs as homes

if TYPE_CHECKING:
    from consumer.core.limits.share import Share
    from queuepool.verbs.owner.replies import Ownership


class HomeCall(Struct, frozen=True):
    """One verb for the home of a limit; name "": for a partition, or EVERY one.

    slot: of a batch instead, whose home is in this pool; entries: the ends that it tells. looks: it
    asks whether the partition has an owner (see roaming).
    """

    name: str
    verb: Verb[Any]
    partition: int = EVERY
    slot: int | None = None
    pool: str = DEFAULT_POOL
    entries: tuple[bytes, ...] = ()
    looks: bool = False


def ask_for(share: Share, ownership: Ownership, definition: str, serial: int) -> HomeCall:
    """Ask the home of a limit for what this owner lacks. definition: what code declares of it."""
    asked = share.begin_ask()
    verb = homes.ask(
        ownership,
        share.name,
        tokens=asked.tokens,
        held=asked.held,
        wanted=asked.wanted,
        definition=definition,
        serial=serial,
    )
    return HomeCall(share.name, verb)
