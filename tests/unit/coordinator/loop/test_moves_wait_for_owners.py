"""Nothing goes to a partition that nobody owns yet while a consumer may still come there."""

from __future__ import annotations

import pytest

from coordinator.loop.ways import PATIENCE_S
from queuepool.models.places import new_place
from queuepool.partitions.partition import OwnedPartition
from queuepool.routing.moves import Stage, asked_to
from queuepool.verbs.owner import verbs
from tests.unit.coordinator.loop.moving import ORDER, Queue

pytestmark = pytest.mark.timeout(60)
_LOOKS = 30  # more than there are until the longest wait is over


def own(queue: Queue, number: int, *, lease_s: float = 600) -> OwnedPartition:
    queue.ops.route.read()
    owned = queue.ops.partition(number).acquire(lease_s=lease_s)
    assert isinstance(owned, OwnedPartition)
    return owned


def leave(*owners: OwnedPartition) -> None:
    for owned in owners:
        owned.run(verbs.release(owned.ownership, drain_lease_ms=0))


def began(queue: Queue) -> float:
    """Let a move begin, and return when."""
    while queue.move is None or queue.move.stage is Stage.ASKED:
        assert queue.look()
    return queue.now_s


def test_jobs_go_to_new_partitions_once_these_have_owners(queue: Queue) -> None:
    owners = [own(queue, 0), own(queue, 1)]
    queue.ask(4)
    start_s = began(queue)
    for _ in range(3):
        assert queue.look()
    assert queue.now_s < start_s + PATIENCE_S
    assert queue.jobs()[2] == queue.jobs()[3] == 0

    owners.append(own(queue, 3))
    while not queue.jobs()[3]:
        assert queue.look()
    assert queue.now_s < start_s + PATIENCE_S
    assert queue.jobs()[2] == 0, "its own consumer is still to come"

    owners.append(own(queue, 2))
    queue.drive()
    assert queue.now_s < start_s + PATIENCE_S
    leave(*owners)
    assert queue.run_all() == ORDER


def test_a_move_does_not_wait_longer_where_no_consumer_comes(queue: Queue) -> None:
    owners = [own(queue, 0), own(queue, 1)]
    queue.ask(4)
    start_s = began(queue)
    for _ in range(_LOOKS):
        if not queue.look():
            break
    assert queue.move is not None
    assert queue.move.stage is Stage.ENDED
    assert start_s + PATIENCE_S <= queue.now_s < start_s + 2 * PATIENCE_S
    leave(*owners)
    assert queue.run_all() == ORDER


def test_a_lease_that_has_ended_is_no_owner(queue: Queue) -> None:
    owners = [own(queue, 0), own(queue, 1)]
    queue.ask(3)
    began(queue)
    owners.append(own(queue, 2, lease_s=0.001))
    queue.server.fake.advance(10)
    start_s = queue.now_s
    assert queue.look()
    assert queue.jobs()[2] == 0
    queue.drive()
    assert queue.now_s >= start_s + PATIENCE_S / 2
    leave(*owners[:2])
    assert queue.run_all() == ORDER


def test_a_partition_goes_to_another_server_once_its_new_place_has_an_owner() -> None:
    queue = Queue(servers=2)
    queue.fill()
    old = own(queue, 0)
    queue.change(lambda _: asked_to(queue.ops.config.topology.view, {0: "big"}))
    start_s = began(queue)
    for _ in range(3):
        assert queue.look()
    queue.ops.route.read()
    there = queue.ops.partition(new_place(0))
    assert there.observe().jobs == 0

    new = there.acquire(lease_s=600)
    assert isinstance(new, OwnedPartition)
    queue.drive()
    assert queue.now_s < start_s + PATIENCE_S
    leave(old, new)
    assert queue.run_all() == ORDER


def test_where_nobody_owns_anything_a_move_does_not_wait(queue: Queue) -> None:
    queue.ask(4)
    start_s = began(queue)
    queue.drive()
    assert queue.now_s < start_s + PATIENCE_S / 2
    assert queue.run_all() == ORDER
