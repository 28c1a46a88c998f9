"""A partition that was retired, or a server that one left, holds nothing when it is back."""

from __future__ import annotations

import pytest

from queuepool.routing.moves import asked_to
from queuepool.routing.slots import slot_of
from queuepool.verbs.producer import tenants
from queuepool.verbs.producer import verbs as produce
from queuepool.verbs.producer.verbs import ANY_VERSION
from tests.unit.coordinator.loop.moving import KEYS, Queue

pytestmark = pytest.mark.timeout(120)


def hold(queue: Queue, number: int, *, on: bool) -> None:
    """Hold, or release, a tenant and a task everywhere, and one partition."""
    queue.app.group("k1").status()  # so that it knows the route
    tenant = queue.app.tenant("acme")
    tenant.hold() if on else tenant.release()
    tenant.configure(max_running=3 if on else 4)
    queue.ops.route.read()
    for place in queue.ops.places():
        place.run(produce.hold_task("t", on=on, version=ANY_VERSION))
    if on:
        held = queue.ops.partition(number)
        held.run(produce.configure(None, hold=True, version=ANY_VERSION))


def known(queue: Queue, number: int) -> tuple[object, ...]:
    queue.ops.route.read()
    place = queue.ops.partition(number)
    state, tenant = place.observe(), place.run(tenants.find(b"acme"))
    held = tenant.held_ms is not None
    return held, tenant.max_running, dict(state.held_tasks), state.held_ms


@pytest.mark.parametrize("aborted", [False, True])
def test_a_partition_that_comes_back_is_not_held_by_what_was_held_then(aborted: bool) -> None:
    queue = Queue()
    queue.fill()
    queue.ask(4)
    queue.look() if aborted else queue.drive()
    hold(queue, 3, on=True)
    if aborted:
        queue.abort()
    else:
        queue.ask(2)
    queue.drive()
    hold(queue, 0, on=False)
    queue.ask(4)
    queue.drive()

    for number in range(4):
        assert known(queue, number) == (False, 4, {}, None), number


def go(queue: Queue, server: str) -> None:
    """Let partition 0 go to a server."""
    queue.ops.route.read()
    queue.change(lambda _: asked_to(queue.ops.config.topology.view, {0: server}))
    queue.drive()


def test_a_partition_that_goes_back_to_a_server_is_as_it_was_where_it_came_from() -> None:
    queue = Queue(servers=2)
    queue.fill()
    hold(queue, 0, on=True)
    go(queue, "big")
    assert known(queue, 0)[:2] == (True, 3), "it went along"
    hold(queue, 0, on=False)
    queue.ops.partition(0).run(produce.configure(None, hold=False, version=ANY_VERSION))
    go(queue, "main")
    assert known(queue, 0) == (False, 4, {}, None)


def test_the_first_job_of_a_pool_is_not_stranded_in_a_partition_that_is_no_more() -> None:
    queue = Queue()
    queue.fill()
    key = next(key for key in KEYS if slot_of(key.encode()) % 2 == 1)
    queue.ask(1)
    queue.drive()

    job = queue.app.enqueue("t", {"key": key, "n": 99}, partition_key=key, pool="video")

    assert job.partition == 0
    assert [place.name for place in queue.app.places()] == ["0", "0/video"]
