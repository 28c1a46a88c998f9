"""Finding a group by its key or its digest, and a job by its id and its key."""

from __future__ import annotations

from queuepool.client.effects import Steps
from queuepool.client.questions import find_in
from queuepool.client.routes import Route
from queuepool.client.spreading import parts_of
from queuepool.models import JobState, JobStatus
from queuepool.protocol import ids
from queuepool.routing.views import View
from queuepool.settings.config import PoolConfig


def located(config: PoolConfig, route: Route) -> Steps[Route]:
    """Return the route itself, or that of the group for which a given digest stands."""
    if not route.may_be_digest(config.tenant_separator):
        return route
    from queuepool.client.digests import looked_for  # rarely needed

    return (yield from looked_for(config, route))


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
    whole = yield from located(config, route)
    parts = yield from parts_of(config, whole)
    for part in parts[1:] if whole is route else parts:
        there = yield from find_in(config, view, part.partition, job_id, pool)
        if there.state is not JobState.UNKNOWN:
            return there
    return status
