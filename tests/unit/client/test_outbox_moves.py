"""Rows of an outbox whose slots move to another partition while they wait: none is lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from queuepool import Outbox, QueuePool, UnavailableError
from queuepool.client.outbox.databases import create, open_database
from queuepool.client.outbox.relay import Look, Relay
from queuepool.client.outbox.schema import TABLE
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
        if not found.moved and not found.kept:
            break
    return found


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

    def dies(_self: Relay, _numbers: list[int]) -> None:
        raise UnavailableError("killed")

    with monkeypatch.context() as broken:
        broken.setattr(Relay, "_delete", dies)
        with pytest.raises(UnavailableError, match="killed"):
            relay.look()
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
    read = frozen._numbered(after=0)
    shop.move(0, to=1)
    looks(other)
    assert shop.space.ids(1) == [waits]

    frozen._move(read, Look())
    frozen._move(read, Look())
    looks(frozen)

    assert shop.space.ids(1) == [waits]
    assert len(shop.space.ids(0)) == 3
