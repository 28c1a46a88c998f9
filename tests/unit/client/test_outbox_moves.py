"""Rows of an outbox whose slots move to another partition while they wait: none is lost.

Those of a key keep their order.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from queuepool import InvalidInputError, Outbox, QueuePool, UnavailableError
from queuepool.client.outbox.databases import create, open_database
from queuepool.client.outbox.relay import Look, Relay
from queuepool.client.outbox.rows import Row
from queuepool.client.outbox.schema import TABLE
from queuepool.models.places import new_place
from tests.relays import look_and_die
from tests.unit.client.moving import Space, of


class Shop:
    """An application with a database, and partitions that hold few jobs."""

    def __init__(self, path: Path) -> None:
        path.touch()
        self.space = Space(2)
        self.pool = self.space.pool(2, max_depth=3)
        self.database = open_database(f"sqlite:///{path}")
        create(self.database, TABLE)
        self.connection = sqlite3.connect(path)
        self.outbox = Outbox(self.pool)
        numbers = {self.pool.group(f"k{n}").partition.number: f"k{n}" for n in range(30)}
        self.keys = [numbers[0], numbers[1]]
        self._times = count(1000)

    def relay(self, pool: QueuePool | None = None) -> Relay:
        """Return another relay."""
        return Relay(pool or self.pool, self.database, now_ms=lambda: next(self._times))

    def add(self, key: str, jobs: int = 1) -> list[str]:
        """Add jobs, in a transaction of their own."""
        ids = [self.outbox.add(self.connection, "t", {}, partition_key=key) for _ in range(jobs)]
        self.connection.commit()
        return list(map(str, ids))

    def fill(self, partition: int) -> list[str]:
        """Let a partition have no room; returns the ids of what fills it."""
        results = self.pool.enqueue_many("t", [{}] * 3, partition_key=self.keys[partition])
        return [str(each.job_id) for each in results]

    def move(self, partition: int, to: int) -> None:
        """Move the slot of a key, of which the relay hears when it sends the next row of it."""
        self.space.move(of(self.keys[partition]), to)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path / "shop.db")
    yield made
    made.connection.close()
    made.database.close()


def looks(relay: Relay, most: int = 5) -> Look:
    """Look until nothing moves; return the last look."""
    for _ in range(most):
        found = relay.look()
        if not (found.moved or found.kept or found.again):
            break
    return found


def those(ids: list[str], found: list[str]) -> list[str]:
    """Return those of the ids that were found, in the order in which they were."""
    return [job_id for job_id in found if job_id in ids]


def test_a_row_that_waited_for_a_full_partition_is_not_lost_when_its_slot_moves(
    shop: Shop,
) -> None:
    shop.fill(0)
    relay = shop.relay()
    [waits] = shop.add(shop.keys[0])
    assert relay.look().kept == 1
    [other] = shop.add(shop.keys[1])
    assert relay.look().moved == 1  # a later delivery, at the partition to which the slot moves

    shop.move(0, to=1)
    [last] = shop.add(shop.keys[0])
    looks(relay)

    assert shop.space.ids(1) == [other, waits, last]
    assert relay.waiting() == (0, 0)


def test_what_was_sent_before_its_slot_moved_is_not_sent_again(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay = shop.relay()
    shop.add(shop.keys[0])
    look_and_die(relay, monkeypatch)
    sent = shop.space.ids(0)
    shop.move(0, to=1)
    shop.pool.route.follow()

    assert looks(shop.relay()).kept == 0
    assert (len(sent), shop.space.ids(1)) == (1, [])
    assert relay.waiting() == (0, 0)


def test_rows_of_a_key_keep_their_order_when_it_moves_during_a_look(shop: Shop) -> None:
    shop.fill(0)
    relay = shop.relay()
    ids = shop.add(shop.keys[0], 2)
    assert relay.look().kept == 2

    def move(script: str) -> None:
        if script == "relay":
            shop.space.before = lambda _script: None
            ids.extend(shop.add(shop.keys[0]))
            shop.move(0, to=1)

    shop.space.before = move
    looks(relay)

    assert shop.space.ids(1) == ids


def test_a_delivery_of_which_only_a_part_has_moved_is_split(shop: Shop) -> None:
    there = [n for n in range(99) if shop.pool.group(f"k{n}").partition.number == 0]
    keys = [f"k{n}" for n in there[:2]]
    filled = shop.fill(0)
    relay = shop.relay()
    stays, moves = (shop.add(key)[0] for key in keys)
    assert relay.look().kept == 2

    shop.space.move(of(keys[1]), 1)
    shop.pool.route.follow()
    assert relay.look().kept == 1
    for job_id in filled:
        shop.pool.cancel(job_id, partition_key=shop.keys[0])
    looks(relay)

    assert shop.space.ids(1) == [moves]
    assert stays in shop.space.ids(0)


def test_rows_wait_while_nobody_can_say_whether_they_were_sent(shop: Shop) -> None:
    shop.fill(0)
    relay = shop.relay()
    [waits] = shop.add(shop.keys[0])
    relay.look()
    shop.move(0, to=1)
    shop.pool.route.follow()

    def away(script: str) -> None:
        if script == "relayed":
            raise UnavailableError("away")

    shop.space.before = away
    found = relay.look()
    assert (found.moved, found.kept) == (0, 1)
    assert "away" in str(found.problems)
    shop.space.before = lambda _script: None
    looks(relay)

    assert shop.space.ids(1) == [waits]


def test_a_relay_of_an_earlier_time_sends_nothing_twice(shop: Shop) -> None:
    """It was frozen when it had read its rows, and goes on when they were sent elsewhere."""
    shop.fill(0)
    frozen, other = shop.relay(shop.space.pool(2, max_depth=3)), shop.relay()
    [waits] = shop.add(shop.keys[0])
    assert frozen.look().kept == 1
    read = frozen._numbers.page(after=0)
    shop.move(0, to=1)
    looks(other)
    assert shop.space.ids(1) == [waits]

    frozen._move(read, Look())
    frozen._move(read, Look())
    looks(frozen)

    assert shop.space.ids(1) == [waits]
    assert len(shop.space.ids(0)) == 3


@pytest.mark.parametrize("on_the_way", [False, True])
def test_rows_of_several_deliveries_keep_their_order_when_their_key_moves(
    shop: Shop, on_the_way: bool
) -> None:
    relay = shop.relay(shop.space.pool(2))
    shop.add(shop.keys[1])
    relay.look()
    ids = shop.add(shop.keys[0], 450)

    if on_the_way:
        shop.space.move(of(shop.keys[0]), 1, on_the_way=True)
        assert relay.look().kept == 450
    shop.move(0, to=1)  # what the first delivery is told, the second one knows
    looks(relay)

    assert those(ids, shop.space.ids(1)) == ids


def test_rows_that_stay_keep_their_order_when_a_delivery_is_split(shop: Shop) -> None:
    there = [n for n in range(99) if shop.pool.group(f"k{n}").partition.number == 0]
    stays, moves = (f"k{n}" for n in there[:2])
    relay = shop.relay(shop.space.pool(2))
    shop.add(shop.keys[1])
    relay.look()
    ids = shop.add(stays, 199)
    [moved] = shop.add(moves)  # the last row of the first delivery
    ids += shop.add(stays, 50)

    shop.space.move(of(moves), 1)
    looks(relay)

    assert those(ids, shop.space.ids(0)) == ids
    assert moved in shop.space.ids(1)


def test_rows_keep_their_order_when_the_route_is_read_between_two_deliveries(shop: Shop) -> None:
    """Another thread of the relay reads it, when the first delivery waits for room already."""
    shop.fill(0)
    pool = shop.space.pool(2, max_depth=3)
    relay = shop.relay(pool)
    waits = shop.add(shop.keys[0])
    assert relay.look().kept == 1
    other = shop.add(shop.keys[1])
    waits += shop.add(shop.keys[0])
    sent = []

    def notice(script: str) -> None:
        sent.append(script)
        if sent.count("relay") == 2:  # the one between them
            shop.space.before = lambda _script: None
            shop.move(0, to=1)
            pool.route.follow()

    shop.space.before = notice
    looks(relay)

    assert shop.space.ids(1) == other + waits


def test_rows_keep_their_order_when_their_key_moves_back_before_all_are_sent(shop: Shop) -> None:
    """The server is away when the first delivery has new numbers; another relay goes on."""
    filled = [shop.fill(0), shop.fill(1)]
    relay = shop.relay()
    first = shop.add(shop.keys[0])
    relay.look()
    second = shop.add(shop.keys[0])
    assert relay.look().kept == 2
    shop.move(0, to=1)
    shop.pool.route.follow()

    def away(script: str) -> None:
        if script == "relayed" and "relayed" in shop.space.asked:
            raise UnavailableError("away")

    shop.space.before = away
    relay.look()
    shop.space.before = lambda _script: None
    shop.move(0, to=0)
    shop.pool.route.follow()
    for partition in (0, 1):
        for job_id in filled[partition]:
            shop.pool.cancel(job_id, partition_key=shop.keys[partition])
    looks(shop.relay())

    assert those(first + second, shop.space.ids(0)) == first + second


def test_later_rows_of_a_key_wait_behind_those_of_which_nobody_can_say_whether_they_were_sent(
    shop: Shop,
) -> None:
    shop.fill(0)
    relay = shop.relay()
    ids = shop.add(shop.keys[0])
    relay.look()
    shop.move(0, to=1)
    shop.pool.route.follow()
    ids += shop.add(shop.keys[0])

    def away(script: str) -> None:
        if script == "relayed":
            raise UnavailableError("away")

    shop.space.before = away
    for _ in range(2):
        assert relay.look().kept == 2
    assert shop.space.ids(1) == []
    shop.space.before = lambda _script: None
    looks(relay)

    assert shop.space.ids(1) == ids


def test_a_delivery_that_may_be_there_is_not_overtaken_by_rows_that_stay(shop: Shop) -> None:
    """Or its partition, asked for its number, would take that of the later one for proof."""
    there = [n for n in range(99) if shop.pool.group(f"k{n}").partition.number == 0]
    moves, stays = (f"k{n}" for n in there[:2])
    filled = shop.fill(0)
    relay = shop.relay()
    [first] = shop.add(moves)
    relay.look()
    [second] = shop.add(stays)
    assert relay.look().kept == 2
    shop.space.move(of(moves), 1)
    shop.pool.route.follow()
    for job_id in filled:
        shop.pool.cancel(job_id, partition_key=shop.keys[0])

    def away(script: str) -> None:
        if script == "relayed":
            raise UnavailableError("away")

    shop.space.before = away
    assert relay.look().kept == 2
    shop.space.before = lambda _script: None
    looks(relay)

    assert shop.space.ids(1) == [first]
    assert second in shop.space.ids(0)


def test_rows_keep_their_order_when_a_delivery_is_refused_and_tried_row_by_row(shop: Shop) -> None:
    relay = shop.relay(shop.space.pool(2))
    ids = shop.add(shop.keys[0], 450)

    def refuse(script: str) -> None:
        if script == "relay":
            shop.space.before = lambda _script: None
            raise InvalidInputError("one of them is refused")

    shop.space.before = refuse
    looks(relay)

    assert shop.space.ids(0) == ids


def test_only_the_pool_of_a_delivery_gets_new_numbers_with_it(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its partition was not asked whether it has deliveries of other pools."""
    shop.fill(0)
    relay = shop.relay()
    [waits] = shop.add(shop.keys[0])
    shop.outbox.add(shop.connection, "t", {}, partition_key=shop.keys[0], pool="video")
    shop.connection.commit()
    look_and_die(relay, monkeypatch)
    shop.move(0, to=1)
    shop.pool.route.follow()
    found = looks(relay)

    assert found.kept == 0
    assert shop.space.ids(1) == [waits]
    assert [place.name for place in shop.pool.places()] == ["0", "0/video", "1"]


