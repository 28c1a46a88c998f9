"""Rules about coordinators: nobody leads, or what they decide does not help. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from queuepool.models.doctor import Finding, Severity
from queuepool.telemetry.doctor.observed import Observed
from queuepool.telemetry.doctor.rules.rule import MINUTE_S, lasting

# A lease of a coordinator is 5 s, and a standby takes over in the moment it ends.
NO_LEADER_S = 15
# A step and its measurement take seconds; a downstream that recovers within minutes needs nobody.
BLOCKED_S = 5 * MINUTE_S
# Below, the backlog is one that the present workers are working off.
BLOCKED_WAIT_S = 60


def no_leader(seen: Observed) -> Iterator[Finding]:
    """Find that no coordinator leads."""
    if seen.leader_lease_ms is not None and seen.leader_lease_ms <= 0:
        yield Finding(
            kind="no-leader",
            severity=Severity.WARNING,
            subject="coordinator",
            what="no coordinator leads",
            meaning="worker counts do not change and schedules do not fire; jobs keep running",
            remedy="queuepool coordinator",
        )


def gain_check(seen: Observed) -> Iterator[Finding]:
    """Find places where jobs wait, and more workers were tried and did not help."""
    for place in seen.places:
        state = place.state
        if state is None or "gain_check" not in place.clamps:
            continue
        if state.backlog and state.oldest_ms >= BLOCKED_WAIT_S * 1000:
            yield Finding(
                kind="gain-check",
                severity=Severity.WARNING,
                subject=f"partition {place.name}",
                what=f"{state.backlog:,} jobs wait, the oldest for "
                f"{lasting(state.oldest_ms / 1000)}, and more workers did not raise completions",
                meaning="a downstream system is the bottleneck, not the workers",
                remedy=f"queuepool why {place.name}; check the database or API behind its tasks",
            )
