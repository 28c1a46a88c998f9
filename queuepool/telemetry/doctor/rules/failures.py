"""Rules about jobs that do not end well: unknown, stuck, dying, dead. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from queuepool.errors.escaping import shown
from queuepool.models.doctor import Finding, Severity
from queuepool.telemetry.doctor.observed import Observed
from queuepool.telemetry.doctor.rules.rule import HOUR_S, MINUTE_S, lasting, size

# During a deployment producers may know a task before the consumers do.
ASIDE_S = 2 * MINUTE_S
# Far beyond what others take, and long for anyone who waits; where nobody knows what is usual, an
# hour. The share is wide, since a partition may run tasks of 1 ms beside tasks of 10 s.
STUCK_LEAST_S, STUCK_TIMES, STUCK_S = 15 * MINUTE_S, 1000, HOUR_S
# Fewer are single bad payloads. A share of 1 % is what retries leave of a flaky downstream.
DIED, DIED_SHARE, DIED_TIMES, KNOWN_S = 20, 0.01, 3, 10 * MINUTE_S
# From 80 % on there is time to look before the oldest are dropped.
DEAD_SHARE = 0.8


def unknown_task(seen: Observed) -> Iterator[Finding]:
    """Find jobs that wait since no consumer of their partition knows their task."""
    for place in seen.places:
        state = place.state
        if state is None or not state.aside:
            continue
        tasks = ", ".join(map(shown, state.aside_tasks[:3])) or "unknown names"
        yield Finding(
            kind="unknown-task",
            severity=Severity.WARNING,
            subject=f"partition {place.name}",
            what=f"{state.aside:,} jobs wait for tasks that its consumer has not registered: "
            f"{tasks}",
            meaning="a module is not loaded, or the name is misspelled; these jobs wait and do "
            "not die",
            remedy="start consumers with --app MODULE of the task, or queuepool job cancel ID",
        )


def stuck_job(seen: Observed) -> Iterator[Finding]:
    """Find jobs that run far longer than others of their partition."""
    for place in seen.places:
        if place.checkup is None or place.checkup.running is None:
            continue
        job_id, since_ms = place.checkup.running
        age_s = (place.checkup.now_ms - since_ms) / 1000
        usual_s = place.service_s
        bound_s = max(STUCK_LEAST_S, STUCK_TIMES * usual_s) if usual_s else STUCK_S
        if age_s < bound_s:
            continue
        compared = f"; others take {usual_s:.3g} s" if usual_s else ""
        yield Finding(
            kind="stuck-job",
            severity=Severity.WARNING,
            subject=f"job {job_id}",
            since_ms=seen.now_ms - round(age_s * 1000),
            what=f"it has run for {lasting(age_s)} in partition {place.name}{compared}",
            meaning="it occupies a worker; a handler without a timeout may wait forever",
            remedy=f"queuepool job show {job_id}; queuepool job cancel {job_id}",
        )


def deaths_rising(seen: Observed) -> Iterator[Finding]:
    """Find that a larger share of jobs dies than before."""
    deaths = seen.past.deaths if seen.past is not None else None
    if deaths is None or deaths.before_s < KNOWN_S or deaths.died < DIED:
        return
    share = deaths.died / max(deaths.ended, deaths.died)
    before = deaths.died_before / max(deaths.ended_before, deaths.died_before, 1)
    if share < max(DIED_SHARE, DIED_TIMES * before):
        return
    yield Finding(
        kind="deaths-rising",
        severity=Severity.WARNING,
        subject="jobs",
        since_ms=seen.now_ms - round(deaths.over_s * 1000),
        what=f"{deaths.died:,} jobs died within {lasting(deaths.over_s)}, {share:.1%} of those "
        f"that ended; before, {before:.2%}",
        meaning="a deployment, a payload or a downstream system has changed",
        remedy="queuepool errors; queuepool dead digest",
    )


def dead_bound(seen: Observed) -> Iterator[Finding]:
    """Find places whose dead jobs are about to be dropped, or are."""
    for place in seen.places:
        state = place.state
        keep = state.owner.dead_keep if state is not None and state.owner is not None else None
        if state is None or keep is None:
            continue
        jobs, dead_bytes = keep[0], state.counters.get("dead_bytes", 0)
        if state.dead < DEAD_SHARE * jobs and dead_bytes < DEAD_SHARE * keep[1]:
            continue
        yield Finding(
            kind="dead-bound",
            severity=Severity.WARNING,
            subject=f"partition {place.name}",
            what=f"it keeps {state.dead:,} dead jobs ({size(dead_bytes)}), at most {jobs:,} "
            f"({size(keep[1])})",
            meaning="beyond that, the oldest are deleted and cannot be replayed",
            remedy="queuepool dead digest; then queuepool dead replay, or dead discard",
        )
