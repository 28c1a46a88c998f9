"""Builds the messages about decisions, and what they are made by. Pure."""

from __future__ import annotations

from coordinator.api.numbers import int32, int64, uint32
from coordinator.core.model import InForce
from coordinator.decisions.explain import alternative, named_figures, sentences
from coordinator.decisions.ledger import DecisionRecord
from coordinator.policy import Limits
from queuepool.rpc.v1 import cluster_pb2, decision_pb2, policy_pb2


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
        record_version=int64(held.record.version),
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
        at_ms=int64(record.at_ms),
        partition=uint32(record.partition),
        cycle=int64(record.cycle),
        policy=record.policy,
        policy_version=int32(record.version),
        previous_target=int32(record.previous),
        target=int32(record.target),
        type=kind,
        reason=record.reason,
        clamps=record.clamps,
        command_id=record.command,
        leader_epoch=int64(record.epoch),
    )
    if record.inputs is not None:
        message.inputs.MergeFrom(
            decision_pb2.DecisionInputs(
                backlog=int64(record.inputs.backlog),
                workers=int32(record.inputs.workers),
                busy=int32(record.inputs.busy),
                pwqd=record.inputs.pwqd,
                finished_per_s=record.finished_per_s,
                in_flight=int64(record.inputs.in_flight),
                reported=int32(record.inputs.reported),
                finished_total=int64(record.inputs.finished_total),
            )
        )
    _fill_reasons(message, record)
    return message


def _fill_reasons(message: decision_pb2.Decision, record: DecisionRecord) -> None:
    for move in record.moved:
        before, after = int32(move.before), int32(move.after)
        message.moved.add(name=move.name, before=before, after=after, why=move.why)
    message.figures.update(named_figures(record))
    message.record_version = int64(record.record_version)
    rejected, outcome = alternative(record), record.outcome
    if rejected is not None:
        message.alternative = int32(rejected[0])
    if outcome is not None:
        message.outcome.MergeFrom(
            decision_pb2.DecisionOutcome(
                at_ms=int64(outcome.at_ms),
                cycles=int64(outcome.cycles),
                workers=int32(outcome.workers),
                busy=int32(outcome.busy),
                backlog=int64(outcome.backlog),
                finished_per_s=outcome.finished_per_s,
            )
        )


def explanation(record_id: str, record: DecisionRecord) -> decision_pb2.Explanation:
    """Return one decision in sentences."""
    return decision_pb2.Explanation(
        decision=decision(record_id, record), sentences=sentences(record)
    )
