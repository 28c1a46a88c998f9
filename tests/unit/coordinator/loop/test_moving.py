"""The leader moves slots: nothing is lost or doubled, wherever a driver dies or is told to stop."""

from __future__ import annotations

from contextlib import suppress
from itertools import combinations
from typing import Any

import pytest

from queuepool import Limit
from queuepool.errors import MovedError, UnavailableError
from queuepool.routing.former import KEPT_S
from queuepool.routing.moves import Stage, asked_to
from queuepool.routing.slots import slot_of
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import tenants
from queuepool.verbs.producer import verbs as produce
from queuepool.verbs.producer.verbs import ANY_VERSION
from tests.contract import world as w
from tests.unit.coordinator.loop.moving import KEYS, ORDER, Died, Queue

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300)]


def test_partitions_grow_and_shrink_and_jobs_keep_their_order(queue: Queue) -> None:
    before = queue.totals()
    for count in (4, 1, 3):
        queue.ask(count)
        queue.drive()

        assert queue.move is not None
        assert (queue.move.stage, queue.move.partitions) == (Stage.ENDED, count)
        jobs = queue.jobs()
        assert len(jobs) == count
        assert all(jobs.values()), jobs
        assert sum(jobs.values()) == 3 * len(KEYS)
        assert queue.totals() == before
    assert queue.run_all() == ORDER


def test_a_job_that_is_in_two_partitions_may_be_changed_in_neither(queue: Queue) -> None:
    copied: dict[bytes, bool] = {}

    def look(_call: int) -> None:
        keys = map(queue.ops.config.keyspace.partition, range(4))
        for one, other in combinations(map(queue.server.data, keys), 2):
            for job_id in one.jobs.keys() & other.jobs.keys():
                closed = (p.is_closed(p.jobs[job_id]) for p in (one, other))
                copied[job_id] = copied.get(job_id, True) and all(closed)

    queue.server.before = look
    queue.ask(4)
    queue.drive()
    assert len(copied) > 3
    assert all(copied.values())


def test_single_slots_move_and_all_others_stay(queue: Queue) -> None:
    before, slots = queue.totals(), {key: slot_of(key.encode()) for key in KEYS}
    here = [key for key in KEYS if slots[key] % 2 == 0]
    queue.ask_slots({slots[here[0]]: 1, slots[here[1]]: 1})
    assert queue.move is not None
    said = sorted(slots[key] for key in here[:2])
    assert queue.move.text == f"of slots {said[0]},{said[1]} to partition 1"
    queue.drive()

    assert queue.move.stage is Stage.ENDED
    queue.app.route.read()
    moved = {key: queue.app.group(key).partition.number for key in KEYS}
    assert moved == {key: slots[key] % 2 for key in KEYS} | {here[0]: 1, here[1]: 1}
    assert queue.jobs() == {0: 3 * (len(here) - 2), 1: 3 * (len(KEYS) - len(here) + 2)}
    assert queue.totals() == before
    assert queue.run_all() == ORDER


def test_a_move_of_slots_that_is_aborted_goes_back(queue: Queue) -> None:
    before, slots = queue.jobs(), [slot_of(key.encode()) for key in KEYS]
    queue.ask_slots({slot: 1 for slot in slots if slot % 2 == 0})
    for _ in range(3):
        queue.look()
    queue.abort()
    queue.drive()

    assert queue.move is not None
    assert (queue.move.stage, queue.jobs()) == (Stage.ABORTED, before)
    assert queue.move.text.startswith("of slots")
    assert queue.run_all() == ORDER


def test_afterwards_partitions_can_be_evened_out_or_made_more(queue: Queue) -> None:
    slots = [slot_of(key.encode()) for key in KEYS]
    queue.ask_slots({slot: 1 for slot in slots if slot % 2 == 0})
    queue.drive()
    assert queue.jobs()[0] == 0
    queue.ask(2)
    queue.drive()
    assert all(queue.jobs().values())

    queue.ask(4)
    queue.drive()
    assert queue.run_all() == ORDER


def test_a_producer_with_an_old_route_finds_its_way(queue: Queue) -> None:
    old = queue.pool()
    old.group("k0").status()
    queue.ask(4)
    queue.drive()

    queue.app.enqueue_many("t", [{"key": "k0", "n": 3}], partition_key="k0")
    old.enqueue_many("t", [{"key": "k0", "n": 4}], partition_key="k0")
    assert queue.run_all() == ORDER | {"k0": [0, 1, 2, 3, 4]}


def _small() -> Queue:
    queue = Queue()
    queue.fill(1, KEYS[:4])
    queue.run_all()  # so that totals are to be carried, too
    queue.fill(1, KEYS[:4])
    return queue


def _calls_of_a_move() -> int:
    queue = _small()
    queue.ask(4)
    queue.server.calls = 0
    queue.drive()
    return queue.server.calls


