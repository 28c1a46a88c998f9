"""A leader whose settings lack the server that a move names begins nothing, and says why."""

from __future__ import annotations

import pytest

from queuepool.routing.moves import Stage, asked, asked_to
from tests.unit.coordinator.loop.moving import KEYS, ORDER, Queue


@pytest.mark.parametrize("way", ["a partition", "more partitions"])
def test_a_move_to_a_server_that_the_leader_does_not_know_stays_asked_for(way: str) -> None:
    """Had it begun, no process without that server could follow the record: all would stand."""
    queue = Queue(servers=2)
    queue.fill()
    view = queue.ops.config.topology.view
    if way == "a partition":
        queue.change(lambda _: asked_to(view, {1: "new"}, at_ms=1))
    else:
        queue.change(lambda _: asked(view, 3, servers="0=main,1=big,2=new", at_ms=1))

    for _ in range(3):
        queue.mover.look()

    assert queue.move is not None
    assert queue.move.stage is Stage.ASKED
    assert "QUEUEPOOL_SERVERS here names no server 'new'" in queue.move.reason
    sent = queue.app.enqueue("t", {"key": KEYS[0], "n": 3}, partition_key=KEYS[0])
    assert sent.status == "accepted"
    assert queue.run_all() == ORDER | {KEYS[0]: [0, 1, 2, 3]}
