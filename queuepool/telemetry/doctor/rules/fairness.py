"""Rules about uneven load: one group, or one partition, has nearly everything. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from queuepool.errors.escaping import key_text
from queuepool.models.doctor import Finding, Severity
from queuepool.models.places import DEFAULT_POOL
from queuepool.models.tenants import key_in, tenant_of
from queuepool.telemetry.doctor.observed import Observed
from queuepool.telemetry.doctor.rules.rule import HOUR_S, MINUTE_S, lasting, typed

# One bulk action beside small groups is what turns are for: small groups do not feel it. Only one
# that will take more than an hour is worth a word.
TIMES, FEWEST_JOBS, FEWEST_LANES, LONG_S, PATIENCE_S = 10, 10_000, 3, HOUR_S, 5 * MINUTE_S
# Hashing spreads some dozens of keys within a factor of 2; 4 is a key that is used for everything.
# It harms only where jobs wait, while they do not elsewhere.
SHARE, FEWEST_PARTITIONS, WAIT_S, ELSEWHERE, HOT_S = 4, 4, MINUTE_S, 0.1, 10 * MINUTE_S


def big_group(seen: Observed) -> Iterator[Finding]:
    """Find groups that have ten times as many waiting jobs as any other of their partition."""
    for place in seen.places:
        looked = place.checkup
        if looked is None or looked.lanes < FEWEST_LANES or len(looked.groups) < 2:
            continue
        first, second = looked.groups[:2]
        if first.jobs < max(FEWEST_JOBS, TIMES * second.jobs):
            continue
        if place.finished_per_s and first.jobs < LONG_S * place.finished_per_s:
            continue
        name, tenant = typed(key_in(first.group)), tenant_of(first.group)
        if tenant is not None:
            name += f" --tenant {typed(tenant)}"
        yield Finding(
            kind="big-group",
            severity=Severity.NOTICE,
            subject=f"group {key_text(key_in(first.group))}",
            what=f"{first.jobs:,} of its jobs wait in partition {place.name}; the next largest "
            f"group seen has {second.jobs:,}",
            meaning="others still have their turns; it keeps the partition busy for long",
            remedy=f"queuepool group show {name}; queuepool group configure {name} --max-running N",
        )


def hot_partition(seen: Observed) -> Iterator[Finding]:
    """Find partitions that get most of the jobs, and where they wait."""
    if seen.past is None:
        return
    places = [p for p in seen.places if p.pool == DEFAULT_POOL and p.state is not None]
    arrivals = {place.name: seen.past.arrivals.get(place.name, 0.0) for place in places}
    even = sum(arrivals.values()) / len(arrivals) if arrivals else 0.0
    if len(places) < FEWEST_PARTITIONS or not even:
        return
    waits = {place.name: place.state.oldest_ms / 1000 for place in places if place.state}
    for place in places:
        wait_s = waits[place.name]
        others_s = statistics.median(s for name, s in waits.items() if name != place.name)
        hot = arrivals[place.name] >= SHARE * even
        if not hot or wait_s < WAIT_S or others_s > ELSEWHERE * wait_s:
            continue
        yield Finding(
            kind="hot-partition",
            severity=Severity.WARNING,
            subject=f"partition {place.name}",
            what=f"it gets {arrivals[place.name] / even:.1f} times its share of the jobs; its "
            f"oldest has waited for {lasting(wait_s)}, elsewhere {lasting(others_s)}",
            meaning="one partition key, or few, have nearly all jobs; other workers are idle",
            remedy="choose finer partition keys: docs/first-day.md#how-do-i-choose-a-partition-key",
        )
