"""One budget of workers over all partitions, divided by what they ask for. Pure.

Each partition gets its base, and of the rest in proportion to what it asks for above that. What no
cycle can change (unobserved, set manually) is taken from the budget first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_CALM = 0.1  # a share that differs by less than this from the last one stays as it was


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a partition asks for. base: what it gets first; before: what it has now."""

    partition: int
    asked: int
    base: int
    before: int


def divide(budget: int, taken: int, asks: Sequence[Ask]) -> Mapping[int, int]:
    """Return partition -> workers, at least 1 each. taken: by partitions that cannot be moved.

    Without need every partition gets what it asks for.
    """
    left = budget - taken
    if sum(ask.asked for ask in asks) <= left:
        return {ask.partition: ask.asked for ask in asks}
    bases = [min(ask.base, ask.asked) for ask in asks]
    if sum(bases) >= left:
        parts = split(max(left - len(asks), 0), [base - 1 for base in bases])
        shares = [1 + part for part in parts]
    else:
        above = [ask.asked - base for ask, base in zip(asks, bases, strict=True)]
        parts = split(left - sum(bases), above)
        shares = [base + part for base, part in zip(bases, parts, strict=True)]
    calm = [_calmed(ask, share) for ask, share in zip(asks, shares, strict=True)]
    chosen = calm if sum(calm) <= left else shares
    return {ask.partition: share for ask, share in zip(asks, chosen, strict=True)}


def _calmed(ask: Ask, share: int) -> int:
    near = abs(share - ask.before) <= max(1, _CALM * ask.before)
    return ask.before if near and 1 <= ask.before <= ask.asked else share


def split(amount: int, weights: Sequence[int]) -> list[int]:
    """Return whole parts in proportion to weights, that are `amount` together.

    None is above its weight. What rounding leaves goes to the largest remainders, then to the
    first.
    """
    total = sum(weights)
    if amount >= total:
        return list(weights)
    parts = [amount * weight // total for weight in weights]
    order = sorted(range(len(weights)), key=lambda i: (-(amount * weights[i] % total), i))
    for i in order[: amount - sum(parts)]:
        parts[i] += 1
    return parts
