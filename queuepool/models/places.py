"""Where a task runs: a partition, a worker pool of it, and how many slots a job takes. Pure.

Numbers of places, of which a partition may have several while the queue lives:

    3            partition 3, where the route says that it is
    4096         legacy: the place of a queue without partitions
    8192 + 3     the new place of partition 3, on another server, while it moves there
    16384 + 3    where partition 3 was at first, if it moved since: limits have their home there
    32768 + 3    where partition 3 was when slots left it lately; on further servers: + 8192 each

The keys of all places of a partition have the same names, each on its own server.
"""

from __future__ import annotations

import re

from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown

DEFAULT_POOL = "default"
MAX_SLOTS = 4096
LEGACY = 4096  # the number of the place that all jobs have in a queue without partitions
LEGACY_NAME = "legacy"
NEW_PLACE, FIRST_PLACE, FORMER_PLACE = 8192, 16384, 32768
PLACES = 8192  # what tells places of one partition from each other is a multiple of this
MAX_POOLS = 15  # of a partition, besides the default one
_NAME = re.compile("[a-z][a-z0-9_-]{0,31}")


def check_pool(name: object) -> str:
    """Return a valid pool name. Raises InvalidInputError."""
    if isinstance(name, str) and is_pool(name):
        return name
    raise InvalidInputError(
        f"pool={shown(name)}: use a name of 1 to 32 of a-z 0-9 _ - that begins with a letter"
    )


def is_pool(name: str) -> bool:
    """Return whether a pool may have this name."""
    return _NAME.fullmatch(name) is not None


def pool_field(name: str) -> str:
    """Return how a message names a pool: empty for the default one, as before there were others."""
    return "" if name == DEFAULT_POOL else name


def place_text(partition: int, pool: str) -> str:
    """Return the name for people of a partition's pool: 3, 3/video, or legacy."""
    name = LEGACY_NAME if partition == LEGACY else str(partition_at(partition))
    return name if pool == DEFAULT_POOL else f"{name}/{pool}"


def new_place(partition: int) -> int:
    """Return the number of the new place of a partition that moves to another server."""
    return NEW_PLACE + partition


def first_place(partition: int) -> int:
    """Return the number of the place where a partition was at first."""
    return FIRST_PLACE + partition


def partition_at(place: int) -> int:
    """Return the partition of a place."""
    return place % PLACES


def check_slots(slots: object) -> int:
    """Return a valid number of slots. Raises InvalidInputError."""
    is_int = isinstance(slots, int) and not isinstance(slots, bool)
    if isinstance(slots, int) and is_int and 1 <= slots <= MAX_SLOTS:
        return slots
    raise InvalidInputError(f"slots={shown(slots)}: use 1 to {MAX_SLOTS:,} places of the pool")
