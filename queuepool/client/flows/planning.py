"""From a flow to what is written: records, jobs that wait, first jobs. Pure but for entropy.

All jobs are laid out once, and refused if they cannot be enqueued, before anything is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

from queuepool.client import calls
from queuepool.client.after import After
from queuepool.client.chunks import Chunk, OpenChunks
from queuepool.client.continuing import LATER_S, Continuation, continuation, refuse_unique
from queuepool.client.flows.declared import Flow, Step, checked
from queuepool.client.numbers import NOWHERE, Numbers
from queuepool.client.producer import Producer
from queuepool.errors import InvalidInputError
from queuepool.models.places import DEFAULT_POOL, LEGACY
from queuepool.protocol.batches import Ends, home_of_batch
from queuepool.protocol.graphs import Graph, GraphStep, encode_graph, encode_steps, part_name
from queuepool.protocol.ids import hint_of
from queuepool.verbs import Verb
from queuepool.verbs.flows import verbs as flow


@dataclass(frozen=True, slots=True)
class First:
    """The jobs of a step that follows none."""

    batch: str
    jobs: int
    step: Step


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job that waits in a gate."""

    gate: str
    chunk: Chunk


@dataclass(slots=True)
class Plan:
    """What a flow writes. records: all but its own, by their batches; sealed: how many jobs each.

    name: of the batch that is the flow; own: that record.
    """

    name: str
    graph: Graph
    own: Verb[Any]
    first: list[First] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    records: list[tuple[str, Verb[Any]]] = field(default_factory=list)
    sealed: list[tuple[str, int]] = field(default_factory=list)


@dataclass(slots=True)
class _Laid:
    """A step with its place. jobs: those that wait, each with its gate."""

    step: Step
    batch: str
    size: int
    gates: list[str] = field(default_factory=list)
    jobs: list[Continuation] = field(default_factory=list)


def planned(producer: Producer, declared: Flow) -> Plan:
    """Return what a flow writes. Raises InvalidInputError."""
    identity, numbers = _identity(declared), count(1)
    laid = {s.name: _laid(producer, s, identity, numbers) for s in checked(declared)}
    home = next(iter(laid.values())).batch
    name = part_name(identity, 0, home[:2].encode(), home_of_batch(home)[1])
    graph = _graph(producer, f"{declared.name}/{declared.flow_id}", laid)
    longest_s = max(each.step.job.deadline_s for each in laid.values())
    ends_ms = round((longest_s + LATER_S + declared.keep_s) * 1000)
    record = partial(_record, ends_ms=ends_ms, keep_ms=round(declared.keep_s * 1000))
    own = record(name, "f", declared.name, graph=encode_graph(graph))
    plan = Plan(name, graph, own)
    for place, each in enumerate(laid.values()):
        tells = [f"{name}~{place}", *_followers(each.step.name, laid)]
        verb = record(each.batch, "s", each.step.name, within=name, tells=tells)
        plan.records.append((each.batch, verb))
        plan.sealed.append((each.batch, each.size))
        _add_waiting(plan, each, [(other, laid[other].batch) for other in each.step.after])
        if not each.gates:
            plan.first.append(First(each.batch, each.size, each.step))
    return plan


def _identity(declared: Flow) -> str:
    """Return the text that names the batches of a flow, and of no flow of another name or id.

    A line feed is in no name: import/eu and 7 would else be what import and eu/7 are.
    """
    if "/" in declared.name:
        return f"\n{declared.name}\n{declared.flow_id}"
    return f"{declared.name}/{declared.flow_id}"


def chunks_of(producer: Producer, first: First, ended: Ends) -> tuple[Iterator[Chunk], OpenChunks]:
    """Return the first jobs of a flow as chunks, and those that are not yielded yet.

    ended: which of them have, since an earlier call.
    """
    return _chunks(producer, first.step, Numbers(first.batch, 0, ended=ended))


