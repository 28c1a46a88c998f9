"""Cancelling a batch while its jobs are on their way to another partition."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queuepool import After, AsyncQueuePool, InvalidInputError, UnavailableError
from queuepool.client.batch import Batch
from queuepool.client.flows import cancelling
from queuepool.protocol.batches import home_of_batch
from queuepool.routing.slots import SLOTS
from tests.contract import world as w
from tests.unit.client.moving import Space, of

KEY = "import-42"  # slot 1001: partition 1 of 4


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancelling, "_MOVED_S", 0.0)
    monkeypatch.setattr(cancelling, "_MOVING_S", 0.0)


class Way:
    """A batch of 3 jobs, one of which runs. looks: how many times each partition was looked at."""

    def __init__(self) -> None:
        self.space = space = Space()
        after = After("t", partition_key="then")
        batch = space.home.enqueue_many("t", [{}] * 3, partition_key=KEY, then=after).batch
        assert batch is not None
        self.batch: Batch = batch
        self.data = space.data(space.home.config.keyspace.partition(1))
        self.group = self.data.groups[KEY.encode()]
        self.looks = 0
        space.before = self._count

    def run_one(self) -> None:
        """Let a consumer claim a job."""
        owned: Any = self.space.home.partitions()[1].acquire(lease_s=60.0, host="test")
        assert len(w.claim(owned, 1).ids) == 1

    def _count(self, script: str) -> None:
        self.looks += script == "cancel_children"


def test_jobs_that_stay_on_their_way_are_no_success() -> None:
    way = Way()
    way.run_one()
    way.group.closed = True

    with pytest.raises(UnavailableError, match=r"2 jobs .* call cancel\(\) again") as raised:
        way.batch.cancel()

    assert "1 jobs were cancelled or asked to stop" in str(raised.value)
    way.group.closed = False
    assert way.batch.cancel() == 2


def test_so_does_the_asyncio_pool() -> None:
    way = Way()
    way.group.closed = True

    async def cancel() -> None:
        async with way.space.aio(4) as pool:
            assert isinstance(pool, AsyncQueuePool)
            await pool.batch(way.batch.name).cancel()

    with pytest.raises(UnavailableError, match=r"3 jobs .* call cancel\(\) again"):
        asyncio.run(cancel())


def test_a_call_that_added_to_a_cancelled_batch_says_that_some_of_its_jobs_may_still_run() -> None:
    way = Way()
    way.group.closed = True
    pool = way.space.home

    with pytest.raises(InvalidInputError, match="some may still run") as raised:
        pool._network.do(cancelling.cancel_late(pool.config, way.batch.name, 3))

    assert isinstance(raised.value.__cause__, UnavailableError)


def test_a_running_job_counts_once_however_often_it_is_looked_at() -> None:
    way = Way()
    way.run_one()
    way.group.closed = True

    def open_later(script: str) -> None:
        way._count(script)
        way.group.closed = way.looks <= 9

    way.space.before = open_later
    assert way.batch.cancel() == 3
    assert way.looks > 9


def test_two_looks_that_leave_none_are_enough_while_a_move_goes_on_part_by_part() -> None:
    way = Way()

    def move_on(script: str) -> None:
        way._count(script)
        if script == "cancel_children":
            way.space.move(of("other"), 2, on_the_way=True)

    way.space.before = move_on

    assert way.batch.cancel() == 3
    assert way.looks == 2 * 4


def test_a_move_that_takes_long_but_has_none_of_its_jobs_is_not_waited_for() -> None:
    way = Way()
    way.space.move(of("other"), 2, on_the_way=True)

    assert way.batch.cancel() == 3
    assert way.looks == 2 * 4


def test_batches_in_one_that_moves_while_they_are_listed_are_cancelled_all() -> None:
    way = Way()
    slot, _pool = home_of_batch(way.batch.name)
    home = way.space.data(way.space.home.config.keyspace.partition(slot % 4))
    inner = home.batches[way.batch.name.encode()].inner
    names = [f"AAc{n:011}".encode() for n in range(150)]
    inner += names
    pages, asked = 0, set[str]()
    run_many = way.space.run_many

    def moved_after_the_first_page(calls: Any) -> Any:
        nonlocal pages
        for _key, verb in calls:
            asked.update(map(str, verb.args[:1] if verb.script == "cancel_batch" else ()))
            if verb.script == "batch" and len(verb.args) > 2:
                pages += 1
                if pages == 2:
                    inner.reverse()  # each server has an order of its own
                    way.space.move([(slot + 4) % SLOTS], (slot + 1) % 4)
        return run_many(calls)

    way.space.run_many = moved_after_the_first_page  # type: ignore[method-assign]
    way.batch.cancel()

    assert pages > 2
    assert set(names) <= {name.encode() for name in asked}
