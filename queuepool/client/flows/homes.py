"""Calls for many batches, each at its home. As steps for both pools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queuepool.client.effects import Steps
from queuepool.client.questions import ask_all, following
from queuepool.protocol.batches import home_of_batch
from queuepool.routing.views import View
from queuepool.settings.config import PoolConfig
from queuepool.verbs import Verb
from queuepool.verbs.flows import verbs as flow

_AT_ONCE = 100  # verbs in one round trip


def ask_homes(config: PoolConfig, asked: Sequence[tuple[str, Verb[Any]]]) -> Steps[list[Any]]:
    """Run verbs that may be repeated at the homes of batches; return their replies in order."""
    return (yield from following(config, lambda view: _at_homes(config, view, asked)))


def _at_homes(
    config: PoolConfig, view: View, asked: Sequence[tuple[str, Verb[Any]]]
) -> Steps[list[Any]]:
    by_home: dict[tuple[int, str], list[int]] = {}
    for place, (batch, _verb) in enumerate(asked):
        slot, pool = home_of_batch(batch)
        by_home.setdefault((view.place_of_slot(slot), pool), []).append(place)
    replies: list[Any] = [None] * len(asked)
    for (partition, pool), places in by_home.items():
        for i in range(0, len(places), _AT_ONCE):
            some = places[i : i + _AT_ONCE]
            verbs = [_routed(view, *asked[place]) for place in some]
            found = yield from ask_all(config.of(pool), partition, verbs)
            for place, reply in zip(some, found, strict=True):
                replies[place] = reply
    return replies


def _routed(view: View, batch: str, verb: Verb[Any]) -> Verb[Any]:
    return flow.by_route(verb, view.version_for(home_of_batch(batch)[0]))
