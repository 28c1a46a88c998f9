"""Jobs find their way by the newest route, unseen by the application, however old its own is."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queuepool import After, ConfigurationError, UnavailableError
from queuepool.client.editing import UnchangeableJobError
from queuepool.client.outbox.rows import decode, deliveries, encode
from queuepool.errors import MovedError
from queuepool.models import EnqueueStatus, JobState
from queuepool.partitions.route import Leave
from queuepool.routing.slots import slot_of
from tests.unit.client.moving import OF_ALL, Space, of

KEY = "import-42"  # slot 1001: partition 1 of 4


@pytest.fixture
def space() -> Space:
    return Space()


def stale(space: Space, **more: Any) -> Any:
    """Return a pool that has read the route before it changes."""
    pool = space.pool(4, **more)
    pool.group(KEY).status()
    return pool


def test_a_stale_producer_finds_its_way_within_the_call(space: Space) -> None:
    pool = stale(space)
    space.move(of(KEY), 6)
    space.asked.clear()

    first = pool.enqueue("t", {"n": 1}, partition_key=KEY)
    second = pool.enqueue("t", {"n": 2}, partition_key=KEY)

    assert (first.partition, first.status) == (6, EnqueueStatus.ACCEPTED)
    assert second.partition == 6
    assert space.ids(6) == [first.job_id, second.job_id]
    assert space.ids(1) == []
    assert space.asked == ["enqueue", "", "enqueue", "enqueue"], "one detour, once"


def test_a_thread_whose_pool_knows_better_makes_no_detour(space: Space) -> None:
    pool = stale(space)
    chunk = pool.producer.single(pool.producer.defaults("t"), {}, KEY, None)
    space.move(of(KEY), 6)
    pool.route.follow()
    space.asked.clear()

    assert pool._network.do(pool._default.one(chunk)).partition == 6
    assert space.asked == ["enqueue"]


def test_who_asks_for_slots_that_stayed_is_told_once_and_served(space: Space) -> None:
    pool = stale(space)
    other = next(k for k in map(str, range(99)) if slot_of(k.encode()) % 4 == 1)
    space.move(of(KEY), 6)
    space.asked.clear()

    for _ in range(3):
        assert pool.enqueue("t", {}, partition_key=other).partition == 1

    assert space.asked.count("enqueue") == 4


def test_who_comes_later_follows_the_record_whatever_its_variables_say(space: Space) -> None:
    space.move(of(KEY), 6)
    for n, configured in enumerate((4, 7, 99, 1)):
        pool = space.pool(configured)
        assert pool.enqueue("t", {}, partition_key=KEY).partition == 6
        assert space.pool(configured).group(KEY).status().total == n + 1
        bulk = space.pool(configured).enqueue_many("t", [{}], partition_key="other")
        assert bulk[0].partition == slot_of(b"other") % 4
        assert len(pool.partitions()) == 7


def test_a_bulk_goes_on_in_order_while_its_group_moves(space: Space) -> None:
    pool = stale(space)

    def rows() -> Iterator[dict[str, int]]:
        for n in range(3000):
            if n == 1001:
                space.move(of(KEY), 6)
            yield {"n": n}

    results = pool.enqueue_many("t", rows(), partition_key=KEY)

    assert results.accepted == 3000
    assert [r.job_id for r in results] == space.ids(1) + space.ids(6)
    assert {r.partition for r in results} == {1, 6}
    assert len(space.ids(1)) <= 1001


def test_a_bulk_of_many_groups_parts_in_order(space: Space) -> None:
    pool = stale(space)
    keys = [f"k-{n}" for n in range(40)]
    half = sorted({slot_of(key.encode()) for key in keys[::2]})
    rows = [{"n": n, "key": keys[n % 40]} for n in range(4000)]

    def items() -> Iterator[dict[str, Any]]:
        for n, row in enumerate(rows):
            if n == 1900:
                space.move(half, 9)
            yield row

    results = pool.enqueue_many("t", items(), partition_key=lambda row: row["key"])

    assert results.accepted == 4000
    for number, key in enumerate(keys):
        sent = [results[n].job_id for n in range(number, 4000, 40)]
        old, new = space.ids(slot_of(key.encode()) % 4), space.ids(9)
        assert [i for i in (*old, *new) if i in set(sent)] == sent, "each once, in order"
        assert number % 2 == 1 or results[4000 - 40 + number].partition == 9


@pytest.mark.parametrize("key", [KEY, lambda _: KEY], ids=["key", "function"])
def test_a_bulk_is_not_overtaken_by_what_another_thread_learns(space: Space, key: Any) -> None:
    """Chunks by the older route were refused, unread, by when the newer one is known."""
    pool = stale(space)

    def rows() -> Iterator[dict[str, int]]:
        for n in range(2400):
            if n == 601:
                space.move(of(KEY), 6)
            if n == 1200:
                pool.route.follow()  # as another thread does
            yield {"n": n}

    results = pool.enqueue_many("t", rows(), partition_key=key)

    assert [r.job_id for r in results] == space.ids(1) + space.ids(6)
    assert results.accepted == 2400


def test_an_asyncio_producer_finds_its_way_too(space: Space) -> None:
    async def run() -> None:
        async with space.aio(4) as pool:
            await pool.group(KEY).status()
            space.move(of(KEY), 5)
            assert (await pool.enqueue("t", {}, partition_key=KEY)).partition == 5
            space.move(of(KEY), 7)
            results = await pool.enqueue_many("t", [{}] * 500, partition_key=KEY)
            assert {r.partition for r in results} == {7}
            assert (await pool.group(KEY).status()).total == 500

    asyncio.run(run())
    assert len(space.ids(7)) == 500


def arrive_after(space: Space, asks: int, to: int) -> Callable[[str], None]:
    """Let slots on their way arrive after the route was asked for so often."""
    left = itertools.count(asks, -1)

    def before(script: str) -> None:
        if script == "" and next(left) == 0:
            space.move(of(KEY), to)

    return before


@pytest.mark.parametrize("to", [6, 1], ids=["arrives", "comes back"])
def test_a_producer_waits_for_a_slot_on_its_way(space: Space, to: int) -> None:
    pool = stale(space, retry_for_s=10.0)
    space.move(of(KEY), 6, on_the_way=True)
    space.before = arrive_after(space, 5, to)
    space.asked.clear()

    job = pool.enqueue("t", {"n": 1}, partition_key=KEY)

    assert (job.status, job.partition) == (EnqueueStatus.ACCEPTED, to)
    assert space.asked.count("enqueue") <= 3
    assert space.asked.count("") == 6


def test_who_knows_that_a_slot_is_on_its_way_writes_nothing_either(space: Space) -> None:
    space.move(of(KEY), 6, on_the_way=True)
    pool = space.pool(4, retry_for_s=10.0)
    pool.group("other").status()
    assert pool.config.topology.view.version == 2
    space.before = arrive_after(space, 3, 6)

    results = pool.enqueue_many("t", [{"n": n} for n in range(450)], partition_key=KEY)

    assert results.accepted == 450
    assert (space.ids(1), space.ids(6)) == ([], [r.job_id for r in results])


def test_groups_beside_a_slot_on_its_way_do_not_wait(space: Space) -> None:
    pool = stale(space)
    other = next(k for k in map(str, range(99)) if slot_of(k.encode()) % 4 == 1)
    space.move(of(KEY), 6, on_the_way=True)

    with pytest.raises(MovedError) as caught:
        pool.enqueue_many(
            "t",
            [{"key": (KEY, other)[n % 2]} for n in range(60)],
            partition_key=lambda row: row["key"],
        )

    statuses = [result.status for result in caught.value.results]
    assert statuses == [EnqueueStatus.REJECTED, EnqueueStatus.ACCEPTED] * 30
    assert len(space.ids(1)) == 30


def test_without_an_answer_in_time_the_application_hears_that_nothing_was_written(
    space: Space,
) -> None:
    pool = stale(space, retry_for_s=0.05)
    space.move(of(KEY), 6, on_the_way=True)

    with pytest.raises(UnavailableError, match="nothing was written") as caught:
        pool.enqueue("t", {}, partition_key=KEY)
    assert [r.status for r in caught.value.results] == [EnqueueStatus.REJECTED]

    with pytest.raises(MovedError, match="queuepool check"):
        pool.group(KEY).cancel()
    with pytest.raises(MovedError, match="queuepool check"):
        pool.group(KEY).configure(weight=2)
    assert space.ids(1) == []


def test_a_version_that_no_record_has_ends_in_an_error_not_in_a_loop(space: Space) -> None:
    pool = stale(space, retry_for_s=0.05)
    space.data(pool.config.keyspace.partition(1)).counters["route"] = 10**14

    with pytest.raises(MovedError, match="version 100000000000000 "):
        pool.enqueue("t", {}, partition_key=KEY)
    with pytest.raises(MovedError):
        pool.group(KEY).status()


def test_what_asks_for_a_group_follows_it(space: Space) -> None:
    pools = [stale(space) for _ in range(5)]
    before = [pool.group(KEY) for pool in pools]
    space.move(of(KEY), 6)
    assert space.home.enqueue_many("t", [{}] * 3, partition_key=KEY).accepted == 3

    assert before[0].status().total == 3
    assert before[1].configure(weight=3)
    assert before[2].hold()
    assert before[3].cancel() == (3, 0)
    assert before[4].partition.number == 1, "it has not asked yet"
    assert before[0].partition.number == 6


def test_what_concerns_all_partitions_reaches_those_that_are_new(space: Space) -> None:
    pools = [stale(space) for _ in range(3)]
    space.move(range(1, 4096, 8), 5)

    assert pools[0].hold() == 6
    assert pools[1].release() == 6
    assert pools[2].tenant("acme").configure(weight=3)
    assert all(
        b"acme" in space.data(space.home.config.keyspace.partition(n)).tenants for n in range(6)
    )


def test_a_handle_follows_its_job(space: Space) -> None:
    space.move(of(KEY), 6)
    pool = space.pool(4)
    job = pool.enqueue("t", {}, partition_key=KEY)
    own = pool.enqueue("t", {}, partition_key=KEY, job_id="own")
    jobs = [pool.job(job.job_id), pool.job("own"), pool.job("own", partition_key=KEY)]
    for handle in jobs:
        assert (handle.status().state, handle.partition) == (JobState.READY, 6)
    for data in ("jobs", "lanes"):  # the jobs are at 7 now
        first, second = (space.data(pool.config.keyspace.partition(n)) for n in (6, 7))
        setattr(second, data, getattr(first, data))
        setattr(first, data, type(getattr(first, data))())
    space.move(of(KEY), 7)

    for handle in jobs:
        assert (handle.status().state, handle.partition) == (JobState.READY, 7)
    stale_pool = space.pool(4)
    assert stale_pool.cancel(own.job_id, partition_key=KEY) == JobState.READY
    assert jobs[0].cancel() == JobState.READY


def test_a_record_that_cannot_be_followed_is_told(space: Space) -> None:
    pool = stale(space)
    space.move(of(KEY), 6)
    space.record[b"servers"] = b"0-6=nowhere"

    with pytest.raises(ConfigurationError, match="names server 'nowhere'"):
        pool.enqueue("t", {}, partition_key=KEY)
    assert space.ids(1) == []


def test_a_lost_record_is_made_again_as_it_was_known(space: Space) -> None:
    space.move(of(KEY), 6)
    pool = space.pool(4)
    pool.enqueue("t", {}, partition_key=KEY)
    known = dict(space.record)
    space.record.clear()

    pool.route.read(Leave.RESTORE)

    assert {k: v for k, v in space.record.items() if k != b"created"} == {
        k: v for k, v in known.items() if v and k != b"created"
    }


def test_unique_keys_and_own_ids_come_along(space: Space) -> None:
    pool = stale(space)
    space.move(OF_ALL, 8)
    jobs = [{"n": n, "key": f"u-{n % 3}"} for n in range(9)]

    results = pool.enqueue_many("t", jobs, partition_key=KEY, unique=lambda row: row["key"])

    assert [r.status for r in results] == ["accepted"] * 3 + ["conflict"] * 6
    assert {r.partition for r in results} == {8}


def test_rows_of_an_outbox_go_where_the_newest_route_says(space: Space) -> None:
    pool = stale(space)
    chunks = [
        pool.producer.single(pool.producer.defaults("t"), {}, key, None) for key in (KEY, "other")
    ]
    rows = [(n, decode(encode(chunk))) for n, chunk in enumerate(chunks)]
    space.move(of(KEY), 6, on_the_way=True)
    pool.route.follow()
    waits, goes = (one.chunk for one in deliveries(rows, pool.config, pool.config.topology.view, 0))
    assert (waits.version, goes.version, waits.since) == (0, 2, 2)

    space.move(of(KEY), 6)
    pool.route.follow()
    assert deliveries(rows, pool.config, pool.config.topology.view, 0)[0].chunk.partition == 6


def test_a_job_of_a_group_that_moves_is_not_run_at_once(space: Space) -> None:
    job_id = space.home.enqueue("t", {}, partition_key=KEY, delay_s=60).job_id
    space.data(space.home.config.keyspace.partition(1)).groups[KEY.encode()].moving = 2

    with pytest.raises(UnchangeableJobError, match="is being moved to another partition"):
        space.home.inspect.run(job_id)


def test_jobs_of_a_batch_are_looked_for_until_none_is_being_copied(space: Space) -> None:
    after = After("t", partition_key="then")
    batch = space.home.enqueue_many("t", [{}] * 3, partition_key=KEY, then=after).batch
    assert batch is not None
    group = space.data(space.home.config.keyspace.partition(1)).groups[KEY.encode()]
    group.closed, looks = True, 0

    def open_later(script: str) -> None:
        nonlocal looks
        looks += script == "cancel_children"
        group.closed = looks <= 9

    space.before = open_later
    assert batch.cancel() == 3
    assert looks > 9