def test_none_is_lost_when_two_partitions_exchange_slots_during_a_look(shop: Shop) -> None:
    there = [n for n in range(99) if shop.pool.group(f"k{n}").partition.number == 0]
    moves, stays = (f"k{n}" for n in there[:2])
    filled = [shop.fill(0), shop.fill(1)]
    relay = shop.relay()
    ids = []
    for key in (shop.keys[1], moves, stays):
        ids += shop.add(key)
        relay.look()
    for partition in (0, 1):
        for job_id in filled[partition]:
            shop.pool.cancel(job_id, partition_key=shop.keys[partition])

    shop.space.move(of(moves), 1)
    shop.move(1, to=0)  # the relay hears of both when it sends the first row
    looks(relay)

    assert set(those(ids, shop.space.ids(0))) == {ids[0], ids[2]}
    assert those(ids, shop.space.ids(1)) == [ids[1]]


def test_what_waits_for_a_partition_lets_none_pass_to_the_server_that_it_moves_to() -> None:
    row = Row(1, "video", (2, b"g", 0), b"a", b"00701g[]")
    found = Look()
    found.keep(new_place(3), [(1, row)])

    assert found.kept == 1
    assert found.is_closed(3, "video")
    assert found.is_closed(new_place(3), "video")
    assert not found.is_closed(4, "video")
    assert not found.is_closed(3, "default")
