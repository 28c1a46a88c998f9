"""Where a task runs: a partition, a worker pool of it, and how many slots a job takes. Pure."""

from __future__ import annotations

import re

from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown

DEFAULT_POOL = "default"
MAX_SLOTS = 4096
LEGACY = 4096  # the number of the place that all jobs have in a queue without partitions
LEGACY_NAME = "legacy"
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


def place_text(partition: int, pool: str) -> str:
    """Return the name for people of a partition's pool: 3, 3/video, or legacy."""
    name = LEGACY_NAME if partition == LEGACY else str(partition)
    return name if pool == DEFAULT_POOL else f"{name}/{pool}"


def check_slots(slots: object) -> int:
    """Return a valid number of slots. Raises InvalidInputError."""
    is_int = isinstance(slots, int) and not isinstance(slots, bool)
    if isinstance(slots, int) and is_int and 1 <= slots <= MAX_SLOTS:
        return slots
    raise InvalidInputError(f"slots={shown(slots)}: use 1 to {MAX_SLOTS:,} places of the pool")
