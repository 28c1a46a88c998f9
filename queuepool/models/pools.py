"""Parses sizes of worker pools, as consumers and coordinators take them. Pure.

default=8..64            8 to 64 threads, the default kind
io=async:200..2000       coroutines on one event loop
cpu=process:2            always 2 child processes
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models.places import MAX_POOLS, check_pool

MAX_WORKERS = 4096
_MAX_PROCESSES = 256
_MAX_POOLS = MAX_POOLS + 1
_POOL = re.compile(r"([^=]*)=(?:([a-z]+):)?(\d{1,6})(?:\.\.(\d{1,6}))?", re.ASCII)


class Kind(StrEnum):
    """The kind of workers of a pool."""

    THREADS = "threads"
    ASYNC = "async"
    PROCESS = "process"


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """One pool of `least` to `most` workers."""

    name: str
    kind: Kind
    least: int
    most: int

    def __str__(self) -> str:
        """Return the text that `parse_pools` reads."""
        return f"{self.name}={self.kind}:{self.least}..{self.most}"


def parse_pools(text: str) -> tuple[PoolPlan, ...]:
    """Return the pools of a text such as `default=8..64,cpu=process:2`. Raises ValueError."""
    plans = tuple(_parsed(part.strip()) for part in text.split(",", _MAX_POOLS))
    names = [plan.name for plan in plans]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"pool {min(twice)!r} is given twice")
    if len(plans) > _MAX_POOLS:
        raise ValueError(f"use at most {_MAX_POOLS} pools")
    return plans


def _parsed(part: str) -> PoolPlan:
    found = _POOL.fullmatch(part)
    if found is None:
        raise ValueError(
            f"{shown(part)}: use NAME=SIZE, such as default=4, default=4..32 or default=process:2"
        )
    try:
        name = check_pool(found[1])
    except InvalidInputError as error:
        raise ValueError(str(error)) from None
    if (found[2] or Kind.THREADS) not in tuple(Kind):
        raise ValueError(
            f"pool {name!r}: kind {shown(found[2])} is unknown; use one of {', '.join(Kind)}"
        )
    kind, least = Kind(found[2] or Kind.THREADS), int(found[3])
    most = int(found[4]) if found[4] else least
    if most < least:
        raise ValueError(f"pool {name!r}: {least}..{most}: the smaller number must come first")
    limit = _MAX_PROCESSES if kind is Kind.PROCESS else MAX_WORKERS
    if not 1 <= least <= most <= limit:
        raise ValueError(f"pool {name!r}: {least}..{most}: use 1 to {limit} for kind {kind}")
    return PoolPlan(name, kind, least, most)
