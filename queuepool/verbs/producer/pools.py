"""Verbs of a partition's pools: which there are besides the default one. Pure.

They are sent to the base of the default pool.
"""

from __future__ import annotations

from typing import Any

from queuepool.errors import InvalidInputError
from queuepool.models.places import MAX_POOLS, is_pool
from queuepool.verbs import Verb
from queuepool.verbs.producer.verbs import ANY_VERSION
from queuepool.verbs.routed import here


def look() -> Verb[tuple[str, ...]]:
    """Return the names of the pools besides the default one, sorted."""
    return Verb("pool_names", [], _read)


def probe() -> Verb[tuple[str, ...]]:
    """Return the same by a script that may write, which a server that refuses writes refuses."""
    return Verb("pools", ["", MAX_POOLS, ANY_VERSION], _read)


def add(pool: str, version: int = 0) -> Verb[tuple[str, ...]]:
    """Note that a partition has this pool, and return all.

    version: that of the route by which the partition was chosen; 0: whichever. Raises
    InvalidInputError if there would be too many, MovedError when the version is too low.
    """

    def read(reply: Any) -> tuple[str, ...]:
        names = _read(reply)
        if pool not in names:
            raise InvalidInputError(
                f"pool={pool!r}: a partition has at most {MAX_POOLS} pools besides the default "
                f"one, and there are {', '.join(names)}"
            )
        return names

    return Verb("pools", [pool, MAX_POOLS, version or ANY_VERSION], read)


def _read(reply: Any) -> tuple[str, ...]:
    names = (name.decode("ascii", "replace") for name in here(reply))
    return tuple(sorted(filter(is_pool, names)))
