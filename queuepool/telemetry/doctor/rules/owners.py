"""Rules about consumers: none there, one that comes and goes, several versions, no record. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from queuepool.models.doctor import Finding, Severity
from queuepool.telemetry.doctor.observed import Observed
from queuepool.telemetry.doctor.rules.rule import MINUTE_S, lasting

# A takeover is over 2 s after a crash and a lease (10 s) after a power loss; half as much again is
# for a consumer that starts. Fewer consumers than partitions come one after the other.
NO_OWNER_S = 15
# A restart, and the restart of what was restarted too early, are part of a deployment.
TAKEOVERS = 4
FLAPPING_S = 10 * MINUTE_S
# A rolling deployment of some dozens of consumers, each of which drains for 30 s.
DEPLOY_S = 30 * MINUTE_S
# Consumers and coordinators look for it every 10 s, and make it if it is missing.
NO_RECORD_S = 30


def no_owner(seen: Observed) -> Iterator[Finding]:
    """Find places with work and without an owner whose lease runs."""
    for place in seen.places:
        state = place.state
        if state is None or not state.has_work:
            continue
        owner = state.owner
        if owner is not None and owner.lease_ms > 0:
            continue
        alone_ms = -owner.lease_ms if owner is not None else state.oldest_ms
        waited_ms = min(alone_ms, state.oldest_ms) if state.oldest_ms else alone_ms
        if waited_ms < NO_OWNER_S * 1000:
            continue
        jobs = state.backlog + state.in_flight + state.parked + state.capped
        yield Finding(
            kind="no-owner",
            severity=Severity.CRITICAL,
            subject=f"partition {place.name}",
            since_ms=seen.now_ms - waited_ms,
            what=f"no consumer owns it, and {jobs:,} jobs wait",
            meaning="these jobs run when a consumer takes the partition; nothing is lost",
            remedy="queuepool consumer --partition auto --app YOUR.MODULE"
            + ("" if place.pool == "default" else f" --pools {place.pool}=1..8"),
        )


def flapping(seen: Observed) -> Iterator[Finding]:
    """Find places whose consumer crashed or was replaced again and again."""
    past = seen.past
    for place in seen.places if past is not None else ():
        times = past.takeovers.get(place.name, ()) if past is not None else ()
        lately = [at for at in times if seen.now_ms - at <= FLAPPING_S * 1000]
        if len(lately) < TAKEOVERS:
            continue
        host = place.state.owner.host if place.state and place.state.owner else "its consumer"
        yield Finding(
            kind="flapping",
            severity=Severity.WARNING,
            subject=f"partition {place.name}",
            since_ms=min(lately),
            what=f"its consumer crashed or was replaced {len(lately)} times in "
            f"{lasting(FLAPPING_S)}; now {host}",
            meaning="jobs running at a crash start again, and die after three crashes",
            remedy="queuepool dead list --error crashed; read the end of the consumer's log",
        )


def version_skew(seen: Observed) -> Iterator[Finding]:
    """Find consumers of another release than the coordinator's, or than each other's."""
    versions: dict[str, list[str]] = {}
    for place in seen.places:
        owner = place.state.owner if place.state is not None else None
        if owner is not None and owner.lease_ms > 0 and owner.target > 0:
            versions.setdefault(owner.version or "an earlier release", []).append(place.name)
    others = {version: names for version, names in versions.items() if version != seen.version}
    if not others:
        return
    told = "; ".join(
        f"{version}: partition {', '.join(names[:5])}" + (" ..." if len(names) > 5 else "")
        for version, names in sorted(others.items())
    )
    yield Finding(
        kind="version-skew",
        severity=Severity.WARNING,
        subject="consumers",
        what=f"they run releases other than {seen.version}: {told}",
        meaning="a deployment stopped halfway; features of the newer release may be ignored, and "
        "slots of older consumers do not move",
        remedy="finish the deployment: docs/operations.md#upgrades-and-rolling-deploys",
    )


def no_record(seen: Observed) -> Iterator[Finding]:
    """Find that the queue is used, and has no route record."""
    states = [place.state for place in seen.places if place.state is not None]
    used = any(one.jobs or (one.owner and one.owner.lease_ms > 0) for one in states)
    if used and not seen.route_version:
        yield Finding(
            kind="no-route-record",
            severity=Severity.WARNING,
            subject="queue",
            what="it is used, and has no route record",
            meaning="a process with another QUEUEPOOL_PARTITIONS is not refused, and stores jobs "
            "that no consumer reads; moves are impossible",
            remedy="the warnings of consumers say why they cannot make it; queuepool check",
        )
