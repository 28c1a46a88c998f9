"""Rules about clocks. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from queuepool.models.doctor import Finding, Severity
from queuepool.telemetry.doctor.observed import Observed

# NTP keeps clocks within 0.1 s. Epochs and leases bear more, but jobs with a time, schedules and
# results expire by that much too early or late.
SKEW_S = 2.0
PATIENCE_S = 60  # an observation that was delayed looks like a clock that is off


def skew(seen: Observed) -> Iterator[Finding]:
    """Find servers whose clock differs from the others', or from that of who observes."""
    middle = statistics.median([*seen.clocks.values(), 0]) if seen.clocks else 0
    if len(seen.clocks) == 1:
        middle = 0  # of two, nobody knows which is right
    for name, ahead_ms in sorted(seen.clocks.items()):
        off_s = (ahead_ms - middle) / 1000
        if abs(off_s) < SKEW_S:
            continue
        yield Finding(
            kind="clock-skew",
            severity=Severity.WARNING,
            subject=f"server {name}",
            what=f"its clock is {abs(off_s):.1f} s {'ahead' if off_s > 0 else 'behind'}",
            meaning="jobs with a run-at time and schedules start early or late by that much",
            remedy="synchronize the clocks (timedatectl, chronyc tracking)",
        )
