"""What an owner asks and tells the homes of limits and of batches, beside its turns. Pure."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from consumer.core.limits.earlier import EVERY
from queuepool.models.places import DEFAULT_POOL
from queuepool.verbs import Verb


class HomeCall(Struct, frozen=True):
    """One verb for the home of a limit; name "": for a partition, or EVERY one.

    slot: of a batch instead, whose home is in this pool; entries: the ends that it tells.
    """

    name: str
    verb: Verb[Any]
    partition: int = EVERY
    slot: int | None = None
    pool: str = DEFAULT_POOL
    entries: tuple[bytes, ...] = ()
