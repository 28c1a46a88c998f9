"""Nothing is copied from or to a partition whose consumer is too old to leave copied jobs alone."""

from __future__ import annotations

from typing import Any

import pytest

from queuepool.partitions.partition import OwnedPartition
from queuepool.routing.moves import Stage
from queuepool.routing.ranges import read_slots
from queuepool.verbs import Verb
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from queuepool.verbs.producer.verbs import ANY_VERSION
from tests.contract import world as w
from tests.unit.coordinator.loop.moving import KEYS, ORDER, Died, Queue

pytestmark = pytest.mark.timeout(120)


def old_owner(queue: Queue, number: int, *, host: str = "old:1") -> OwnedPartition:
    """Let a consumer of an earlier release have a partition."""
    place = queue.ops.partition(number)
    verb = own.acquire(number, f"old{number}", lease_ms=600_000, host=host)
    acquired = place.run(Verb(verb.script, verb.args[:6], verb.read))
    assert isinstance(acquired, own.Acquired)
    return OwnedPartition(place, acquired)


def leave(owned: OwnedPartition, *, drain: bool = False) -> None:
    owned.run(own.release(owned.ownership, drain_lease_ms=60_000 * drain))


def look(queue: Queue, times: int = 5) -> None:
    for _ in range(times):
        assert queue.look()


def stands(queue: Queue) -> tuple[Stage, str]:
    move = queue.move
    assert move is not None
    return move.stage, move.reason


