"""Enqueue a flow: records, what waits, first jobs, seals. As steps for both pools.

Any part may be repeated: the records, the ids and the numbers are the same again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from queuepool.client.batching import ask_home
from queuepool.client.effects import Steps, Verify
from queuepool.client.flows.declared import Flow
from queuepool.client.flows.planning import Plan, chunks_of, planned
from queuepool.client.producer import Producer
from queuepool.client.questions import ask_all, following
from queuepool.client.results import FailureResults
from queuepool.client.sender import Sender
from queuepool.errors import InvalidInputError
from queuepool.models.flows import BatchState, BatchStatus
from queuepool.protocol.batches import home_of_batch
from queuepool.protocol.graphs import encode_graph
from queuepool.routing.views import View
from queuepool.settings.config import PoolConfig
from queuepool.verbs import Verb
from queuepool.verbs.flows import verbs as flow

_AT_ONCE = 100  # verbs in one round trip


def start(producer: Producer, sender: Sender, declared: Flow) -> Steps[str]:
    """Enqueue a flow; return the name of its batch.

    Raises InvalidInputError, with nothing written, and what enqueue raises: then repeat it.
    """
    config = producer.config
    if config.topology.view.record is None:
        yield Verify()
    plan = planned(producer, declared)
    if (yield from _is_there(config, plan)):
        return plan.name
    quiet = replace(sender, new_results=FailureResults)
    found = yield from ask_homes(config, plan.records)
    states = dict(zip((batch for batch, _verb in plan.records), found, strict=True))
    waiting = [each.chunk for each in plan.waiting if not _is_over(states[each.gate])]
    waiting.sort(key=lambda chunk: chunk.place)
    yield from quiet.all(waiting, {})
    for first in plan.first:
        is_new = states[first.batch]
        if is_new is True or not (yield from _status(config, first.batch)).sealed:
            yield from quiet.all(*chunks_of(producer, first))
    seals = [(batch, flow.seal_batch(batch, jobs)) for batch, jobs in plan.sealed]
    sealed = yield from ask_homes(config, seals)
    if -1 in sealed:
        raise InvalidInputError(
            f"flow {declared.name!r}, {declared.flow_id!r} was enqueued before, and step "
            f"{_step_of(plan, plan.sealed[sealed.index(-1)][0])!r} had another number of jobs"
        )
    yield from ask_home(config, plan.name, flow.seal_batch(plan.name, len(plan.graph.steps)))
    return plan.name


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


def _is_there(config: PoolConfig, plan: Plan) -> Steps[bool]:
    """Write the record of the flow; return whether it is enqueued already, all of it."""
    is_new: bool | BatchState = yield from ask_home(config, plan.name, plan.own)
    if is_new is True:
        return False
    status = yield from _status(config, plan.name)
    if status.graph != encode_graph(plan.graph):
        raise InvalidInputError(
            f"flow {plan.graph.identity!r} was enqueued before, with other steps, keys or pools: "
            "use another flow_id"
        )
    return _is_over(is_new) or status.sealed


def _status(config: PoolConfig, name: str) -> Steps[BatchStatus]:
    found: BatchStatus = yield from ask_home(config, name, flow.batch(name))
    return found


def _is_over(opened: bool | BatchState) -> bool:
    return isinstance(opened, BatchState)


def _step_of(plan: Plan, batch: str) -> str:
    return next((s.name for s in plan.graph.steps if batch in (s.batch, *s.gates)), "")
