"""Builds the message about a candidate that runs beside the policy. Pure."""

from __future__ import annotations

from coordinator.core.replay.shadow import Side
from coordinator.snapshots.shadows import ShadowReport
from queuepool.rpc.v1 import shadow_pb2


def shadow(report: ShadowReport) -> shadow_pb2.Shadow:
    """Return how a candidate compares so far."""
    found = report.comparison
    return shadow_pb2.Shadow(
        candidate=report.text,
        policy=found.policy,
        policy_version=found.version,
        since_ms=report.since_ms,
        until_ms=report.until_ms,
        seconds=found.seconds,
        jobs=found.jobs,
        live_side=_side(found.live),
        candidate_side=_side(found.candidate),
        missed=report.missed,
        problem=report.problem,
    )


def _side(side: Side) -> shadow_pb2.ShadowSide:
    return shadow_pb2.ShadowSide(
        worker_s=side.worker_s,
        wait_mean_s=side.wait_mean_s,
        wait_p50_s=side.wait_p50_s,
        wait_p99_s=side.wait_p99_s,
        changes=side.changes,
    )
