"""A batch with the batches in it, as a tree; level by level, each in few calls. As steps for both.

A flow has its steps in it.
"""

from __future__ import annotations

from queuepool.client.effects import Steps
from queuepool.client.flows.homes import ask_homes
from queuepool.models.flows import BatchStatus, BatchTree
from queuepool.protocol.batches import is_batch
from queuepool.protocol.graphs import read_graph
from queuepool.settings.config import PoolConfig
from queuepool.verbs.flows import verbs as flow

_DEPTH, _NODES = 20, 1000  # below the batch itself


def tree_of(config: PoolConfig, name: str) -> Steps[BatchTree]:
    """Return a batch, and those in it: 20 levels and 1,000 of them, those of upper levels first."""
    statuses, inner = dict[str, BatchStatus](), dict[str, list[str]]()
    level, seen, left = [name], {name}, _NODES
    for _ in range(_DEPTH + 1):
        found = yield from ask_homes(config, [(each, flow.batch(each)) for each in level])
        statuses.update(zip(level, found, strict=True))
        for each in level:
            own = dict.fromkeys(_within(statuses[each]))  # each in one place, whatever is stored
            inner[each] = [one for one in own if is_batch(one) and one not in seen][:left]
            seen.update(inner[each])
            left -= len(inner[each])
        level = [one for each in level for one in inner[each]]
        if not level:
            break
    return _tree(name, statuses, inner)


def _within(status: BatchStatus) -> tuple[str, ...]:
    graph = read_graph(status.graph) if status.part == "f" else None
    return status.inner if graph is None else tuple(step.batch for step in graph.steps)


def _tree(name: str, statuses: dict[str, BatchStatus], inner: dict[str, list[str]]) -> BatchTree:
    known = (each for each in inner[name] if each in statuses)
    return BatchTree(statuses[name], tuple(_tree(each, statuses, inner) for each in known))
