"""Fairness is between groups: how long a job waits behind a tenant depends on how many it has."""

import pytest

from tests.contract import world as w
from tests.contract.world import World

JOBS, BATCH = 200, 20


@pytest.mark.parametrize(("groups", "batches"), [(1, 1), (JOBS, JOBS // BATCH + 1)])
def test_a_job_waits_for_the_turns_of_a_tenants_groups_not_for_its_jobs(
    world: World, groups: int, batches: int
) -> None:
    owned = world.own()
    for n in range(JOBS):
        w.enqueue(world, [f"theirs-{n}"], b"tenant-%d" % (n % groups))
    w.enqueue(world, ["mine"], b"me")

    claimed = 0
    for _ in range(JOBS):
        claimed += 1
        if b"mine" in w.claim(owned, BATCH).ids:
            break

    assert claimed == batches
