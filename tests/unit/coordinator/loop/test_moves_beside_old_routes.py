"""While slots move, producers that know the route of before are turned away only for these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

import pytest

from queuepool.errors import MovedError
from queuepool.routing.moves import Stage
from queuepool.routing.slots import slot_of
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.unit.coordinator.loop.moving import KEYS, ORDER, Queue
from tests.unit.coordinator.loop.test_lost_records import lose, stored

pytestmark = pytest.mark.timeout(60)


class Old:
    """A producer that knows the route as it was, and never hears of another one.

    added, refused: how many jobs of each key were accepted or turned away while slots moved.
    """

    def __init__(self, queue: Queue) -> None:
        record = queue.app.route.read()
        assert record is not None
        self._queue, self._version, self._numbers = queue, record.version, count(1000)
        self.added, self.refused = Counter[str](), Counter[str]()
        self._busy = False

    def add(self, key: str) -> bool:
        """Add a job; return False if that was turned away."""
        number, slot = next(self._numbers), slot_of(key.encode())
        text = w.tail(key.encode(), b'{"key":"%s","n":%d}' % (key.encode(), number), slot=slot)
        runs: list[Any] = [2, key.encode(), 0, 1, b"old-%d" % number, text]
        size = 13 + len(text)
        verb = produce.enqueue(runs, jobs=1, size_bytes=size, version=self._version, **w.LIMITS)
        try:
            status = verb.read(self._queue.server.run_many([(self._place(key), verb)])[0])
        except MovedError:
            return False
        assert status == b"1"
        return True

    def add_at_each_call(self, keys: Iterable[str]) -> None:
        """From now on, add a job of each key before each call of the leader while slots move."""
        chosen = sorted(keys)

        def before(_call: int) -> None:
            if self._busy:
                return
            self._busy = True
            for key in chosen:
                if self._queue.server.data(self._place(key)).counters.get("shut"):
                    (self.added if self.add(key) else self.refused)[key] += 1
            self._busy = False

        self._queue.server.before = before

    def _place(self, key: str) -> bytes:
        return self._queue.ops.config.keyspace.partition(slot_of(key.encode()) % 2)


def leaving(queue: Queue, partitions: int) -> set[str]:
    """Ask for so many partitions; return the keys whose slots are to move for that."""
    queue.ask(partitions)
    assert queue.move is not None
    goal = queue.move.table()
    return {key for key in KEYS if goal[slot_of(key.encode())] != slot_of(key.encode()) % 2}


def drive(queue: Queue) -> None:
    queue.drive()
    queue.server.before = lambda _call: None
    assert queue.move is not None
    assert queue.move.stage is Stage.ENDED


def check_order(queue: Queue, added: Mapping[str, int]) -> None:
    """Run everything; fail unless all that was accepted ran, in its order."""
    for key, ran in queue.run_all().items():
        assert ran[:3] == ORDER[key]
        assert ran == sorted(ran)
        assert len(ran) == 3 + added.get(key, 0)


def test_nobody_is_turned_away_whose_slots_stay(queue: Queue) -> None:
    old, moving = Old(queue), leaving(queue, 3)
    staying = set(KEYS) - moving
    old.add_at_each_call(staying)
    drive(queue)

    assert moving
    assert old.added.keys() == staying
    assert min(old.added.values()) > 10
    assert not old.refused
    assert not any(old.add(key) for key in KEYS), "the move has ended: all read the route"
    check_order(queue, old.added)


def test_who_adds_to_slots_that_leave_is_turned_away_from_then_on(queue: Queue) -> None:
    old, moving = Old(queue), leaving(queue, 4)
    old.add_at_each_call(moving)
    drive(queue)

    assert old.added.keys() == old.refused.keys() == moving
    check_order(queue, old.added)


def test_a_move_that_goes_back_turns_away_only_for_its_own_slots(queue: Queue) -> None:
    old, moving = Old(queue), leaving(queue, 4)
    old.add_at_each_call(KEYS)
    while not old.refused:
        assert queue.look()
    queue.abort()
    queue.drive()
    queue.server.before = lambda _call: None

    assert old.refused.keys() <= moving
    check_order(queue, old.added)


def test_who_leads_next_knows_of_no_slots_that_closed_before(queue: Queue) -> None:
    old, moving = Old(queue), leaving(queue, 4)
    old.add_at_each_call(moving)
    while not old.refused:
        assert queue.look()
    gone = set(old.refused)
    queue.elect()
    old.add_at_each_call(KEYS)
    old.refused.clear()
    drive(queue)

    assert old.refused.keys() == set(KEYS), "each place, once it was told"
    assert gone <= old.refused.keys()
    check_order(queue, old.added)


def test_a_place_that_fell_back_does_not_pass_for_one_that_knows(queue: Queue) -> None:
    """A failover has lost that slots closed there; the leader tells it of other slots next."""
    old, moving = Old(queue), leaving(queue, 6)
    place = queue.server.data(queue.ops.config.keyspace.partition(0))
    while not place.closings:
        assert queue.look()
    lost = dict(place.closings)
    while lost.keys() == place.closings.keys():
        assert queue.look()
    closed = place.closings.keys() - lost.keys()
    gone = next(key for key in sorted(moving) if b"%03x" % slot_of(key.encode()) in closed)
    assert not old.add(gone)
    while queue.driver.config.topology.view.moving:
        assert queue.look()

    place.counters["route"], place.closings = lost[b"to"], dict(lost)
    while queue.tell_nobody(0) == lost[b"to"]:
        assert queue.look()
    assert queue.move is not None
    assert queue.move.under_way
    assert not old.add(gone)
    drive(queue)
    check_order(queue, old.added)


def test_versions_that_the_record_has_lost_do_not_pass_for_those_that_it_has_now(
    queue: Queue,
) -> None:
    """Its server fell back to before a move, which producers and partitions know; a new leader."""
    going = leaving(queue, 4)
    queue.drive()
    queue.ask(2)
    record = stored(queue)
    queue.drive()
    old, key = Old(queue), min(going)
    home, version = slot_of(key.encode()) % 2, queue.app.config.topology.view.version
    lose(queue, then=record)
    queue.elect()

    assert old.add(key), "nobody has noticed anything yet"
    told = 0
    while queue.look():
        if queue.tell_nobody(home) > version:
            told += 1
            assert not old.add(key)
    assert told > 2
