"""Advice and loads as messages of the API, and back. Pure."""

from __future__ import annotations

from typing import Any

from queuepool.models.advice import (
    Advice,
    AdviceKind,
    Advised,
    Loads,
    Part,
    PlaceLoad,
    ServerLoad,
)
from queuepool.rpc.jobs import number
from queuepool.rpc.v1 import advice_pb2
from queuepool.rpc.v1 import queue_pool_pb2 as api

_KINDS = frozenset(AdviceKind)


def response_of(advised: Advised) -> api.AdviseResponse:
    """Return advice, and the loads that it follows from, as an answer."""
    loads = advised.loads
    return api.AdviseResponse(
        at_ms=number(advised.at_ms),
        over_s=loads.over_s,
        advice=map(_advice, advised.advice),
        partitions=map(_place, loads.places),
        servers=map(_server, loads.servers),
        spare=loads.spare,
        silent=loads.silent,
    )


def _advice(one: Advice) -> advice_pb2.Advice:
    return advice_pb2.Advice(
        kind=str(one.kind),
        subject=one.subject,
        since_ms=None if one.since_ms is None else number(one.since_ms),
        what=one.what,
        effect=one.effect,
        command=one.command,
        figures=one.figures,
        slots=one.slots,
        partition=one.partition,
    )


def _place(one: PlaceLoad) -> advice_pb2.PartitionLoad:
    return advice_pb2.PartitionLoad(
        partition=one.partition,
        server=one.server,
        workers=number(one.workers),
        busy=one.busy,
        wanted=one.wanted,
        came_per_s=one.came,
        ended_per_s=one.ended,
        wait_s=one.wait_s,
        backlog=number(one.backlog),
        bytes=number(one.bytes),
        growth_per_s=one.growth,
        groups=[
            advice_pb2.GroupShare(slot=part.slot, group=part.group, share=part.share)
            for part in one.parts
        ],
    )


def _server(one: ServerLoad) -> advice_pb2.ServerLoad:
    return advice_pb2.ServerLoad(
        name=one.name,
        cpu=one.cpu,
        calls_per_s=one.calls,
        used=number(one.used),
        limit=number(one.limit),
        growth_per_s=one.growth,
        partitions=one.partitions,
    )


def advised_of(message: Any) -> Advised:
    """Return the answer of a coordinator; advice of a kind that only later releases know is left.

    Whether more workers were tried is not among what it tells of partitions.
    """
    loads = Loads(
        over_s=message.over_s,
        places=tuple(map(_place_of, message.partitions)),
        servers=tuple(map(_server_of, message.servers)),
        spare=tuple(message.spare),
        silent=dict(message.silent),
    )
    known = tuple(_advice_of(one) for one in message.advice if one.kind in _KINDS)
    return Advised(at_ms=message.at_ms, loads=loads, advice=known)


def _advice_of(one: Any) -> Advice:
    return Advice(
        kind=AdviceKind(one.kind),
        subject=one.subject,
        since_ms=one.since_ms if one.HasField("since_ms") else None,
        what=one.what,
        effect=one.effect,
        command=one.command,
        figures=dict(one.figures),
        slots=tuple(one.slots),
        partition=one.partition if one.HasField("partition") else None,
    )


def _place_of(one: Any) -> PlaceLoad:
    return PlaceLoad(
        partition=one.partition,
        server=one.server,
        workers=one.workers,
        busy=one.busy,
        wanted=one.wanted,
        came=one.came_per_s,
        ended=one.ended_per_s,
        wait_s=one.wait_s,
        backlog=one.backlog,
        bytes=one.bytes,
        growth=one.growth_per_s,
        parts=tuple(Part(part.slot, part.group, part.share) for part in one.groups),
    )


def _server_of(one: Any) -> ServerLoad:
    return ServerLoad(
        name=one.name,
        cpu=one.cpu if one.HasField("cpu") else None,
        calls=one.calls_per_s,
        used=one.used,
        limit=one.limit,
        growth=one.growth_per_s,
        partitions=tuple(one.partitions),
    )