@pytest.mark.parametrize("aborted", [False, True])
@pytest.mark.parametrize("executed", [True, False])
@pytest.mark.parametrize("step", [53, pytest.param(1, marks=pytest.mark.slow)])
def test_a_driver_that_dies_at_any_call_is_replaced_and_nothing_is_lost_or_doubled(
    step: int, executed: bool, aborted: bool
) -> None:
    for at in range(1 + executed, _calls_of_a_move() + 1, step):
        queue = _small()
        before = queue.totals()
        queue.ask(4)
        queue.server.calls, queue.server.at, queue.server.executed = 0, at, executed
        with pytest.raises(Died):
            queue.drive()
        queue.elect()
        if aborted and queue.move is not None and queue.move.stage is Stage.MOVING:
            queue.abort()
        queue.drive()
        assert queue.totals() == before, at
        assert sum(queue.jobs().values()) == 4, at
        assert queue.run_all() == {key: [0] for key in KEYS[:4]}, at


@pytest.mark.parametrize("step", [53, pytest.param(1, marks=pytest.mark.slow)])
def test_an_abort_at_any_call_brings_everything_back(step: int) -> None:
    for at in range(1, _calls_of_a_move() - 12, step):
        queue = _small()
        before, jobs = queue.totals(), queue.jobs()
        queue.ask(4)
        queue.look()

        def abort(n: int, queue: Queue = queue, at: int = at) -> None:
            if n >= at:
                queue.server.before = lambda _n: None
                queue.abort()

        queue.server.calls, queue.server.before = 0, abort
        queue.drive()
        assert queue.move is not None
        if queue.move.stage is Stage.ABORTED:
            assert queue.jobs() == jobs, at
        assert queue.totals() == before, at
        assert queue.run_all() == {key: [0] for key in KEYS[:4]}, at


def test_groups_with_running_jobs_go_when_these_have_ended(queue: Queue) -> None:
    owned = queue.ops.partition(1).acquire(lease_s=600)
    assert not isinstance(owned, own.Held)
    claims = w.claim(owned, 1)
    queue.ask(1)
    while queue.look() and not (queue.move and queue.move.reason):
        pass

    assert queue.move is not None
    assert "waits for running jobs" in queue.move.reason
    assert queue.jobs()[1] < 4, "others do not wait"
    w.finish(owned, claims)
    queue.drive()
    assert sum(queue.jobs().values()) == 3 * len(KEYS) - 1


