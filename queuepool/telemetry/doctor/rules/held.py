"""Rules about work that waits because someone said so: holds, limits, schedules. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf

from queuepool.errors.escaping import key_text, shown, typed
from queuepool.models import LimitStatus, ScheduleStatus
from queuepool.models.doctor import Finding, Severity
from queuepool.models.tenants import key_in, tenant_of
from queuepool.telemetry.doctor.observed import Observed, Place
from queuepool.telemetry.doctor.rules.rule import DAY_S, HOUR_S, MINUTE_S, lasting

# Maintenance takes hours; what is held for longer than a day has been forgotten.
HELD_S = DAY_S
# A limit is there to spread work, so a queue in front of it is normal; one of more than an hour
# that lasts is either a limit that is too low, or too much work.
BEHIND_S, LIMIT_S, MOST_LIMITS = HOUR_S, 10 * MINUTE_S, 3
# A coordinator fires within a second of the time, and one that starts, within its lease.
LATE_S = MINUTE_S


def held(seen: Observed) -> Iterator[Finding]:
    """Find what has been held for more than a day: partitions, groups, tenants, tasks, limits."""
    holds = [hold for place in seen.places for hold in _holds(place)]
    for what, name, since_ms, remedy in (*holds, *_held_tasks(seen.places)):
        if seen.now_ms - since_ms < HELD_S * 1000:
            continue
        yield Finding(
            kind="held",
            severity=Severity.NOTICE,
            subject=f"{what} {name}",
            since_ms=since_ms,
            what=f"it has been held for {lasting((seen.now_ms - since_ms) / 1000)}",
            meaning="none of its jobs start until it is released",
            remedy=remedy,
        )
    for limit in seen.limits or ():
        if limit.paused and limit.parked and seen.now_ms - limit.paused_ms >= HELD_S * 1000:
            yield Finding(
                kind="held",
                severity=Severity.NOTICE,
                subject=f"limit {limit.name}",
                since_ms=limit.paused_ms,
                what="it has been paused for "
                f"{lasting((seen.now_ms - limit.paused_ms) / 1000)}, and jobs wait for it",
                meaning="none of its jobs start until it is resumed",
                remedy=f"queuepool limit resume {limit.name}",
            )


def _held_tasks(places: Iterable[Place]) -> Iterator[tuple[str, str, int, str]]:
    """Yield each held task once, whatever number of partitions it is held in."""
    since: dict[str, int] = {}
    for place in places:
        for task, ms in place.state.held_tasks.items() if place.state is not None else ():
            since[task] = min(ms, since.get(task, ms))
    for task, ms in sorted(since.items()):
        yield "task", shown(task), ms, f"queuepool release task {typed(task)}"


def _holds(place: Place) -> Iterator[tuple[str, str, int, str]]:
    state, looked = place.state, place.checkup
    if state is not None and state.held_ms is not None:
        remedy = f"queuepool release partition {place.name}"
        yield "partition", place.name, state.held_ms, remedy
    if looked is not None and looked.held_group is not None:
        tenant = tenant_of(looked.held_group.name)
        name = key_text(key_in(looked.held_group.name))
        remedy = f"queuepool release group {typed(key_text(key_in(looked.held_group.name)))}"
        if tenant is not None:
            remedy += f" --tenant {typed(key_text(tenant))}"
        yield "group", name, looked.held_group.since_ms, remedy
    if looked is not None and looked.held_tenant is not None:
        name = key_text(looked.held_tenant.name)
        remedy = f"queuepool tenant release {typed(key_text(looked.held_tenant.name))}"
        yield "tenant", name, looked.held_tenant.since_ms, remedy


def limit(seen: Observed) -> Iterator[Finding]:
    """Find limits that let far fewer jobs start than wait for them."""
    service_s = _service_s(seen.places)
    behind: list[tuple[float, float, LimitStatus]] = []
    for one in seen.limits or ():
        pace = _per_s(one, service_s)
        if pace is not None and one.parked:
            needed_s = one.parked / pace if pace else inf
            if needed_s >= BEHIND_S:
                behind.append((needed_s, pace, one))
    behind.sort(key=lambda found: (-found[0], found[2].name))
    for needed_s, pace, one in behind[:MOST_LIMITS]:
        needs = lasting(needed_s) if needed_s < inf else "forever"
        yield Finding(
            kind="limit",
            severity=Severity.NOTICE,
            subject=f"limit {one.name}",
            what=f"it lets {pace:.3g} jobs start a second, and {one.parked:,} wait: {needs}",
            meaning="the limit, not the workers, decides how long these jobs take",
            remedy=f"queuepool limit show {one.name}; queuepool limit set {one.name} --rate N",
        )


def limits_left(seen: Observed) -> str:
    """Return why not all limits that jobs wait for were judged; empty if they were."""
    why = [seen.limits_partly] if seen.limits_partly else []
    known = _service_s(seen.places) > 0
    if not known and any(one.parked and _by_number(one) for one in seen.limits or ()):
        why.append("nobody knows how long jobs run, of which a limit bounds the number")
    return "; ".join(why)


def _by_number(status: LimitStatus) -> bool:
    """Return whether a limit bounds how many jobs run at once, and nothing else does."""
    bound = status.effective
    return (
        bound is not None and not status.paused and status.pace is None and bool(bound.concurrency)
    )


def _per_s(status: LimitStatus, service_s: float) -> float | None:
    """Return how many jobs a limit lets start a second, None if that is unknown."""
    bound = status.effective
    if bound is None or status.paused:  # `held` tells of a pause
        return None
    if status.pace is not None:
        return status.pace / bound.per_s
    return bound.concurrency / service_s if bound.concurrency and service_s else None


def _service_s(places: tuple[Place, ...]) -> float:
    known = [place.service_s for place in places if place.service_s]
    return sum(known) / len(known) if known else 0.0


def schedule_missed(seen: Observed) -> Iterator[Finding]:
    """Find schedules of which times passed without a job."""
    for one in seen.schedules or ():
        late_s = _late_s(one, seen.now_ms)
        count, last_ms = (seen.past.missed if seen.past else {}).get(one.name, (0, 0))
        if one.problem:
            what, since_ms = f"it cannot fire: {one.problem}", None
        elif late_s:
            what = f"it is {lasting(late_s)} late"
            since_ms = seen.now_ms - round(late_s * 1000)
        elif count:
            what, since_ms = f"{count:,} times were missed within a day", last_ms
        else:
            continue
        yield Finding(
            kind="schedule-missed",
            severity=Severity.WARNING,
            subject=f"schedule {one.name}",
            since_ms=since_ms,
            what=what,
            meaning="no coordinator led at that time, or the job could not be enqueued",
            remedy=f"queuepool schedule show {one.name}; queuepool schedule run {one.name}",
        )


def _late_s(one: ScheduleStatus, now_ms: int) -> float:
    """Return for how long a time is over that should have fired; 0 if none is."""
    if one.paused_ms or one.schedule is None:
        return 0.0
    following = one.next(1)
    late_s = (now_ms - following[0]) / 1000 if following else 0.0
    return late_s if late_s >= LATE_S else 0.0