def _chunks(producer: Producer, step: Step, numbers: Numbers) -> tuple[Iterator[Chunk], OpenChunks]:
    task, _payload = step.job.parts()
    chunks, held, _task_of = calls.many(
        producer,
        task,
        step.items,
        step.partition_key,
        tenant=step.job.tenant,
        numbers=numbers,
        **step.job.options(),
    )
    return map(numbers.mark, map(refuse_unique, chunks)), held


def _laid(producer: Producer, step: Step, identity: str, numbers: count[int]) -> _Laid:
    own = next(numbers)
    if not step.after:
        hint, pool = _place_of_first(producer, step)
        return _Laid(step, part_name(identity, own, hint, pool), len(step.items))
    jobs = [continuation(producer, step.job_of(i), step.key_of(i)) for i in step.items]
    made = _Laid(step, part_name(identity, own, jobs[0].hint, jobs[0].pool), len(jobs), jobs=jobs)
    made.gates = [part_name(identity, next(numbers), job.hint, job.pool) for job in jobs]
    return made


def _place_of_first(producer: Producer, step: Step) -> tuple[bytes, str]:
    """Lay out all jobs, so that a wrong one is refused; return where the first one goes."""
    found: tuple[bytes, str] | None = None
    for chunk in _chunks(producer, step, Numbers(NOWHERE, 0))[0]:
        if chunk.partition == LEGACY:
            raise InvalidInputError(
                "jobs of this key still go to the legacy place: run `queuepool migrate shift` "
                "first. Nothing was enqueued"
            )
        if 0 in chunk.positions:
            found = chunk.ids[chunk.positions.index(0)][:2], chunk.pool
    return found or (hint_of(0), DEFAULT_POOL)  # a step has a job


def _graph(producer: Producer, identity: str, laid: dict[str, _Laid]) -> Graph:
    places = {name: place for place, name in enumerate(laid)}
    steps = (
        GraphStep(
            name=each.step.name,
            task=producer.registry.name_of(each.step.job.parts()[0]),
            after=tuple(places[other] for other in each.step.after),
            batch=each.batch,
            gates=tuple(each.gates),
        )
        for each in laid.values()
    )
    return Graph(identity, tuple(steps))


def _add_waiting(plan: Plan, each: _Laid, before: list[tuple[str, str]]) -> None:
    for number, (gate, job) in enumerate(zip(each.gates, each.jobs, strict=True)):
        chunk = job.job(gate, (each.batch, number))
        chunk.positions[0] = len(plan.waiting)
        plan.waiting.append(Waiting(gate, chunk))
        plan.records.append((gate, _gate(gate, chunk, each.step.job, plan.name, before)))
        plan.sealed.append((gate, len(before)))


def _followers(name: str, laid: dict[str, _Laid]) -> Iterator[str]:
    for other in laid.values():
        for gate in other.gates if name in other.step.after else ():
            yield f"{gate}~{other.step.after.index(name)}"


def _gate(
    gate: str, chunk: Chunk, job: After, name: str, before: list[tuple[str, str]]
) -> Verb[Any]:
    return flow.open_batch(
        gate,
        chunk.ids[0].decode(),
        on_failure=job.on_failure,
        on_deadline=job.late,
        deadline_ms=round(job.deadline_s * 1000),
        keep_ms=round(job.keep_s * 1000),
        within=name,
        part="g",
        graph=encode_steps(before),
    )


def _record(
    batch: str,
    part: str,
    called: str,
    *,
    ends_ms: int,
    keep_ms: int,
    within: str = "",
    tells: Sequence[str] = (),
    graph: bytes = b"",
) -> Verb[Any]:
    return flow.open_batch(
        batch,
        "",
        on_failure="partial",
        on_deadline="partial",
        deadline_ms=ends_ms,
        keep_ms=keep_ms,
        called=called,
        within=within,
        part=part,
        tells=tells,
        graph=graph,
    )
