"""Rules about uneven load: one group, or one partition, has nearly everything. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from queuepool.errors.escaping import key_text
from queuepool.models.doctor import Finding, Severity, Waiting
from queuepool.models.tenants import key_in
from queuepool.telemetry.advice.hot import hot_places
from queuepool.telemetry.doctor.observed import Observed, Place
from queuepool.telemetry.doctor.rules.rule import HOUR_S, MINUTE_S, lasting, named

# One bulk action beside small groups is what turns are for: small groups do not feel it. Only one
# that will take more than an hour is worth a word.
TIMES, FEWEST_JOBS, FEWEST_LANES, LONG_S, PATIENCE_S = 10, 10_000, 3, HOUR_S, 5 * MINUTE_S
# What is hot is decided where advice is given. A bulk action may make a partition hot for minutes.
WAIT_S, HOT_S = MINUTE_S, 10 * MINUTE_S


def big_group(seen: Observed) -> Iterator[Finding]:
    """Find groups that have ten times as many waiting jobs as any other of their partition."""
    for place, first, second in _uneven(seen):
        if not place.finished_per_s or first.jobs < LONG_S * place.finished_per_s:
            continue
        name = named(first.group)
        yield Finding(
            kind="big-group",
            severity=Severity.NOTICE,
            subject=f"group {key_text(key_in(first.group))}",
            what=f"{first.jobs:,} of its jobs wait in partition {place.name}; the next largest "
            f"group seen has {second.jobs:,}",
            meaning="other groups still take turns, but it keeps the partition busy for long",
            remedy=f"queuepool group show {name}; queuepool group configure {name} --max-running N",
        )


def pace_unknown(seen: Observed) -> str:
    """Return why it is not known of a group whether it will take long; empty if it is."""
    if all(place.finished_per_s for place, _, _ in _uneven(seen)):
        return ""
    return "nobody knows how fast jobs end"


def _uneven(seen: Observed) -> Iterator[tuple[Place, Waiting, Waiting]]:
    """Yield places with a large group that others are far from, it, and the next largest."""
    for place in seen.places:
        looked = place.checkup
        if looked is None or looked.lanes < FEWEST_LANES or len(looked.groups) < 2:
            continue
        first, second = looked.groups[:2]
        if first.jobs >= max(FEWEST_JOBS, TIMES * second.jobs):
            yield place, first, second


def hot_partition(seen: Observed) -> Iterator[Finding]:
    """Find partitions that have far more to do than others, and where jobs wait."""
    if seen.loads is None:
        return
    for hot in hot_places(seen.loads, wait_s=WAIT_S):
        yield Finding(
            kind="hot-partition",
            severity=Severity.WARNING,
            subject=f"partition {hot.place.partition}",
            what=f"its jobs want {hot.times:.1f} times the workers that those of others do; its "
            f"oldest has waited for {lasting(hot.place.wait_s)}, elsewhere "
            f"{lasting(hot.elsewhere_s)}",
            meaning="a few partition keys have most of the jobs; other workers are idle",
            remedy="queuepool advise",
        )
