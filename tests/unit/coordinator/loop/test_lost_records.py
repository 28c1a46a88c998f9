"""The route record is lost, or falls back to an earlier version: the leader writes it again."""

from __future__ import annotations

from copy import deepcopy

import pytest

from queuepool.models import RouteRecord
from queuepool.routing.moves import Stage
from queuepool.verbs.producer import route
from tests.unit.coordinator.loop.moving import KEYS, ORDER, Queue

pytestmark = pytest.mark.timeout(120)

STEPS = [1, 2, 3, 4, 5, 99]


def stored(queue: Queue) -> RouteRecord | None:
    server, key = queue.ops.system
    verb = route.look(key)
    return verb.read(server.run(key, [verb])[0])


def lose(queue: Queue, *, then: RouteRecord | None = None) -> None:
    """Delete the record; then another process is faster, and knows this one."""
    server, key = queue.ops.system
    queue.server._systems[key].route.clear()
    if then is not None:
        server.run(key, [route.restore(then)])


def begin(queue: Queue, steps: int) -> list[RouteRecord]:
    """Take the first steps of a move; return the records on the way."""
    records = [stored(queue)]
    queue.ask(4)
    records.append(stored(queue))
    for _ in range(steps):
        goes_on = queue.look()
        records.append(stored(queue))
        if not goes_on:
            break
    return [record for record in records if record is not None]


def go_on(queue: Queue) -> None:
    """Let the leader go on, and processes start that know nothing."""
    for _ in range(40):
        queue.look()
    queue.app, queue.ops = queue.pool(), queue.pool()
    assert queue.move is not None
    assert queue.move.stage is Stage.ENDED
    assert len(queue.jobs()) == 4


@pytest.mark.parametrize("steps", STEPS)
def test_a_record_that_was_deleted_is_there_again(queue: Queue, steps: int) -> None:
    begin(queue, steps)
    lose(queue)
    go_on(queue)
    assert queue.run_all() == ORDER


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("old", [1, 2, 99])
def test_one_that_a_process_wrote_again_that_knew_less_says_what_is_so(
    queue: Queue, steps: int, old: int, caplog: pytest.LogCaptureFixture
) -> None:
    records = begin(queue, steps)
    known = records[-1].version
    then = records[max(0, len(records) - 1 - old)]
    lose(queue, then=then)
    queue.look()
    made = stored(queue)
    assert made is not None
    assert made.version > known
    assert f"from version {known} to {then.version}" in caplog.text
    if queue.move is None:  # nothing had gone yet, and nobody remembers the request
        queue.ask(4)
    go_on(queue)
    assert queue.run_all() == ORDER


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("old", [1, 2, 4])
def test_everybody_follows_a_record_that_fell_back_together_with_its_partitions(
    queue: Queue, steps: int, old: int
) -> None:
    begin(queue, steps)
    server = queue.server
    kept = deepcopy((server._systems, server._partitions))
    for _ in range(old):
        queue.look()
    queue.app.group(KEYS[0]).status()  # it knows a newer version, too
    server._systems, server._partitions = kept
    go_on(queue)
    assert queue.run_all() == ORDER
