"""The graph of a flow as it is stored, and the names of its batches. Pure.

    gDkPq0Zs_1xAAA   the flow: two characters of a slot, nine of the flow, three of a number: 0
    x8kPq0Zs_1xAAB   its first step
    fYkPq0Zs_1xAAD   what a job of a step waits for

So names repeat when a flow is enqueued again, and those of one flow differ. Nine characters are 54
bits: that two of a million flows share them has a chance of 1 in 30,000.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from queuepool.models.places import DEFAULT_POOL
from queuepool.protocol.batches import batch_name, ending_of_text, is_batch
from queuepool.protocol.ids import ending_from

_OF_FLOW = 9


class GraphStep(msgspec.Struct, array_like=True, frozen=True):
    """One step. after: the places of those that it follows. batch: its jobs.

    gates: what each of its jobs waits for, none if it follows no step.
    """

    name: str
    task: str
    after: tuple[int, ...]
    batch: str
    gates: tuple[str, ...]


class Graph(msgspec.Struct, array_like=True, frozen=True):
    """A flow. identity: what its caller named it by."""

    identity: str
    steps: tuple[GraphStep, ...]


_STEPS = tuple[tuple[str, str], ...]
_encode = msgspec.json.Encoder().encode
_graph = msgspec.json.Decoder(Graph)
_steps = msgspec.json.Decoder(_STEPS)


def part_name(identity: str, number: int, hint: bytes, pool: str = DEFAULT_POOL) -> str:
    """Return the name of a batch of a flow. hint: of the slot that is its home."""
    ending = ending_of_text(identity)[:_OF_FLOW] + ending_from(number.to_bytes(9, "big"))[_OF_FLOW:]
    return batch_name(hint, ending, pool)


def encode_graph(graph: Graph) -> bytes:
    """Return the stored form of a graph."""
    return _encode(graph)


def read_graph(raw: bytes) -> Graph | None:
    """Return a stored graph; None if it is none, or not of this layout."""
    try:
        graph = _graph.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    batches = [name for step in graph.steps for name in (step.batch, *step.gates)]
    places = range(len(graph.steps))
    known = all(place in places for step in graph.steps for place in step.after)
    return graph if known and all(map(is_batch, batches)) else None


def encode_steps(steps: Sequence[tuple[str, str]]) -> bytes:
    """Return the stored form of the steps that a job follows: their names and batches."""
    return _encode(tuple(steps))


def read_steps(raw: bytes) -> tuple[tuple[str, str], ...]:
    """Return such steps; none if they are of another layout."""
    try:
        found = _steps.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ()
    return tuple(step for step in found if is_batch(step[1]))
