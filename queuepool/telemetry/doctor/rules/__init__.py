"""Every rule: a kind of finding, and the function that looks for it. Pure.

Each constant has its reason beside it. A healthy cluster under full load meets no rule.
"""

from __future__ import annotations

from typing import Final

from queuepool.telemetry.doctor.rules import (
    clocks,
    failures,
    fairness,
    held,
    owners,
    refusing,
    scaling,
    servers,
)
from queuepool.telemetry.doctor.rules.rule import Rule

__all__ = ["RULES", "Rule"]

RULES: Final = (
    Rule("no-owner", owners.no_owner),
    Rule("flapping", owners.flapping, needs=("past",)),
    Rule("version-skew", owners.version_skew, patience_s=owners.DEPLOY_S),
    Rule("no-leader", scaling.no_leader, scaling.NO_LEADER_S, ("leader_lease_ms",), certain=True),
    Rule(
        "no-route-record",
        owners.no_record,
        owners.NO_RECORD_S,
        needs=("route_version",),
        certain=True,
    ),
    Rule("gain-check", scaling.gain_check, scaling.BLOCKED_S, needs=("clamps_known", "past")),
    Rule("server-away", servers.away, patience_s=servers.AWAY_S, certain=True),
    Rule("refuses-writes", refusing.refuses_writes, refusing.REFUSES_S, certain=True),
    Rule("memory", servers.memory),
    Rule("evictions", servers.evictions),
    Rule("persistence", servers.persistence),
    Rule("replication", servers.replication, patience_s=servers.BEHIND_S),
    Rule("results-memory", servers.results_memory),
    Rule("clock-skew", clocks.skew, patience_s=clocks.PATIENCE_S),
    Rule("unknown-task", failures.unknown_task, patience_s=failures.ASIDE_S),
    Rule("stuck-job", failures.stuck_job),
    Rule("deaths-rising", failures.deaths_rising, needs=("past",)),
    Rule("dead-bound", failures.dead_bound),
    Rule("held", held.held),
    Rule("limit", held.limit, held.LIMIT_S, ("limits",), partly=held.limits_left),
    Rule("schedule-missed", held.schedule_missed, needs=("schedules",)),
    Rule("big-group", fairness.big_group, fairness.PATIENCE_S, partly=fairness.pace_unknown),
    Rule("hot-partition", fairness.hot_partition, fairness.HOT_S, needs=("loads",)),
)