@pytest.mark.parametrize("own_id", [True, False])
def test_a_job_that_is_in_two_places_is_not_cancelled_in_one(
    own_id: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, tried = Queue(), 0
    handles = [
        queue.app.enqueue(
            "t", {"key": key, "n": 0}, partition_key=key, job_id=f"own-{key}" if own_id else None
        )
        for key in KEYS
    ]
    run_many = queue.server.run_many

    def cancel(calls: Any) -> Any:
        nonlocal tried
        if any(verb.script in ("adopt", "forget") for _, verb in calls):
            monkeypatch.undo()
            for handle in handles:
                with suppress(MovedError):
                    queue.app.cancel(handle.job_id)
                with suppress(MovedError):
                    handle.cancel()
                tried += 1
            monkeypatch.setattr(queue.server, "run_many", cancel)
        return run_many(calls)

    monkeypatch.setattr(queue.server, "run_many", cancel)
    queue.ask(4)
    queue.drive()
    monkeypatch.undo()
    assert tried >= len(KEYS)
    states = {key: queue.app.group(key).status() for key in KEYS}
    ran = queue.run_all()
    for key, status in states.items():
        assert (status.total, status.left + status.cancelled) == (1, 1), key
        assert ran.get(key, []) == [0] * status.left, key


def test_limits_keep_their_homes(queue: Queue) -> None:
    names = [f"limit-{n}" for n in range(8)]
    for name in names:
        queue.app.limits.set(Limit(name, rate=5))
    queue.ask(3)
    queue.drive()
    queue.ask(1)
    queue.drive()

    queue.app.group("k0").status()
    assert sorted(each.name for each in queue.ops.limits.list()) == names
    assert all(queue.app.limits.get(name) is not None for name in names)


def test_jobs_of_every_place_go_along(queue: Queue) -> None:
    queue.app.enqueue("t", {"key": "k1", "n": 9}, partition_key="k1", delay_s=60, unique="one")
    queue.app.enqueue("t", {"key": "v", "n": 0}, partition_key="v", pool="video")
    queue.app.enqueue("t", {"key": "s", "n": 0}, partition_key="s", tenant="acme")
    queue.app.group("k2").hold()
    queue.app.group("k3").configure(serial=True)
    queue.ask(1)
    queue.drive()

    ran = queue.run_all()
    others = {key: numbers for key, numbers in ORDER.items() if key != "k2"}
    assert ran == others | {"v": [0], "s": [0]}
    assert queue.app.group("k2").status().left == 3
    assert queue.app.group("k1").status().delayed == 1
    assert queue.app.enqueue("t", {}, partition_key="k1", unique="one").status == "conflict"


def test_new_partitions_know_the_settings_of_tenants(queue: Queue) -> None:
    queue.app.tenant("acme").configure(weight=3, max_running=2)
    queue.app.tenant("other").hold()
    queue.ask(4)
    queue.drive()

    queue.ops.route.read()
    for number in (2, 3):
        place = queue.ops.partition(number)
        acme = place.run(tenants.find(b"acme"))
        assert (acme.weight, acme.max_running, acme.held_ms) == (3, 2, None)
        assert place.run(tenants.find(b"other")).held_ms


def test_what_came_by_no_route_is_found_where_it_is(queue: Queue) -> None:
    queue.ask(4)
    queue.drive()
    queue.ops.route.read()
    route = queue.ops.producer.route
    away = next(key for key in KEYS if route(key).partition == 2)
    slot = route(away).slot
    text = w.tail(away.encode(), b'{"key":"%s","n":3}' % away.encode(), slot)
    runs: list[Any] = [2, away.encode(), 0, 1, b"late", text]
    size = 13 + len(text)
    late = produce.enqueue(runs, jobs=1, size_bytes=size, version=ANY_VERSION, **w.LIMITS)
    queue.ops.partition(0).run(late)
    assert queue.app.group(away).status().total == 3

    queue.ask(1)
    queue.drive()
    queue.ask(2)
    queue.drive()
    assert queue.app.group(away).status().total == 4


def test_a_lost_record_that_comes_back_older_catches_up(queue: Queue) -> None:
    queue.ask(4)
    queue.look()
    for place in queue.driver.places():
        place.run(lead.turn_away(9))
    queue.drive()

    assert queue.run_all() == ORDER


def test_a_server_that_is_away_stops_the_move_until_it_is_back() -> None:
    queue = Queue(servers=2)
    queue.fill()
    before, away = queue.totals(), True

    def refuse(_n: int) -> None:
        if away:
            raise UnavailableError("big is away")

    queue.ask(1)
    queue.look()
    queue.servers["big"].before = refuse
    for _ in range(5):
        queue.look()
    assert queue.move is not None
    assert "big is away" in queue.move.reason

    away = False
    queue.drive()
    assert queue.move is not None
    assert queue.move.stage is Stage.ENDED
    assert queue.totals() == before
    assert queue.run_all() == ORDER


def test_a_server_that_goes_away_at_any_call_loses_nothing() -> None:
    for at in range(2, 60, 9):
        queue = Queue(servers=2)
        queue.fill(1, KEYS[:4])
        before, gone = queue.totals(), [3]

        def refuse(n: int, at: int = at, gone: list[int] = gone) -> None:
            if n >= at and gone[0]:
                gone[0] -= 1
                raise UnavailableError("big is away")

        queue.ask(1)
        queue.servers["big"].calls, queue.servers["big"].before = 0, refuse
        queue.drive()
        gone[0] = 0  # a move may end before it has been away as often
        assert queue.totals() == before, at
        assert queue.run_all() == {key: [0] for key in KEYS[:4]}, at


def test_a_server_that_is_away_while_nothing_moves_is_told_by_others(
    queue: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_n: int) -> None:
        raise UnavailableError("main is away")

    queue.server.before = refuse
    queue.look()
    assert not caplog.records


def test_a_move_that_cannot_be_read_is_told_once_and_moves_nothing(
    queue: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    record = queue.ops.route.read()
    assert record is not None
    server, key = queue.ops.system
    server.run(key, [operate.change_route(record.version, "x", {"move": "{"})])
    for _ in range(3):
        queue.mover.look()

    assert [r.message for r in caplog.records if "cannot be read" in r.message]
    assert len(caplog.records) == 1
    assert queue.run_all() == ORDER


@pytest.mark.parametrize("way", ["fewer partitions", "another server"])
def test_a_producer_with_an_old_route_finds_its_way_though_the_server_it_knows_is_gone(
    way: str,
) -> None:
    queue = Queue(servers=2)
    queue.fill()
    old, other = queue.pool(retry_for_s=0.5), queue.pool(retry_for_s=0.5)
    for pool in (old, other):
        pool.group("k1").status()
    view = queue.ops.config.topology.view
    there = next(key for key in KEYS if view.place_of_slot(slot_of(key.encode())) == 1)
    if way == "fewer partitions":
        queue.ask(1)
    else:
        queue.change(lambda _: asked_to(view, {1: "main"}, at_ms=1))
    queue.drive()
    queue.now_s += KEPT_S + 1
    for _ in range(2):
        queue.look()

    def refuse(_n: int) -> None:
        raise UnavailableError("it is gone for good")

    queue.servers["big"].before = refuse
    assert old.enqueue("t", {"key": there, "n": 3}, partition_key=there).status == "accepted"
    assert other.group(there).status().total == 4
