"""Batches and flows go along: each continuation runs once, with all results, wherever it is."""

from __future__ import annotations

from typing import Any

import pytest

from queuepool import After, Flow
from queuepool.errors import MovedError
from queuepool.models.flows import BatchState
from queuepool.protocol import codec
from queuepool.protocol.batches import home_of_batch, membership_of
from queuepool.routing.moves import Stage
from queuepool.verbs.flows import telling
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.unit.coordinator.loop.moving import Died, Queue

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300)]

BATCHES = [f"b{n}" for n in range(4)]


def open_batches(queue: Queue, jobs: int = 3) -> dict[str, str]:
    """Return the batch of each key, whose jobs have keys of their own."""
    names = {}
    for key in BATCHES:
        rows = [{"key": f"{key}-{n}", "n": n} for n in range(jobs)]
        made = queue.app.enqueue_many(
            "t",
            rows,
            partition_key=lambda row: row["key"],
            then=After("then", {"key": key}, partition_key=key),
        )
        names[key] = made.batch.name
    return names


def work(queue: Queue, most: int = 1000) -> list[str]:
    """Run up to so many jobs, as owners would; return the keys of those that ran."""
    queue.ops.route.read()
    ran: list[str] = []
    for place in queue.ops.places():
        if len(ran) >= most:
            break
        owned = place.acquire(lease_s=600)
        assert not isinstance(owned, own.Held)
        w.promote(owned)
        claims = w.claim(owned, min(most - len(ran), 200))
        for job_id, body in zip(claims.ids, claims.bodies, strict=True):
            payload: Any = codec.decode_envelope(body).payload
            ran.append(payload["key"])
            ended = (job_id, codec.read_stamp(body), 600_000, b'"%s"' % payload["key"].encode())
            owned.run(own.finish_stray(owned.ownership, [ended]))
        owned.run(own.release(owned.ownership, drain_lease_ms=0))
    return ran


def tell(queue: Queue) -> None:
    """Let owners tell batches of ends, and look at them, by the route that they know."""
    queue.ops.route.read()
    view = queue.ops.config.topology.view
    for place in queue.ops.places():
        owned = place.acquire(lease_s=600)
        assert not isinstance(owned, own.Held)
        told = []
        for note in owned.run(telling.untold(owned.ownership)).notes:
            job = membership_of(note.job_id)
            assert job is not None
            slot, pool = home_of_batch(job.batch)
            verb = telling.note_ends([(job.batch, job.number, note.end, note.stamp, note.text)])
            home = queue.ops.partition(view.place_of_slot(slot), pool)
            try:
                home.run(flow.by_route(verb, view.version_for(slot)))
            except MovedError:
                continue
            told.append(note.entry)
        owned.run(telling.untold(owned.ownership, told=told))
        owned.run(telling.tend_batches(owned.ownership))
        owned.run(own.release(owned.ownership, drain_lease_ms=0))


def work_to_the_end(queue: Queue) -> list[str]:
    ran: list[str] = []
    for _ in range(12):
        ran += work(queue)
        tell(queue)
    return sorted(ran)


def expected(jobs: int = 3) -> list[str]:
    return sorted([*BATCHES, *(f"{key}-{n}" for key in BATCHES for n in range(jobs))])


def check(queue: Queue, names: dict[str, str], ran: list[str], jobs: int = 3) -> None:
    assert ran == expected(jobs)
    for key, name in names.items():
        batch = queue.app.batch(name)
        assert batch.status().state is BatchState.FIRED
        assert [each.result for each in batch.results()] == [f"{key}-{n}" for n in range(jobs)]


@pytest.mark.parametrize("first", [0, 5])
def test_continuations_run_once_with_all_results(first: int) -> None:
    queue = Queue()
    names = open_batches(queue)
    ran = work(queue, first)
    for count in (4, 1, 3):
        queue.ask(count)
        steps = 0
        while queue.look():
            steps += 1
            tell(queue)
            assert steps < 100
    check(queue, names, sorted([*ran, *work_to_the_end(queue)]))


