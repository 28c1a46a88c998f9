"""Builds the messages of the API from a coordinator's data. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from coordinator.api.numbers import int32, int64, uint32
from coordinator.core.model import PartitionView
from queuepool import models
from queuepool.models.eta import last_of
from queuepool.models.places import pool_field
from queuepool.rpc.v1 import (
    cluster_pb2,
    eta_pb2,
    group_pb2,
    partition_pb2,
    tenant_pb2,
)

_TOTALS = {  # field of the message -> counter
    "enqueued": "enqueued",
    "done": "done",
    "failed_attempts": "failed",
    "retried": "retried",
    "died": "died",
    "cancelled": "cancelled",
    "duplicates": "duplicate",
    "recovered": "recovered",
    "fenced": "fenced",
}


def partition(
    view: PartitionView, *, now_s: float, stale_after_s: float
) -> partition_pb2.PartitionState:
    """Return one partition; if never observed, it is empty and stale."""
    message = partition_pb2.PartitionState(
        partition=view.partition,
        server=view.server,
        mode=partition_pb2.MODE_AUTOMATIC,
        stale=bool(view.problem) or view.seen_s is None or now_s - view.seen_s > stale_after_s,
        error=view.problem,
        throughput_per_s=view.finished_per_s,
        workers=partition_pb2.Workers(target=int32(view.target)),
        pool=pool_field(view.pool),
    )
    if view.manual_until_ms is not None:
        message.mode = partition_pb2.MODE_MANUAL
        message.manual_until_ms = int64(view.manual_until_ms)
    if view.state is not None:
        _fill(message, view.state)
    _fill_eta(message, view.eta)
    message.service_s = view.pace.service_s or 0.0
    return message


def _fill_eta(message: Any, eta: models.Eta | None) -> None:
    if eta is not None:
        message.eta.MergeFrom(
            eta_pb2.Eta(
                low_s=eta.low_s,
                likely_s=eta.likely_s,
                high_s=eta.high_s,
                confidence=eta.confidence,
            )
        )


def _fill(message: partition_pb2.PartitionState, state: models.PartitionState) -> None:
    critical, high, default, low = state.ready
    message.ready.MergeFrom(
        partition_pb2.ReadyByTier(
            critical=int64(critical),
            high=int64(high),
            default_tier=int64(default),
            low=int64(low),
        )
    )
    message.delayed = int64(state.delayed)
    message.in_flight = int64(state.in_flight)
    message.dead = int64(state.dead)
    message.set_aside = int64(state.aside)
    message.unknown_tasks.extend(state.aside_tasks)
    message.held_tasks.extend(sorted(state.held_tasks))
    message.held, message.capped = int64(state.held), int64(state.capped)
    message.parked = int64(state.parked)
    message.untold = int64(state.untold)
    message.draining = min(max(state.ending, 0), 2**31)
    if state.held_ms is not None:
        message.held_since_ms = int64(state.held_ms)
    message.totals.MergeFrom(totals([state.counters]))
    message.oldest_waiting_ms = int64(max(state.oldest_ms, 0))
    message.backlog = int64(state.backlog)
    message.pwqd = state.pwqd
    message.observed_ms = int64(state.observed_ms)
    owner = state.owner
    if owner is not None:
        message.owner.MergeFrom(
            partition_pb2.Owner(
                id=owner.host,
                host=owner.host.rpartition(":")[0] or owner.host,
                epoch=int64(owner.epoch),
                lease_remaining_ms=int64(owner.lease_ms),
                version=owner.version,
            )
        )
        message.workers.running = int32(owner.workers)
        message.workers.busy = int32(owner.busy)


def totals(counters: Iterable[Mapping[str, int]]) -> partition_pb2.Totals:
    """Return the sum of the counters of several partitions."""
    all_of_them = list(counters)
    return partition_pb2.Totals(
        **{
            field: int64(sum(c.get(name, 0) for c in all_of_them))
            for field, name in _TOTALS.items()
        }
    )


def cluster_counts(views: Iterable[PartitionView]) -> cluster_pb2.Cluster:
    """Return a cluster with the totals of its partitions."""
    views = list(views)
    states = [view.state for view in views if view.state is not None]
    owners = [state.owner for state in states if state.owner is not None]
    message = cluster_pb2.Cluster(
        totals=totals(state.counters for state in states),
        backlog=int64(sum(state.backlog for state in states)),
        in_flight=int64(sum(state.in_flight for state in states)),
        delayed=int64(sum(state.delayed for state in states)),
        dead=int64(sum(state.dead for state in states)),
        workers=partition_pb2.Workers(
            target=int32(sum(view.target for view in views)),
            running=int32(sum(owner.workers for owner in owners)),
            busy=int32(sum(owner.busy for owner in owners)),
        ),
    )
    _fill_eta(message, last_of(view.part for view in views))
    return message


def group(
    key: bytes, number: int, status: models.GroupStatus, eta: models.Eta | None = None
) -> group_pb2.TaskGroup:
    """Return the totals of a task group."""
    message = group_pb2.TaskGroup(
        partition_key=key,
        partition=number,
        total=int64(status.total),
        ready=int64(status.ready),
        delayed=int64(status.delayed),
        in_flight=int64(status.in_flight),
        done=int64(status.done),
        dead=int64(status.dead),
        cancelled=int64(status.cancelled),
        evicted=int64(status.evicted),
        discarded=int64(status.discarded),
        expired=int64(status.expired),
        created_ms=status.created_ms,
        finished_ms=status.finished_ms,
        held_since_ms=status.held_ms,
        max_running=status.max_running,
        parked=int64(status.parked),
        serial=status.serial,
        weight=uint32(status.weight),
        tier=None if status.tier is None else str(status.tier),
    )
    _fill_eta(message, eta)
    return message


def tenant(name: str, status: models.TenantStatus) -> tenant_pb2.Tenant:
    """Return what a tenant has."""
    return tenant_pb2.Tenant(
        name=name,
        ready=int64(status.ready),
        in_flight=int64(status.running),
        groups=int64(status.groups),
        done=int64(status.done),
        died=int64(status.died),
        cancelled=int64(status.cancelled),
        expired=int64(status.expired),
        held_since_ms=status.held_ms,
        max_running=status.max_running,
        weight=uint32(status.weight),
    )


def tenant_load(one: models.TenantLoad) -> tenant_pb2.Tenant:
    """Return how many jobs of a tenant are ready and run."""
    return tenant_pb2.Tenant(
        name=one.name,
        ready=int64(one.ready),
        in_flight=int64(one.running),
        held_since_ms=one.held_ms,
    )
