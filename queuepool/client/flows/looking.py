"""The status of a flow, and its cancellation. As steps for both pools."""

from __future__ import annotations

import time

from queuepool.client.arguments import check_wait
from queuepool.client.batching import ask_home, cancel_record
from queuepool.client.effects import Pause, Steps
from queuepool.client.flows.starting import ask_homes
from queuepool.client.questions import ask, places_of
from queuepool.errors import InvalidInputError, WaitTimeoutError
from queuepool.errors.escaping import shown
from queuepool.models.flows import BatchState, BatchStatus, FlowState, FlowStatus, StepStatus
from queuepool.protocol.batches import is_batch
from queuepool.protocol.graphs import Graph, GraphStep, pattern_of, read_graph
from queuepool.settings.config import PoolConfig
from queuepool.verbs.flows import verbs as flow

_STATES = {
    BatchState.OPEN: FlowState.RUNNING,
    BatchState.FIRED: FlowState.DONE,
    BatchState.FAILED: FlowState.FAILED,
    BatchState.CANCELLED: FlowState.CANCELLED,
    BatchState.UNKNOWN: FlowState.UNKNOWN,
}
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.01, 0.5


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
    deadline = time.monotonic() + check_wait("timeout_s", timeout_s)
    pause_s = _FIRST_PAUSE_S
    while True:
        found, _graph = yield from find_flow(config, name)
        if found.state is not BatchState.OPEN:
            return (yield from status_of(config, name))
        if time.monotonic() + pause_s > deadline:
            raise WaitTimeoutError(
                f"flow {name} is still running after {timeout_s:g} s: {found.left:,} of "
                f"{found.total:,} "
                "steps have not ended"
            )
        yield Pause(pause_s)
        pause_s = min(_LONGEST_PAUSE_S, pause_s * 1.5)


def cancel_flow(config: PoolConfig, name: str, graph: Graph) -> Steps[tuple[int, list[str]]]:
    """Cancel what has not run; return how many jobs, and the batches of the steps.

    First nothing more is let go, then all jobs are found by one look at each partition.
    """
    yield from ask_home(config, name, flow.cancel_batch(name))
    batches = [batch for step in graph.steps for batch in (*step.gates, step.batch)]
    yield from ask_homes(config, [(batch, flow.cancel_batch(batch)) for batch in batches])
    cancelled = yield from cancel_jobs(config, pattern_of(name))
    return cancelled, [step.batch for step in graph.steps]


def inner_of(config: PoolConfig, name: str) -> Steps[set[str]]:
    """Return the batches that jobs of a batch have added to it."""
    found, cursor, more = set[str](), b"0", True
    while more:
        page, cursor = yield from ask_home(config, name, flow.inner_batches(name, cursor))
        found |= {each for each in page if is_batch(each)}
        more = cursor != b"0"
    return found


def cancel_batch(config: PoolConfig, name: str) -> Steps[int]:
    """Cancel a batch, its continuation and its jobs; return how many jobs."""
    yield from cancel_record(config, name)
    return (yield from cancel_jobs(config, name))


def cancel_jobs(config: PoolConfig, pattern: str) -> Steps[int]:
    """Cancel the jobs of all batches of this name, or pattern, in all partitions."""
    cancelled: int = 0
    for number, pool in (yield from places_of(config, None)):
        cursor, more = b"0", True
        while more:
            verb = flow.cancel_children(pattern, cursor)
            cursor, gone, asked = yield from ask(config.of(pool), number, verb)
            cancelled, more = cancelled + gone + asked, cursor != b"0"
    return cancelled
