"""What a policy is shown of an observation, and what a decision says that it was shown. Pure."""

from __future__ import annotations

from coordinator.core.doubts import age_s
from coordinator.core.model import Inputs, Observation, finished_total
from coordinator.policy import Reading
from queuepool.models import Owner, PartitionState


def read(seen: Observation, state: PartitionState, owner: Owner) -> tuple[Reading, Inputs]:
    """Return both; no count is negative, as a reading with one is refused."""
    reading = Reading(
        at_s=seen.at_s,
        backlog=state.backlog,
        workers=max(owner.workers, 0),
        busy=max(owner.busy, 0),
        finished_total=max(finished_total(state), 0),
        in_flight=max(state.in_flight, 0),
        limits=owner.limits,
        work=owner.work,
        age_s=age_s(state, owner),
    )
    inputs = Inputs(
        backlog=reading.backlog,
        workers=reading.workers,
        busy=reading.busy,
        reported=owner.target,
        pwqd=round(reading.pwqd, 3),
        finished_total=reading.finished_total,
        in_flight=state.in_flight,
    )
    return reading, inputs