def test_a_move_waits_for_an_old_consumer_to_be_replaced_says_so_once_and_goes_on(
    queue: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    before = queue.totals()
    old = old_owner(queue, 0)
    leave(old_owner(queue, 1))
    queue.ask_slots({0: 1, 2: 1, 4: 1})
    look(queue)

    assert stands(queue) == (
        Stage.MOVING,
        "waits for consumers of an earlier release to be replaced, as they may end jobs that are "
        "being copied: partition 0 ('old:1')",
    )
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    assert "waits for consumers of an earlier release" in caplog.text
    leave(old)
    assert not isinstance(queue.ops.partition(0).acquire(lease_s=600), own.Held)
    queue.drive()
    assert stands(queue) == (Stage.ENDED, "")
    assert queue.totals() == before


def test_waiting_costs_no_look_at_jobs(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    old_owner(queue, 0)
    queue.ask(1)
    while queue.look() and not stands(queue)[1]:
        pass
    run_many, scripts = queue.server.run_many, set[str]()

    def note(calls: Any) -> Any:
        scripts.update(verb.script for _, verb in calls)
        return run_many(calls)

    monkeypatch.setattr(queue.server, "run_many", note)
    monkeypatch.setattr(queue.server, "run", lambda key, verbs: note([(key, v) for v in verbs]))
    look(queue)
    assert scripts == {"", "pool_names", "observe", "turn_away", "thaw"}


def test_jobs_run_as_ever_while_a_move_waits(queue: Queue) -> None:
    running = queue.ops.partition(1).acquire(lease_s=600)
    assert not isinstance(running, own.Held)
    claims = w.claim(running, 1)
    queue.ask(1)
    while queue.look() and not stands(queue)[1]:
        pass
    assert "running jobs" in stands(queue)[1], "its group is kept from starting more"
    leave(running, drain=True)
    old = old_owner(queue, 1)
    look(queue, 2)
    assert "earlier release" in stands(queue)[1]
    assert len(w.claim(old, 200).ids) == queue.jobs()[1] - len(claims.ids) > 0


@pytest.mark.parametrize("number", [2, 3])
def test_slots_go_between_other_partitions_meanwhile(queue: Queue, number: int) -> None:
    queue.ask(4)
    queue.look()
    queue.ops.route.read()
    old = old_owner(queue, number)
    look(queue, 12)

    assert queue.jobs()[number] == 0
    assert queue.jobs()[5 - number] > 0
    assert f"partition {number}" in stands(queue)[1]
    leave(old)
    queue.drive()
    assert queue.run_all() == ORDER


def test_a_former_owner_that_drains_counts(queue: Queue) -> None:
    old = old_owner(queue, 0)
    claims = w.claim(old, 1)
    leave(old, drain=True)
    queue.ask_slots(dict.fromkeys(range(0, 4096, 2), 1))
    look(queue)
    assert "partition 0 (a former owner, which drains)" in stands(queue)[1]
    assert not isinstance(queue.ops.partition(0).acquire(lease_s=600), own.Held)
    look(queue)
    assert "earlier release" in stands(queue)[1]

    w.finish(old, claims)
    leave(old)
    queue.drive()
    assert stands(queue) == (Stage.ENDED, "")


@pytest.mark.parametrize(("after_s", "waits"), [(640, True), (670, False)])
def test_one_that_is_silent_counts_for_a_minute_since_it_may_come_back(
    queue: Queue, after_s: float, waits: bool
) -> None:
    old_owner(queue, 0)
    queue.ask(1)
    queue.look()
    queue.server.fake.advance(after_s)
    if waits:
        look(queue)
        assert "partition 0" in stands(queue)[1]
    else:
        queue.drive()
        assert stands(queue) == (Stage.ENDED, "")


def closed(queue: Queue) -> None:
    """Go on until the next slots are closed."""
    while True:
        look(queue, 1)
        record = queue.ops.route.read()
        if record is not None and record.moving:
            return


@pytest.mark.parametrize("number", [0, 1])
def test_slots_that_are_closed_open_again_if_an_old_consumer_comes_before_they_are_copied(
    queue: Queue, number: int
) -> None:
    queue.ask(1)
    closed(queue)
    old = old_owner(queue, number)
    look(queue, 3)

    record = queue.ops.route.read()
    assert record is not None
    assert record.moving == ""
    assert f"partition {number} ('old:1')" in stands(queue)[1]
    claims = w.claim(old, 200)
    assert len(claims.ids) == queue.jobs()[number] > 0
    w.finish(old, claims)
    leave(old)
    queue.drive()
    assert stands(queue) == (Stage.ENDED, "")


@pytest.mark.parametrize("aborted", [False, True])
@pytest.mark.parametrize("last", ["forget", "change_route"])
def test_what_is_half_copied_goes_on_though_an_old_consumer_has_come(
    queue: Queue, last: str, aborted: bool
) -> None:
    jobs = queue.jobs()
    queue.ask(1)
    closed(queue)
    run_many = queue.server.run_many

    def die(calls: Any) -> Any:
        if any(verb.script == last for _, verb in calls):
            raise Died
        return run_many(calls)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(queue.server, "run_many", die)
        patched.setattr(queue.server, "run", lambda key, verbs: die([(key, v) for v in verbs]))
        with pytest.raises(Died):
            look(queue)
    before = queue.ops.route.read()
    assert before is not None
    slots = before.moving
    queue.elect()
    old = old_owner(queue, 1)
    if aborted:
        queue.abort()
    for _ in range(5):
        queue.look()

    record = queue.ops.route.read()
    assert (record is not None and record.moving) == ""
    place = queue.ops.config.topology.view.place_of_slot
    assert {place(slot) for slot in read_slots(slots)} == {1 if aborted else 0}
    assert queue.jobs() == ({0: jobs[0], 1: jobs[1]} if aborted else {0: sum(jobs.values())})
    leave(old)
    queue.drive()
    assert queue.run_all() == ORDER


def test_an_abort_waits_too_once_slots_have_arrived(queue: Queue) -> None:
    queue.ask(4)
    queue.look()
    while not sum(list(queue.jobs().values())[2:]):
        look(queue, 1)
    queue.ops.route.read()
    old = [old_owner(queue, number) for number in (2, 3)]
    queue.abort()
    look(queue)
    assert stands(queue)[0] is Stage.ABORTING
    assert "earlier release" in stands(queue)[1]

    for each in old:
        leave(each)
    queue.drive()
    assert stands(queue) == (Stage.ABORTED, "")
    assert queue.run_all() == ORDER


def test_a_move_that_waits_is_aborted_at_once(queue: Queue) -> None:
    old_owner(queue, 0)
    queue.ask(1)
    look(queue)
    queue.abort()
    assert queue.drive() < 5
    assert stands(queue) == (Stage.ABORTED, "")


def test_jobs_that_went_astray_wait_as_well(queue: Queue) -> None:
    queue.ask(3)
    queue.drive()
    queue.ops.route.read()
    route = queue.ops.producer.route
    key = next(key for key in KEYS if route(key).partition == 2)
    text = w.tail(key.encode(), b'{"key":"%s","n":3}' % key.encode(), route(key).slot)
    runs: list[Any] = [2, key.encode(), 0, 1, b"late", text]
    size = 13 + len(text)
    late = produce.enqueue(runs, jobs=1, size_bytes=size, version=ANY_VERSION, **w.LIMITS)
    queue.ops.partition(0).run(late)

    old = old_owner(queue, 2)
    queue.ask_slots({0: 0})
    look(queue)
    assert "partition 2 ('old:1')" in stands(queue)[1]
    leave(old)
    queue.drive()
    assert queue.app.group(key).status().total == 4
