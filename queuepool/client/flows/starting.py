"""Enqueue a flow: records, what waits, first jobs, seals. As steps for both pools.

Any part may be repeated: the records, the ids and the numbers are the same again.
"""

from __future__ import annotations

from dataclasses import replace

from queuepool.client.batching import ask_home, seal
from queuepool.client.effects import Steps, Verify
from queuepool.client.flows.cancelling import cancel_all
from queuepool.client.flows.declared import Flow
from queuepool.client.flows.homes import ask_homes
from queuepool.client.flows.noticing import noticing
from queuepool.client.flows.planning import Plan, chunks_of, planned
from queuepool.client.producer import Producer
from queuepool.client.results import FailureResults
from queuepool.client.sender import Sender
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models.flows import BatchState, BatchStatus
from queuepool.protocol.graphs import encode_graph
from queuepool.settings.config import PoolConfig
from queuepool.verbs.flows import verbs as flow


def start(producer: Producer, sender: Sender, declared: Flow) -> Steps[str]:
    """Enqueue a flow; return the name of its batch.

    Raises InvalidInputError, with nothing written, and what enqueue raises: then repeat it.
    """
    config = producer.config
    other: object = declared
    if not isinstance(other, Flow):
        raise InvalidInputError(f"{shown(other)} is not a Flow: declare one with Flow(name)")
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
    stops = noticing(config, plan.name)
    for first in plan.first:
        opened = states[first.batch]
        if opened.is_new or not (yield from _status(config, first.batch)).sealed:
            yield from quiet.all(*chunks_of(producer, first, opened.ended), stops)
    seals = [(batch, flow.seal_batch(batch, jobs)) for batch, jobs in plan.sealed]
    sealed = yield from ask_homes(config, seals)
    if -1 in sealed:
        raise InvalidInputError(
            f"flow {declared.name!r}, {declared.flow_id!r} was enqueued before, and step "
            f"{_step_of(plan, plan.sealed[sealed.index(-1)][0])!r} had another number of jobs"
        )
    state = yield from seal(config, plan.name, len(plan.graph.steps))
    if state is BatchState.CANCELLED:
        yield from cancel_all(config, plan.name)  # what was added since it was cancelled
    return plan.name


def _is_there(config: PoolConfig, plan: Plan) -> Steps[bool]:
    """Write the record of the flow; return whether it is enqueued already, all of it."""
    opened: flow.Opened = yield from ask_home(config, plan.name, plan.own)
    if opened.is_new:
        return False
    status = yield from _status(config, plan.name)
    if status.graph != encode_graph(plan.graph):
        raise InvalidInputError(
            f"flow {plan.graph.identity!r} was enqueued before, with other steps, keys or pools: "
            "use another flow_id"
        )
    if opened.state is BatchState.CANCELLED and not status.sealed:
        yield from cancel_all(config, plan.name)  # a call that broke off may have added jobs since
    return _is_over(opened) or status.sealed


def _status(config: PoolConfig, name: str) -> Steps[BatchStatus]:
    found: BatchStatus = yield from ask_home(config, name, flow.batch(name))
    return found


def _is_over(opened: flow.Opened) -> bool:
    return opened.state is not BatchState.OPEN


def _step_of(plan: Plan, batch: str) -> str:
    return next((s.name for s in plan.graph.steps if batch in (s.batch, *s.gates)), "")