def test_batches_move_to_another_server() -> None:
    queue = Queue(servers=2)
    names = open_batches(queue)
    ran = work(queue, 5)
    tell(queue)
    queue.ask(1)
    queue.drive()
    check(queue, names, sorted([*ran, *work_to_the_end(queue)]))


def test_batches_are_defined_while_slots_move() -> None:
    queue = Queue()
    queue.ask(4)
    names, more, n = dict[str, str](), True, 0
    while more:
        more = queue.look()
        if not queue.driver.config.topology.view.moving and len(names) < 30:
            key, n = f"new{n}", n + 1
            rows = [{"key": f"{key}-0", "n": 0}]
            then = After("then", {"key": key}, partition_key=key)
            made = queue.app.enqueue_many("t", rows, partition_key=f"{key}-0", then=then)
            names[key] = made.batch.name
    assert len(names) > 2
    assert work_to_the_end(queue) == sorted([*names, *(f"{key}-0" for key in names)])


def test_flows_go_along() -> None:
    queue = Queue()
    made = Flow("nightly", flow_id="1")
    made.add("t", {"key": "one"}, name="one", partition_key="one")
    made.add("t", {"key": "two"}, name="two", after=["one"], partition_key="two")
    made.add("t", {"key": "three"}, name="three", after=["one", "two"], partition_key="three")
    handle = queue.app.enqueue_flow(made)
    ran: list[str] = []
    for count in (4, 1, 3, 2, 5, 1):
        ran += work(queue)
        queue.ask(count)
        while queue.look():
            tell(queue)
    ran += work_to_the_end(queue)
    assert ran == ["one", "two", "three"]
    assert handle.status().state == "done"


def test_a_move_ends_when_all_ends_have_been_told() -> None:
    queue = Queue()
    names = open_batches(queue)
    ran = work(queue)
    queue.ask(1)
    for _ in range(60):
        if not queue.look():
            break
    assert queue.move is not None
    assert "to tell batches of" in queue.move.reason
    tell(queue)
    queue.drive()
    check(queue, names, sorted([*ran, *work_to_the_end(queue)]))


def _calls_of_a_move() -> int:
    queue = Queue()
    open_batches(queue, 1)
    queue.ask(4)
    queue.server.calls = 0
    queue.drive()
    return queue.server.calls


@pytest.mark.parametrize("aborted", [False, True])
@pytest.mark.parametrize("executed", [True, False])
@pytest.mark.parametrize("step", [37, pytest.param(1, marks=pytest.mark.slow)])
def test_a_driver_that_dies_at_any_call_is_replaced_and_each_batch_concludes_once(
    step: int, executed: bool, aborted: bool
) -> None:
    for at in range(1 + executed, _calls_of_a_move() + 1, step):
        queue = Queue()
        names = open_batches(queue, 1)
        queue.ask(4)
        queue.server.calls, queue.server.at, queue.server.executed = 0, at, executed
        with pytest.raises(Died):
            queue.drive()
        queue.elect()
        if aborted and queue.move is not None and queue.move.stage is Stage.MOVING:
            queue.abort()
        queue.drive()
        check(queue, names, work_to_the_end(queue), 1)


@pytest.mark.parametrize("step", [37, pytest.param(1, marks=pytest.mark.slow)])
def test_an_abort_at_any_call_brings_batches_back(step: int) -> None:
    for at in range(1, _calls_of_a_move() - 12, step):
        queue = Queue()
        names = open_batches(queue, 1)
        queue.ask(4)
        queue.look()

        def abort(n: int, queue: Queue = queue, at: int = at) -> None:
            if n >= at:
                queue.server.before = lambda _n: None
                queue.abort()

        queue.server.calls, queue.server.before = 0, abort
        queue.drive()
        check(queue, names, work_to_the_end(queue), 1)


def test_a_cancelled_batch_leaves_nothing_where_slots_move() -> None:
    queue = Queue()
    names = open_batches(queue)
    queue.ask(4)
    for _ in range(3):
        queue.look()
    for name in names.values():
        assert queue.app.batch(name).cancel() == 3
    queue.drive()
    assert work_to_the_end(queue) == []
