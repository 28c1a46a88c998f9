"""The status of a flow. As steps for both pools."""

from __future__ import annotations

from functools import partial

from queuepool.client.batching import ask_home
from queuepool.client.effects import Steps
from queuepool.client.flows.homes import ask_homes
from queuepool.client.waiting import wait_for
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models.flows import BatchState, BatchStatus, FlowState, FlowStatus, StepStatus
from queuepool.protocol.graphs import Graph, GraphStep, read_graph
from queuepool.settings.config import PoolConfig
from queuepool.verbs.flows import verbs as flow

_STATES = {
    BatchState.OPEN: FlowState.RUNNING,
    BatchState.FIRED: FlowState.DONE,
    BatchState.FAILED: FlowState.FAILED,
    BatchState.CANCELLED: FlowState.CANCELLED,
    BatchState.UNKNOWN: FlowState.UNKNOWN,
}


def find_flow(config: PoolConfig, name: str) -> Steps[tuple[BatchStatus, Graph | None]]:
    """Return the record of a flow, by its name or that of a batch in it; and its graph."""
    found: BatchStatus = yield from ask_home(config, name, flow.batch(name))
    if found.part in ("s", "g") and found.within:
        found = yield from ask_home(config, found.within, flow.batch(found.within))
    return found, read_graph(found.graph) if found.part == "f" else None


def status_of(config: PoolConfig, name: str) -> Steps[FlowStatus]:
    """Return the status of a flow."""
    found, graph = yield from find_flow(config, name)
    if graph is None:
        return FlowStatus(name=name, called=found.called, state=FlowState.UNKNOWN)
    asked = [step.batch for step in graph.steps]
    asked += [step.gates[0] for step in graph.steps if step.gates]
    replies = yield from ask_homes(config, [(batch, flow.batch(batch)) for batch in asked])
    by_name = dict(zip(asked, replies, strict=True))
    return FlowStatus(
        name=found.name,
        called=graph.identity,
        state=_STATES[found.state],
        steps=tuple(_step(step, graph, by_name) for step in graph.steps),
        enqueued=found.sealed,
        created_ms=found.created_ms,
        ended_ms=None if found.state is BatchState.OPEN else found.ended_ms,
    )


def _step(step: GraphStep, graph: Graph, by_name: dict[str, BatchStatus]) -> StepStatus:
    own = by_name[step.batch]
    gate = by_name[step.gates[0]] if step.gates else None
    waits = gate is not None and gate.state is BatchState.OPEN
    state = _STATES[own.state]
    return StepStatus(
        name=step.name,
        task=step.task,
        state=FlowState.WAITING if waits and state is FlowState.RUNNING else state,
        after=tuple(graph.steps[place].name for place in step.after),
        total=own.total,
        done=own.done,
        dead=own.dead,
        lost=own.lost,
        batch=step.batch,
        deadline_ms=gate.deadline_ms if gate is not None and waits else None,
    )


def step_batch(config: PoolConfig, name: str, step: str) -> Steps[str]:
    """Return the batch of a step. Raises InvalidInputError."""
    _found, graph = yield from find_flow(config, name)
    if graph is None:
        raise InvalidInputError(f"there is no flow {name}: it has expired or was never enqueued")
    for each in graph.steps:
        if each.name == step:
            return each.batch
    raise InvalidInputError(
        f"flow {name} has no step {shown(step)}: {', '.join(s.name for s in graph.steps)}"
    )


def waited(config: PoolConfig, name: str, timeout_s: float) -> Steps[FlowStatus]:
    """Return the status of a flow once all its steps have ended. Raises WaitTimeoutError."""

    def left(found: tuple[BatchStatus, Graph | None]) -> str:
        steps = f"{found[0].left:,} of {found[0].total:,} steps"
        return f"flow {name} is still running: {steps} have not ended"

    yield from wait_for(
        partial(find_flow, config, name),
        timeout_s,
        has_ended=lambda found: found[0].state is not BatchState.OPEN,
        left=left,
    )
    return (yield from status_of(config, name))
