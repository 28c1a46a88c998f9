"""A partition moves to another server: nothing is lost or doubled, wherever a driver dies."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from queuepool import Limit
from queuepool.models.places import new_place
from queuepool.routing.moves import Move, Stage, asked, asked_to
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.unit.coordinator.loop.moving import KEYS, ORDER, Died, Mortal, Queue

pytestmark = pytest.mark.thorough


@pytest.fixture
def queue() -> Queue:
    made = Queue(servers=2)
    made.fill()
    return made


def ask(queue: Queue, number: int, server: str) -> None:
    queue.ops.route.read()
    queue.change(lambda _: asked_to(queue.ops.config.topology.view, {number: server}))


def _as_asked(plan: Move, _: Move | None) -> Move:
    return plan


def placed(queue: Queue) -> list[str]:
    queue.ops.route.read()
    return list(queue.ops.config.topology.view.placement)


def test_a_partition_goes_to_another_server_and_comes_back(queue: Queue) -> None:
    before, jobs = queue.totals(), queue.jobs()
    for server in ("big", "main", "big"):
        ask(queue, 0, server)
        queue.drive()

        assert queue.move is not None
        assert queue.move.stage is Stage.ENDED
        assert placed(queue) == [server, "big"]
        assert queue.jobs() == jobs
        assert queue.totals() == before
    assert queue.run_all() == ORDER


def test_all_partitions_go_to_one_server_and_both_go_on(queue: Queue) -> None:
    ask(queue, 0, "big")
    queue.drive()
    ask(queue, 1, "main")
    queue.drive()
    assert placed(queue) == ["big", "main"]

    for count in (4, 1):
        queue.ops.route.read()
        servers = "0=big,1=main,2=main,3=big"
        plan = asked(queue.ops.config.topology.view, count, servers=servers)
        queue.change(partial(_as_asked, plan))
        queue.drive()
    assert placed(queue) == ["big"]
    assert queue.run_all() == ORDER


def test_a_producer_with_an_old_route_finds_its_way(queue: Queue) -> None:
    old = queue.pool()
    old.group("k0").status()
    for server in ("big", "main", "big"):
        ask(queue, 0, server)
        queue.drive()
    for key in KEYS:
        queue.app.enqueue_many("t", [{"key": key, "n": 3}], partition_key=key)
        old.enqueue_many("t", [{"key": key, "n": 4}], partition_key=key)
    assert queue.run_all() == {key: [0, 1, 2, 3, 4] for key in KEYS}


def test_one_bulk_call_has_jobs_of_both_places_and_of_the_time_after(queue: Queue) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield from ({"key": key, "n": 3} for key in KEYS)
        while not part_is_there():
            queue.look()
        yield from ({"key": key, "n": 4} for key in KEYS)
        queue.drive()
        yield from ({"key": key, "n": 5} for key in KEYS)

    def part_is_there() -> bool:
        queue.app.route.read()
        return bool(queue.app.config.topology.view.arrived)

    ask(queue, 0, "big")
    queue.app.enqueue_many("t", rows(), partition_key=lambda row: str(row["key"]))
    assert queue.run_all() == {key: [0, 1, 2, 3, 4, 5] for key in KEYS}


def small() -> Queue:
    queue = Queue(servers=2)
    queue.fill(1, KEYS[:4])
    queue.run_all()  # so that totals are to be carried, too
    queue.fill(1, KEYS[:4])
    return queue


class Calls:
    """The calls to both servers of a queue, counted together."""

    def __init__(self, queue: Queue, at: int = 0, *, executed: bool = True) -> None:
        self.count, self._at, self._executed = 0, at, executed
        for server in queue.servers.values():
            self._watch(server)

    def _watch(self, server: Mortal) -> None:
        def before(_n: int) -> None:
            self.count += 1
            if self.count == self._at:
                server.at, server.executed = server.calls, self._executed

        server.before = before


def calls_of_a_move() -> int:
    queue = small()
    ask(queue, 0, "big")
    calls = Calls(queue)
    queue.drive()
    return calls.count


@pytest.mark.parametrize("aborted", [False, True])
@pytest.mark.parametrize("executed", [True, False])
@pytest.mark.parametrize("step", [37, pytest.param(1, marks=pytest.mark.slow)])
def test_a_driver_that_dies_at_any_call_is_replaced(
    step: int, executed: bool, aborted: bool
) -> None:
    for at in range(1 + executed, calls_of_a_move() + 1, step):
        queue = small()
        before, jobs = queue.totals(), queue.jobs()
        ask(queue, 0, "big")
        Calls(queue, at, executed=executed)
        with pytest.raises(Died):
            queue.drive()
        for server in queue.servers.values():
            server.at = 0
        queue.elect()
        goes_back = aborted and queue.move is not None and queue.move.stage is Stage.MOVING
        if goes_back:
            queue.abort()
        queue.drive()
        assert placed(queue) == ["main" if goes_back else "big", "big"], at
        assert (queue.totals(), queue.jobs()) == (before, jobs), at
        assert queue.run_all() == {key: [0] for key in KEYS[:4]}, at


@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.slow)])
def test_an_abort_at_any_call_brings_everything_back(step: int) -> None:
    for at in range(1, calls_of_a_move(), step):  # from some point on it has ended
        queue = small()
        before, jobs = queue.totals(), queue.jobs()
        ask(queue, 0, "big")
        queue.look()
        count = 0

        def abort(_n: int, queue: Queue = queue, at: int = at) -> None:
            nonlocal count
            count += 1
            if count >= at:
                for server in queue.servers.values():
                    server.before = lambda _n: None
                queue.abort()

        for server in queue.servers.values():
            server.before = abort
        queue.drive()
        assert queue.move is not None
        back = queue.move.stage is Stage.ABORTED
        assert placed(queue) == ["main" if back else "big", "big"], at
        assert (queue.totals(), queue.jobs()) == (before, jobs), at
        assert queue.run_all() == {key: [0] for key in KEYS[:4]}, at


def test_after_an_abort_it_can_go_again(queue: Queue) -> None:
    for _ in range(2):
        ask(queue, 0, "big")
        queue.look()
        queue.look()
        queue.look()
        queue.abort()
        queue.drive()
        assert placed(queue) == ["main", "big"]
    ask(queue, 0, "big")
    queue.drive()
    assert placed(queue) == ["big", "big"]
    assert queue.run_all() == ORDER


def test_limits_keep_their_homes(queue: Queue) -> None:
    names = [f"limit-{n}" for n in range(8)]
    for name in names:
        queue.app.limits.set(Limit(name, rate=5))
    for server in ("big", "main", "big"):
        ask(queue, 0, server)
        queue.drive()
        queue.app.group("k0").status()
        assert sorted(each.name for each in queue.ops.limits.list()) == names
        assert all(queue.app.limits.get(name) is not None for name in names)


def test_jobs_of_every_place_go_along_and_a_hold_too(queue: Queue) -> None:
    keys = {n: next(k for k in KEYS if queue.app.group(k).status().left) for n in (0,)}
    queue.app.enqueue("t", {"key": "d", "n": 9}, partition_key="d", delay_s=60, unique="one")
    for n in range(6):
        queue.app.enqueue("t", {"key": f"v{n}", "n": 0}, partition_key=f"v{n}", pool="video")
        queue.app.enqueue("t", {"key": f"s{n}", "n": 0}, partition_key=f"s{n}", tenant="acme")
    queue.app.tenant("acme").configure(weight=3)
    queue.app.group(keys[0]).hold()
    queue.app.hold(partition=0)
    ask(queue, 0, "big")
    queue.drive()
    queue.ops.route.read()
    assert queue.ops.partition(0).observe().held_ms is not None
    assert queue.app.release(partition=0) >= 1

    ran = queue.run_all()
    others = {key: numbers for key, numbers in ORDER.items() if key != keys[0]}
    assert ran == others | {f"{kind}{n}": [0] for kind in "vs" for n in range(6)}
    assert queue.app.group("d").status().delayed == 1
    assert queue.app.enqueue("t", {}, partition_key="d", unique="one").status == "conflict"


def test_a_hold_while_it_moves_is_of_both_places(queue: Queue) -> None:
    ask(queue, 0, "big")
    queue.look()
    queue.look()
    queue.app.hold(partition=0)
    for number in (0, new_place(0)):
        queue.ops.route.read()
        assert queue.ops.partition(number).observe().held_ms is not None
    queue.drive()
    assert queue.run_all().keys() < ORDER.keys()


def test_jobs_that_run_end_where_they_run(queue: Queue) -> None:
    owned = queue.ops.partition(0).acquire(lease_s=600)
    assert not isinstance(owned, own.Held)
    claims = w.claim(owned, 1)
    ask(queue, 0, "big")
    while queue.look() and not (queue.move and queue.move.reason):
        pass
    assert "waits for running jobs" in (queue.move.reason if queue.move else "")
    w.finish(owned, claims)
    queue.drive()
    assert placed(queue) == ["big", "big"]
