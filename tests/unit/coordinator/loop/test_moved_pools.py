"""Jobs of a pool go to a partition that had no such pool: what is held stays held."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from queuepool.verbs.moves import verbs as move
from queuepool.verbs.producer import tenants
from queuepool.verbs.producer import verbs as produce
from queuepool.verbs.producer.verbs import ANY_VERSION
from tests.unit.coordinator.loop.moving import Queue

pytestmark = pytest.mark.timeout(120)


def one_job(key: str) -> Queue:
    """Return a queue with a job of a tenant, in a pool of one partition only."""
    queue = Queue()
    payload = {"key": key, "n": 0}
    queue.app.enqueue("t", payload, partition_key=key, pool="video", tenant="acme")
    return queue


def slot_of_the_job(queue: Queue) -> int:
    """Return its slot, which is 0 if its pool is not in partition 1."""
    _, walked = queue.ops.partition(1, "video").run(move.walk())
    return next(iter(walked.slots.values()), 0)


def alone_in_1() -> Queue:
    """Return one that has that pool in partition 1 only, and of three partitions not in 0."""
    return next(q for q in map(one_job, map(str, range(100))) if slot_of_the_job(q) % 3)


def hold(queue: Queue) -> None:
    queue.app.tenant("acme").hold()
    for place in queue.app.places():
        place.run(produce.hold_task("other", on=True, version=ANY_VERSION))


def all_is_held(queue: Queue) -> None:
    queue.ops.route.read()
    for place in queue.ops.places():
        if place.pool == "video":
            assert place.run(tenants.find(b"acme")).held_ms is not None, place.name
            assert "other" in place.observe().held_tasks, place.name


@pytest.mark.parametrize("counts", [(1,), (3, 1)])
def test_a_tenant_and_a_task_are_held_where_their_pool_is_new(counts: Sequence[int]) -> None:
    queue = alone_in_1()
    hold(queue)
    for count in counts:
        queue.ask(count)
        queue.drive()
        all_is_held(queue)
    assert queue.run_all() == {}
    queue.app.tenant("acme").release()
    assert sum(map(len, queue.run_all().values())) == 1


def test_so_they_are_where_a_partition_with_that_pool_was_retired_and_is_back() -> None:
    queue = alone_in_1()
    hold(queue)
    slot = slot_of_the_job(queue)
    for _ in range(2):
        queue.ask(3)
        queue.drive()
        for number in (2, 1):
            queue.ops.route.read()
            queue.ask_slots({slot: number})
            queue.drive()
            all_is_held(queue)
        queue.ask(2)
        queue.drive()
    assert "0/video" not in {place.name for place in queue.ops.places()}
