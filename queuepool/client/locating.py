"""Finding a job by its id and its key: where its group is, or in the parts of a spread one."""

from __future__ import annotations

from queuepool.client.effects import Steps
from queuepool.client.questions import find_in
from queuepool.client.routes import Route
from queuepool.client.spreading import parts_of
from queuepool.models import JobState, JobStatus
from queuepool.protocol import ids
from queuepool.routing.views import View
from queuepool.settings.config import PoolConfig


def find_by_key(
    config: PoolConfig, view: View, partition: int, job_id: str, pool: str, route: Route | None
) -> Steps[JobStatus]:
    """Find a job in a partition: in this pool first, then in the others; then in other parts.

    route: of its group, if its key is known. An id that names the slot of the group is of its first
    part, so that no others are asked for.
    """
    status = yield from find_in(config, view, partition, job_id, pool)
    if route is None or ids.hinted_slot(job_id) == route.slot:
        return status
    if status.state is not JobState.UNKNOWN:
        return status
    for part in (yield from parts_of(config, route))[1:]:
        there = yield from find_in(config, view, part.partition, job_id, pool)
        if there.state is not JobState.UNKNOWN:
            return there
    return status
