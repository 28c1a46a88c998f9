"""What a batch of a million jobs costs beyond its jobs, and to read. Slow; real servers only."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from queuepool.protocol import codec
from queuepool.verbs.flows import telling
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.batches import BATCH, DAY_MS, status, tell
from tests.contract.world import World

JOBS, AT_ONCE = 1_000_000, 200
MOST_BYTES = 100  # a job, beyond what it costs in no batch


def used(world: World) -> int:
    info: Any = world.client.info("memory")
    return int(info["used_memory"])


def run(world: World, *, in_batch: bool) -> tuple[int, int]:
    """Enqueue and end the jobs; return the bytes in use when all wait, and when all have ended."""
    owned = world.own()
    if in_batch:
        ways: Any = {"on_failure": "partial", "on_deadline": "partial"}
        verb = flow.open_batch(BATCH, BATCH, deadline_ms=DAY_MS, keep_ms=DAY_MS, **ways)
        world.partition.run(verb)
        w.enqueue(world, [BATCH], b"then", delay_ms=DAY_MS)
    before = used(world)
    for first in range(0, JOBS, AT_ONCE):
        numbers = range(first, first + AT_ONCE)
        ids = [f"CC{BATCH}~{n}" if in_batch else f"CC{n:012}" for n in numbers]
        assert w.enqueue(world, ids, max_depth=2 * JOBS) == b"1" * AT_ONCE
    waiting = used(world) - before
    if in_batch:
        world.partition.run(flow.seal_batch(BATCH, JOBS))
    ended = 0
    while ended < JOBS:
        claims = w.claim(owned, AT_ONCE)
        stamps = map(codec.read_stamp, claims.bodies)
        jobs = [(i, s, 0, b"%d" % (n + ended)) for n, (i, s) in enumerate(_pairs(claims, stamps))]
        owned.run(own.finish_stray(owned.ownership, jobs))
        if in_batch:
            page = owned.run(telling.untold(owned.ownership))
            tell(owned, page.notes)
            owned.run(telling.untold(owned.ownership, told=[note.entry for note in page.notes]))
        assert claims.ids, f"only {ended} of {JOBS} are there to be claimed"
        ended += len(claims.ids)
        w._HELD.clear()  # what tests remember of claims
    return waiting, used(world) - before


def _pairs(claims: own.Claims, stamps: Any) -> list[tuple[bytes, bytes]]:
    return list(zip(claims.ids, stamps, strict=True))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_million_jobs_cost_little_beyond_the_jobs_and_are_read_in_bounded_memory(
    server_world: World,
) -> None:
    plain_waiting, plain_ended = run(server_world, in_batch=False)
    server_world.client.flushall()
    waiting, ended = run(server_world, in_batch=True)

    beyond = (waiting - plain_waiting) / JOBS, (ended - plain_ended) / JOBS
    assert max(beyond) < MOST_BYTES, beyond  # measured: 22 while they wait, 20 ended
    assert status(server_world).done == JOBS

    tracemalloc.start()
    number = total = 0
    while number < JOBS:
        page = server_world.partition.run(flow.batch_results(BATCH, number))
        total += sum(each.result for each in page.found)
        number = page.next_number
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert total == JOBS * (JOBS - 1) // 2
    assert peak < 5e6
