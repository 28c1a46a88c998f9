"""One budget of workers over the pools of a queue: how many each may have now. Pure.

Each pool is entitled to a part in proportion to its share, and at least to what cannot be taken
from it. What others leave of theirs goes to the pools with a backlog; a pool that wants its part
back gets it at once, and those above theirs shrink. Every pool's leader computes this by itself,
from counts that may be a cycle old, so the sum may be above the budget for a few cycles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coordinator.core.overlays.budget import split


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolUse:
    """What a pool has. workers: wanted for its partitions; waits: whether it has a backlog.

    least: how many of the workers no budget takes away.
    """

    workers: int
    waits: bool
    share: int = 1
    least: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What a pool may have. workers: over its partitions; total: of all pools."""

    workers: int
    total: int


def room_of(pool: str, total: int, uses: Mapping[str, PoolUse]) -> Room:
    """Return what a pool may have of the total. uses: of every pool, by name."""
    names = sorted(uses)
    entitled = _entitled(total, uses)
    own, free = uses[pool].workers, total - sum(use.workers for use in uses.values())
    if free < 0:
        above = {name: max(uses[name].workers - entitled[name], 0) for name in names}
        own -= dict(zip(names, split(-free, list(above.values())), strict=True))[pool]
    else:
        hungry = {name: uses[name].share for name in names if uses[name].waits or name == pool}
        own += _divided(free, hungry)[pool]
    return Room(workers=max(own, entitled[pool]), total=total)


def _entitled(total: int, uses: Mapping[str, PoolUse]) -> Mapping[str, int]:
    fixed, parts = dict[str, int](), dict[str, int]()
    while len(fixed) < len(uses):
        shares = {name: use.share for name, use in uses.items() if name not in fixed}
        parts = _divided(max(total - sum(fixed.values()), 0), shares)
        short = {name: uses[name].least for name in parts if parts[name] < uses[name].least}
        if not short:
            break
        fixed |= short
    return parts | fixed


def _divided(amount: int, shares: Mapping[str, int]) -> dict[str, int]:
    """Return parts in proportion to shares that are the amount together."""
    whole = sum(shares.values())
    parts = {name: amount * share // whole for name, share in shares.items()}
    order = sorted(shares, key=lambda name: (-(amount * shares[name] % whole), name))
    for name in order[: amount - sum(parts.values())]:
        parts[name] += 1
    return parts
