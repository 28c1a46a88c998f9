"""Looking for the largest or the oldest task groups, as steps for both pools.

    each place (partition and pool): lists to look at -> one bounded call -> what follows
    all places in turn, until nothing follows anywhere

Servers keep no order of groups, so all of them are looked at once, 200 in a call, and only those
that are better than what is known are sent.
"""

from __future__ import annotations

from queuepool.client.effects import Steps
from queuepool.client.questions import ask_each, numbered, places_of
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models.groups import MOST_GROUPS, Best, GroupLoad, order_of, together
from queuepool.settings.config import PoolConfig
from queuepool.verbs import Verb
from queuepool.verbs.operator.grouping import ALL, LISTS_AT_ONCE, Part, Place, groups

_Left = dict[tuple[int, str], tuple[Place, ...]]


def check_limit(limit: object) -> int:
    """Return how many groups a caller wants. Raises InvalidInputError."""
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MOST_GROUPS:
        raise InvalidInputError(f"limit={shown(limit)}: use 1 to {MOST_GROUPS:,} groups")
    return limit


def find_groups(
    config: PoolConfig, *, order: object, limit: int, partition: int | None, pool: str | None = None
) -> Steps[list[GroupLoad]]:
    """Return the first groups in an order, of a partition or of all.

    What is listed of a group that is spread is one, with the place of its largest part's order.
    """
    best = Best(ordered := order_of(order), limit)
    places = yield from places_of(config, partition)
    left: _Left = {place: ALL for place in places if pool in (None, place[1])}
    while left:
        for name in sorted({place[1] for place in left}):
            calls: list[tuple[int, Verb[tuple[int, Part]]]] = []
            for number, lists in _of_pool(left, name).items():
                some = lists[:LISTS_AT_ONCE]
                verb = groups(number, ordered, some, least=best.least, pool=name)
                calls.append((number, numbered(number, verb)))
            for number, part in (yield from ask_each(config.of(name), calls)):
                best.add(part.groups)
                following = part.following + left.pop((number, name))[LISTS_AT_ONCE:]
                if following:
                    left[number, name] = following
    return together(best.first())


def _of_pool(left: _Left, name: str) -> dict[int, tuple[Place, ...]]:
    return {number: lists for (number, pool), lists in left.items() if pool == name}
