"""Builds the messages of the API from a coordinator's data. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from coordinator.core.model import InForce, PartitionView
from coordinator.decisions.explain import alternative, named_figures, sentences
from coordinator.decisions.ledger import DecisionRecord
from coordinator.policy import Limits
from queuepool import models
from queuepool.models.eta import last_of
from queuepool.models.places import DEFAULT_POOL
from queuepool.rpc.v1 import (
    cluster_pb2,
    decision_pb2,
    eta_pb2,
    group_pb2,
    partition_pb2,
    policy_pb2,
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
_INT32_MAX, _UINT32_MAX, _INT64_MAX = 2**31 - 1, 2**32 - 1, 2**63 - 1


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
        workers=partition_pb2.Workers(target=_int32(view.target)),
        pool="" if view.pool == DEFAULT_POOL else view.pool,
    )
    if view.manual_until_ms is not None:
        message.mode = partition_pb2.MODE_MANUAL
        message.manual_until_ms = _int64(view.manual_until_ms)
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
            critical=_int64(critical),
            high=_int64(high),
            default_tier=_int64(default),
            low=_int64(low),
        )
    )
    message.delayed = _int64(state.delayed)
    message.in_flight = _int64(state.in_flight)
    message.dead = _int64(state.dead)
    message.set_aside = _int64(state.aside)
    message.unknown_tasks.extend(state.aside_tasks)
    message.held_tasks.extend(sorted(state.held_tasks))
    message.held, message.capped = _int64(state.held), _int64(state.capped)
    message.parked = _int64(state.parked)
    message.untold = _int64(state.untold)
    message.draining = min(max(state.ending, 0), 2**31)
    if state.held_ms is not None:
        message.held_since_ms = _int64(state.held_ms)
    message.totals.MergeFrom(totals([state.counters]))
    message.oldest_waiting_ms = _int64(max(state.oldest_ms, 0))
    message.backlog = _int64(state.backlog)
    message.pwqd = state.pwqd
    message.observed_ms = _int64(state.observed_ms)
    owner = state.owner
    if owner is not None:
        message.owner.MergeFrom(
            partition_pb2.Owner(
                id=owner.host,
                host=owner.host.rpartition(":")[0] or owner.host,
                epoch=_int64(owner.epoch),
                lease_remaining_ms=_int64(owner.lease_ms),
                version=owner.version,
            )
        )
        message.workers.running = _int32(owner.workers)
        message.workers.busy = _int32(owner.busy)


def totals(counters: Iterable[Mapping[str, int]]) -> partition_pb2.Totals:
    """Return the sum of the counters of several partitions."""
    all_of_them = list(counters)
    return partition_pb2.Totals(
        **{
            field: _int64(sum(c.get(name, 0) for c in all_of_them))
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
        backlog=_int64(sum(state.backlog for state in states)),
        in_flight=_int64(sum(state.in_flight for state in states)),
        delayed=_int64(sum(state.delayed for state in states)),
        dead=_int64(sum(state.dead for state in states)),
        workers=partition_pb2.Workers(
            target=_int32(sum(view.target for view in views)),
            running=_int32(sum(owner.workers for owner in owners)),
            busy=_int32(sum(owner.busy for owner in owners)),
        ),
    )
    _fill_eta(message, last_of(view.eta for view in views))
    return message


def limits(bounds: Limits) -> cluster_pb2.Limits:
    """Return the bounds of worker counts."""
    return cluster_pb2.Limits(min_workers=bounds.min_workers, max_workers=bounds.max_workers)


def in_force(held: InForce) -> policy_pb2.InForce:
    """Return what a coordinator decides by."""
    rules = held.rules
    return policy_pb2.InForce(
        policy=held.policy,
        policy_version=held.version,
        mode=rules.mode,
        profile=rules.profile,
        limits=limits(rules.limits),
        budget=held.budget,
        open_windows=[window[1] for window in (rules.times, rules.floor) if window is not None],
        record_version=_int64(held.record.version),
        problem=held.problem,
    )


def decision(record_id: str, record: DecisionRecord) -> decision_pb2.Decision:
    """Return one recorded decision."""
    types = decision_pb2
    kind = types.DECISION_TYPE_HOLD
    if record.target != record.previous:
        grew = record.target > record.previous
        kind = types.DECISION_TYPE_SCALE_UP if grew else types.DECISION_TYPE_SCALE_DOWN
    message = decision_pb2.Decision(
        id=record_id,
        at_ms=_int64(record.at_ms),
        partition=min(max(record.partition, 0), _UINT32_MAX),
        cycle=_int64(record.cycle),
        policy=record.policy,
        policy_version=_int32(record.version),
        previous_target=_int32(record.previous),
        target=_int32(record.target),
        type=kind,
        reason=record.reason,
        clamps=record.clamps,
        command_id=record.command,
        leader_epoch=_int64(record.epoch),
    )
    if record.inputs is not None:
        message.inputs.MergeFrom(
            decision_pb2.DecisionInputs(
                backlog=_int64(record.inputs.backlog),
                workers=_int32(record.inputs.workers),
                busy=_int32(record.inputs.busy),
                pwqd=record.inputs.pwqd,
                finished_per_s=record.finished_per_s,
                in_flight=_int64(record.inputs.in_flight),
                reported=_int32(record.inputs.reported),
                finished_total=_int64(record.inputs.finished_total),
            )
        )
    _fill_reasons(message, record)
    return message


def _fill_reasons(message: decision_pb2.Decision, record: DecisionRecord) -> None:
    for move in record.moved:
        before, after = _int32(move.before), _int32(move.after)
        message.moved.add(name=move.name, before=before, after=after, why=move.why)
    message.figures.update(named_figures(record))
    message.record_version = _int64(record.record_version)
    rejected, outcome = alternative(record), record.outcome
    if rejected is not None:
        message.alternative = _int32(rejected[0])
    if outcome is not None:
        message.outcome.MergeFrom(
            decision_pb2.DecisionOutcome(
                at_ms=_int64(outcome.at_ms),
                cycles=_int64(outcome.cycles),
                workers=_int32(outcome.workers),
                busy=_int32(outcome.busy),
                backlog=_int64(outcome.backlog),
                finished_per_s=outcome.finished_per_s,
            )
        )


def explanation(record_id: str, record: DecisionRecord) -> decision_pb2.Explanation:
    """Return one decision in sentences."""
    return decision_pb2.Explanation(
        decision=decision(record_id, record), sentences=sentences(record)
    )


def group(
    key: bytes, number: int, status: models.GroupStatus, eta: models.Eta | None = None
) -> group_pb2.TaskGroup:
    """Return the totals of a task group."""
    message = group_pb2.TaskGroup(
        partition_key=key,
        partition=number,
        total=_int64(status.total),
        ready=_int64(status.ready),
        delayed=_int64(status.delayed),
        in_flight=_int64(status.in_flight),
        done=_int64(status.done),
        dead=_int64(status.dead),
        cancelled=_int64(status.cancelled),
        evicted=_int64(status.evicted),
        discarded=_int64(status.discarded),
        expired=_int64(status.expired),
        created_ms=status.created_ms,
        finished_ms=status.finished_ms,
        held_since_ms=status.held_ms,
        max_running=status.max_running,
        parked=_int64(status.parked),
        serial=status.serial,
        weight=min(max(status.weight, 0), _UINT32_MAX),
        tier=None if status.tier is None else str(status.tier),
    )
    _fill_eta(message, eta)
    return message


def tenant(name: str, status: models.TenantStatus) -> tenant_pb2.Tenant:
    """Return what a tenant has."""
    return tenant_pb2.Tenant(
        name=name,
        ready=_int64(status.ready),
        in_flight=_int64(status.running),
        groups=_int64(status.groups),
        done=_int64(status.done),
        died=_int64(status.died),
        cancelled=_int64(status.cancelled),
        expired=_int64(status.expired),
        held_since_ms=status.held_ms,
        max_running=status.max_running,
        weight=min(max(status.weight, 0), _UINT32_MAX),
    )


def tenant_load(one: models.TenantLoad) -> tenant_pb2.Tenant:
    """Return how many jobs of a tenant are ready and run."""
    return tenant_pb2.Tenant(
        name=one.name,
        ready=_int64(one.ready),
        in_flight=_int64(one.running),
        held_since_ms=one.held_ms,
    )


# Absurd numbers of a damaged record must not break the reply about all others.
def _int32(value: int) -> int:
    return min(max(value, -_INT32_MAX), _INT32_MAX)


def _int64(value: int) -> int:
    return min(max(value, -_INT64_MAX), _INT64_MAX)
