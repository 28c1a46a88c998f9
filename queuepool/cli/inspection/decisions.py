"""Scaling decisions, asked from a coordinator as from the servers, in one shape."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from queuepool.client.pool import QueuePool
from queuepool.models.places import pool_field

if TYPE_CHECKING:
    from queuepool.rpc.client import QueuePoolClient

# By their names: the library imports no coordinator.
_LEDGER, _EXPLAIN = "coordinator.decisions.ledger", "coordinator.decisions.explain"
_PAGE = 500
_INPUTS = ("backlog", "workers", "busy", "reported", "pwqd", "finished_total", "in_flight")
_OUTCOME = ("at_ms", "cycles", "workers", "busy", "backlog", "finished_per_s")
Shown = dict[str, Any]


def listed_by(client: QueuePoolClient, partition: int | None, limit: int, name: str) -> list[Shown]:
    """Return the newest decisions about a pool as a coordinator knows them."""
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    found: list[Shown] = []
    token = ""
    while len(found) < limit:
        size = min(limit - len(found), _PAGE)
        request = api.ListDecisionsRequest(
            partition=partition, page_size=size, page_token=token, pool=pool_field(name)
        )
        page = client.ListDecisions(request)
        found += map(_of_message, page.decisions)
        token = page.next_page_token
        if not token:
            break
    return found


def listed_from(pool: QueuePool, partition: int | None, limit: int, name: str) -> list[Shown]:
    """Return the newest decisions about a pool as they are stored."""
    book, found, token = _book(pool, name), list[Shown](), ""
    while len(found) < limit:
        page, token = book.page(token, min(limit - len(found), _PAGE), partition)
        found += [_of_record(*one) for one in page]
        if not token:
            break
    return found


def explained_by(
    client: QueuePoolClient, partition: int, at_ms: int | None, name: str
) -> list[Shown]:
    """Return decisions with their sentences, as a coordinator explains them."""
    import grpc

    from queuepool.rpc.v1 import queue_pool_pb2 as api

    pool = pool_field(name)
    try:
        answer = client.Explain(api.ExplainRequest(partition=partition, at_ms=at_ms, pool=pool))
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.NOT_FOUND:
            raise
        # Either no decision was found, or no partition; only of that one, this call raises, too.
        client.GetPartition(api.GetPartitionRequest(partition=partition, pool=pool))
        return []
    return [
        _of_message(one.decision) | {"sentences": list(one.sentences)}
        for one in answer.explanations
    ]


def explained_from(pool: QueuePool, partition: int, at_ms: int | None, name: str) -> list[Shown]:
    """Return decisions with their sentences, as they are stored; of now, with what is seen now."""
    explain = import_module(_EXPLAIN)
    found = [
        _of_record(record_id, record) | {"sentences": explain.sentences(record)}
        for record_id, record in _book(pool, name).why(partition, at_ms)
    ]
    if found and at_ms is None:
        found[0]["sentences"].append(explain.seen_now(pool.partition(partition, name).observe()))
    return found


def _book(pool: QueuePool, name: str) -> Any:
    server, key = pool.system_of(name)
    partitions = pool.config.topology.partitions
    return import_module(_LEDGER).DecisionBook(server, key, keep=1, partitions=partitions)


def _of_record(record_id: str, record: Any) -> Shown:
    explain = import_module(_EXPLAIN)
    rejected = explain.alternative(record)
    return {
        "id": record_id,
        "at_ms": record.at_ms,
        "partition": record.partition,
        "policy": record.policy,
        "policy_version": record.version,
        "previous": record.previous,
        "target": record.target,
        "reason": record.reason,
        "inputs": None if record.inputs is None else asdict(record.inputs),
        "finished_per_s": record.finished_per_s,
        "clamps": list(record.clamps),
        "moved": [asdict(move) for move in record.moved],
        "figures": explain.named_figures(record),
        "alternative": None if rejected is None else rejected[0],
        "command": record.command,
        "record_version": record.record_version,
        "outcome": None if record.outcome is None else asdict(record.outcome),
    }


def _of_message(message: Any) -> Shown:
    moved = [
        {"name": one.name, "before": one.before, "after": one.after, "why": one.why}
        for one in message.moved
    ]
    return {
        "id": message.id,
        "at_ms": message.at_ms,
        "partition": message.partition,
        "policy": message.policy,
        "policy_version": message.policy_version,
        "previous": message.previous_target,
        "target": message.target,
        "reason": message.reason,
        "inputs": _fields(message, "inputs", _INPUTS),
        "finished_per_s": message.inputs.finished_per_s,
        "clamps": list(message.clamps),
        "moved": moved,
        "figures": dict(message.figures),
        "alternative": message.alternative if message.HasField("alternative") else None,
        "command": message.command_id,
        "record_version": message.record_version,
        "outcome": _fields(message, "outcome", _OUTCOME),
    }


def _fields(message: Any, name: str, fields: tuple[str, ...]) -> Shown | None:
    if not message.HasField(name):
        return None
    return {field: getattr(getattr(message, name), field) for field in fields}
