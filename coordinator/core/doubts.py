"""Whether an observation can be believed: if not, nothing moves; if hardly, only a step. Pure.

damaged    a negative or an impossibly large count: the count of workers is held
doubtful   it contradicts itself, the one before, or the clock: it moves the count by at most one
           step, whatever the policy makes of it, which learns nothing from it

Bounds and budgets of operators do not come from the observation: they are obeyed at once.

A doubt that lasts, as after a failover that lost writes, therefore slows scaling and stops nothing.
"""

from __future__ import annotations

import re
from typing import Final

from queuepool.models import Owner, PartitionState

A_STEP_AT_MOST: Final = "this reading moves the count by at most a step"
_MOST: Final = 10**12  # jobs
_MOST_WORKERS: Final = 10**6
_SLACK: Final = 100  # jobs by which counts may differ, and a quarter of all
_MOST_PER_S: Final = 1_000_000  # executions that end in a partition
_CLOCK_MS: Final = 60_000  # by which clocks may differ
_QUIET_MS: Final = 4_000  # consumers report once a second, and at least four times a lease
_LONGEST_LEASE_MS: Final = 24 * 3_600_000
_FACTOR, _STEP = 2, 8
_MOST_GRANTED: Final = 100_000  # starts a second
_VARYING: Final = re.compile(r"[0-9]+(\.[0-9]+)?|(?<=limit )\S+")


def damage(state: PartitionState, owner: Owner) -> str:
    """Return why nothing of an observation is true, or an empty string."""
    counts = (*state.ready, state.in_flight, state.parked, owner.workers, owner.busy, state.jobs)
    if min(counts) < 0:
        return f"a count is negative ({min(counts)})"
    most = max(*counts, state.counters.get("done", 0))
    if most > _MOST or max(owner.workers, owner.busy, owner.target) > _MOST_WORKERS:
        return "a count is impossibly large"
    return ""


def doubt(state: PartitionState, owner: Owner, finished: int, last: tuple[int, int]) -> str:
    """Return why an observation is hardly true, or an empty string.

    finished: executions that have ended. last: (its ms, finished) of the one before, (0, 0) if
    there was none.
    """
    last_ms, last_finished = last
    there = state.backlog + state.in_flight + state.parked
    if _is_above(there, state.jobs):
        return f"{there} jobs are ready, parked or in flight, of {state.jobs} that there are"
    if finished < last_finished:
        return f"finished jobs fell from {last_finished} to {finished}"
    if last_ms and finished - last_finished > _most_finished(state.observed_ms - last_ms):
        return f"{finished - last_finished} more jobs finished than a moment ago"
    if last_ms and state.observed_ms < last_ms - _CLOCK_MS:
        return f"it is {(last_ms - state.observed_ms) / 1000:.0f} s older than the one before"
    if owner.heartbeat_ms > state.observed_ms + _CLOCK_MS:
        ahead_s = (owner.heartbeat_ms - state.observed_ms) / 1000
        return f"its consumer reported {ahead_s:.0f} s later than it was observed"
    if owner.busy > _most_after(owner.workers):
        return f"{owner.busy} of its {owner.workers} workers are busy"
    age_ms = state.observed_ms - owner.heartbeat_ms
    if owner.heartbeat_ms and age_ms > max(owner.lease_ms, _QUIET_MS):
        return (
            f"its consumer last reported {age_ms / 1000:.0f} s ago, and is not renewing its lease"
        )
    if owner.lease_ms > _LONGEST_LEASE_MS:
        return f"its lease lasts for {owner.lease_ms / 3_600_000:.0f} more hours"
    return _doubt_limits(state, owner)


def _doubt_limits(state: PartitionState, owner: Owner) -> str:
    for one in owner.limits:
        if _is_above(one.parked, state.jobs):
            return f"{one.parked} jobs wait for limit {one.name}, of {state.jobs} that there are"
        if one.granted_per_s > _MOST_GRANTED:
            return f"limit {one.name} grants {one.granted_per_s:.0f} jobs/s"
    return ""


def _is_above(count: int, jobs: int) -> bool:
    return count > jobs + jobs // 4 + _SLACK


def _most_finished(passed_ms: int) -> int:
    return _MOST_PER_S * (1 + max(passed_ms, 0) // 1000)


def kind_of(why: str) -> str:
    """Return a doubt without its numbers and names: the same for as long as it lasts."""
    return _VARYING.sub("#", why)


def contradiction(owner: Owner) -> str:
    """Return why the count that a consumer says it works towards is hardly true, or nothing."""
    if owner.target == within_a_step(owner.target, owner.workers):
        return ""
    return f"its target is {owner.target}, and it has {owner.workers} workers"


def age_s(state: PartitionState, owner: Owner) -> float:
    """Return how old the counts are that the consumer reported."""
    return max(state.observed_ms - owner.heartbeat_ms, 0) / 1000 if owner.heartbeat_ms else 0.0


def within_a_step(wanted: int, before: int) -> int:
    """Return the count that is wanted, at most a step away from the one before."""
    least = min(before // _FACTOR, before - _STEP)
    return min(max(wanted, least, 1), _most_after(before))


def _most_after(workers: int) -> int:
    return max(_FACTOR * workers, workers + _STEP)
