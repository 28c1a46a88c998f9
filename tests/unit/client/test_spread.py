"""Groups that are spread over slots: found as a whole by every call, also of other producers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queuepool import InvalidInputError, Job, QueuePool
from queuepool.models import EnqueueStatus, JobState
from queuepool.testing import MemoryPool
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w

KEY = "import-7"


@pytest.fixture
def pool() -> MemoryPool:
    return MemoryPool(4)


def another(pool: MemoryPool) -> QueuePool:
    """Return the pool of another process."""
    return QueuePool(config=pool.config, servers={"memory": pool.server})


def fill(pool: QueuePool, jobs: int = 100, spread: int = 4, **options: Any) -> list[str]:
    found = pool.enqueue_many(
        "t", ({"n": n} for n in range(jobs)), partition_key=KEY, spread=spread, **options
    )
    return [one.job_id for one in found]


def jobs(pool: QueuePool) -> list[int]:
    return [place.observe().jobs for place in pool.partitions()]


def run(pool: QueuePool, number: int) -> int:
    place, ran = pool.partition(number), 0
    owned = place.acquire(lease_s=60)
    assert not isinstance(owned, own.Held)
    while (claims := w.claim(owned)).taken:
        ran += len(claims.bodies)
        w.finish(owned, claims)
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    return ran


def bury(pool: QueuePool, number: int) -> None:
    owned = pool.partition(number).acquire(lease_s=60)
    assert not isinstance(owned, own.Held)
    error = b'{"reason":"failed","type":"ValueError","message":"broken"}'
    while (claims := w.claim(owned)).taken:
        owned.run(own.bury(owned.ownership, [(one, error) for one in claims.ids], **w.KEEP))
    owned.run(own.release(owned.ownership, drain_lease_ms=0))


def test_its_jobs_are_in_as_many_partitions(pool: MemoryPool) -> None:
    fill(pool)

    assert jobs(pool) == [25] * 4


def test_jobs_that_come_one_by_one_are_in_as_many(pool: MemoryPool) -> None:
    handles = [pool.enqueue("t", {"n": n}, partition_key=KEY, spread=4) for n in range(400)]

    assert min(jobs(pool)) >= 40  # seven standard deviations below 100: ids are random
    assert sum(jobs(pool)) == 400
    status = another(pool).group(KEY).status()
    assert (status.total, status.spread) == (400, 4)
    assert all(another(pool).job(one.job_id).status().state is JobState.READY for one in handles)
    assert sum(run(pool, number) for number in range(4)) == 400


def test_an_id_of_ones_own_goes_to_the_same_part_in_both_calls(pool: MemoryPool) -> None:
    ids = [f"own-{n}" for n in range(20)]
    first = [pool.enqueue("t", {}, partition_key=KEY, spread=4, job_id=one) for one in ids]
    again = [another(pool).enqueue("t", {}, partition_key=KEY, spread=4, job_id=i) for i in ids]
    many = pool.enqueue_many("t", [Job({}, job_id=i) for i in ids], partition_key=KEY, spread=4)

    assert {one.status for one in first} == {EnqueueStatus.ACCEPTED}
    assert {one.status for one in again} == {EnqueueStatus.DUPLICATE}
    assert many.duplicates == 20


def test_one_job_is_spread_by_the_key_and_the_tenant_that_it_has_itself(pool: MemoryPool) -> None:
    job = Job({}, task="t", partition_key="its own", tenant="acme")
    for _ in range(20):
        pool.enqueue(job, partition_key=KEY, spread=4)

    assert pool.group("its own", tenant="acme").status().spread == 4
    assert pool.group("its own", tenant="acme").status().total == 20
    assert pool.group(KEY).status().total == 0


def test_one_job_that_cannot_be_spread_is_refused_before_anything_is_written(
    pool: MemoryPool,
) -> None:
    with pytest.raises(InvalidInputError, match="unique key"):
        pool.enqueue("t", {}, partition_key=KEY, spread=4, unique="a")
    wrong: list[Any] = [0, 65, "2", True]
    for spread in wrong:
        with pytest.raises(InvalidInputError, match="spread="):
            pool.enqueue("t", {}, partition_key=KEY, spread=spread)
    assert sum(jobs(pool)) == 0


def test_who_does_not_know_that_it_is_spread_sees_all_of_it(pool: MemoryPool) -> None:
    fill(pool)
    other = another(pool)
    other.enqueue("t", {}, partition_key=KEY)

    status = other.group(KEY).status()
    assert (status.total, status.ready, status.left, status.spread) == (101, 101, 101, 4)
    assert other.group("import-8").status().spread == 1


def test_totals_and_the_wait_are_of_the_whole_group(pool: MemoryPool) -> None:
    fill(pool)
    seen = []
    for number in range(4):
        run(pool, number)
        status = pool.group(KEY).status()
        seen.append((status.done, status.left, status.progress))

    assert seen == [(25 * n, 100 - 25 * n, 0.25 * n) for n in range(1, 5)]
    done = pool.group(KEY).wait(timeout_s=1, show=False)
    assert (done.done, done.finished_ms is not None) == (100, True)
    assert pool.group(KEY).eta(over_s=0.01) is not None


def test_a_part_that_ended_long_ago_still_counts(pool: MemoryPool) -> None:
    fill(pool, 4)
    home = pool.group(KEY).partition.number
    for number in {0, 1, 2, 3} - {(home + 1) % 4}:
        run(pool, number)
    pool.clock.advance(20 * 86_400)

    status = another(pool).group(KEY).status()
    assert (status.total, status.done, status.ready) == (4, 3, 1)


def test_it_is_found_by_a_part_when_the_record_of_the_group_is_gone(pool: MemoryPool) -> None:
    fill(pool, 8)
    group = pool.group(KEY)
    run(pool, group.partition.number)
    del pool.server.data(group.partition.key).groups[KEY.encode()]

    assert (group.status().total, group.status().spread) == (6, 4)


def test_cancel_hold_and_release_reach_all_parts(pool: MemoryPool) -> None:
    fill(pool)
    group = another(pool).group(KEY)

    assert group.hold()
    assert not group.hold()
    assert sum(run(pool, number) for number in range(4)) == 0
    assert group.status().held_ms is not None
    assert group.release()
    assert run(pool, 0) == 25
    assert group.cancel() == (75, 0)
    assert (group.status().cancelled, group.status().left) == (75, 0)


def test_a_group_that_is_held_before_it_is_spread_is_held_as_a_whole(pool: MemoryPool) -> None:
    group = pool.group(KEY)
    group.hold(create=True)
    group.configure(weight=3, max_running=8, tier="high")
    fill(pool)

    status = group.status()
    assert (status.weight, status.max_running, str(status.tier)) == (3, 8, "high")
    assert sum(run(pool, number) for number in range(4)) == 0
    group.release()
    assert [place.group(KEY.encode()).max_running for place in [group.partition]] == [2]


def test_what_a_group_may_run_at_once_is_shared_out(pool: MemoryPool) -> None:
    fill(pool)
    group = pool.group(KEY)

    assert group.configure(max_running=6)
    assert group.status().max_running == 6
    with pytest.raises(InvalidInputError, match="use at least 4"):
        group.configure(max_running=3)
    with pytest.raises(InvalidInputError, match="cannot be serial"):
        group.configure(serial=True)
    assert group.configure(max_running=0)
    assert group.status().max_running is None


@pytest.mark.parametrize("most", [-1, 400_000, True])
def test_a_wrong_bound_changes_no_part(pool: MemoryPool, most: Any) -> None:
    fill(pool, 40)
    group = pool.group(KEY)
    group.configure(max_running=9)

    with pytest.raises(InvalidInputError, match=f"max_running={most}: use 1 to 100,000"):
        group.configure(max_running=most)

    assert group.status().max_running == 9


def test_a_serial_group_cannot_be_spread(pool: MemoryPool) -> None:
    pool.group(KEY).configure(serial=True, create=True)

    with pytest.raises(InvalidInputError, match="is serial"):
        fill(pool)
    pool.group(KEY).configure(serial=False, max_running=3)
    with pytest.raises(InvalidInputError, match="max_running=3: use at least 4"):
        fill(pool)
    assert jobs(pool) == [0] * 4


def test_a_group_can_be_spread_over_more_slots_later_but_not_over_fewer(pool: MemoryPool) -> None:
    fill(pool, 40, spread=2)
    fill(another(pool), 40, spread=4)
    fill(another(pool), 40, spread=2)

    assert pool.group(KEY).status().spread == 4
    assert pool.group(KEY).status().total == 120


def test_an_id_of_ones_own_is_accepted_once(pool: MemoryPool) -> None:
    rows = [Job({"n": n}, job_id=f"row-{n}") for n in range(40)]
    first = pool.enqueue_many("t", rows, partition_key=KEY, spread=4)
    again = another(pool).enqueue_many("t", rows[::-1], partition_key=KEY, spread=4)

    assert (first.accepted, again.accepted, again.duplicates) == (40, 0, 40)
    assert min(jobs(pool)) > 0
    assert pool.status("row-7").state is JobState.READY


def test_ids_name_the_slot_of_their_part(pool: MemoryPool) -> None:
    ids = fill(pool, 12)

    found = [pool.status(job_id) for job_id in ids]
    assert {status.partition for status in found} == {0, 1, 2, 3}
    assert all(status.state is JobState.READY for status in found)
    assert pool.cancel(ids[3]) is JobState.READY
    assert pool.group(KEY).status().cancelled == 1


def test_what_cannot_be_spread_is_refused_before_anything_is_written(pool: MemoryPool) -> None:
    with pytest.raises(InvalidInputError, match="use 2 to 64"):
        fill(pool, spread=65)
    with pytest.raises(InvalidInputError, match="one partition_key"):
        pool.enqueue_many("t", [{"k": "a"}], partition_key=lambda row: str(row["k"]), spread=4)
    with pytest.raises(InvalidInputError, match="unique key"):
        fill(pool, unique="u")
    assert jobs(pool) == [0] * 4


def test_jobs_with_a_key_of_their_own_stay_together(pool: MemoryPool) -> None:
    items = [Job({}, partition_key="other") if n % 2 else Job({}) for n in range(40)]
    pool.enqueue_many("t", items, partition_key=KEY, spread=4)

    assert pool.group("other").status().total == 20
    assert pool.group("other").partition.group(b"other").total == 20
    assert pool.group(KEY).status().total == 20


def test_a_tenants_group_stays_the_tenants(pool: MemoryPool) -> None:
    fill(pool, tenant="acme")

    assert pool.group(KEY, tenant="acme").status().total == 100
    assert pool.group(KEY).status().total == 0
    assert pool.tenant("acme").status().ready == 100
    [listed] = pool.inspect.groups()
    assert (listed.tenant, listed.total, listed.left) == ("acme", 100, 100)


def test_a_list_of_groups_shows_it_once(pool: MemoryPool) -> None:
    fill(pool)
    pool.enqueue_many("t", [{}] * 30, partition_key="small")
    pool.group(KEY).hold()

    listed = {one.group: (one.left, one.partition) for one in pool.inspect.groups()}
    home = pool.group(KEY).partition.number
    assert listed == {
        KEY.encode(): (100, home), b"small": (30, pool.group("small").partition.number),
    }  # fmt: skip


def test_asyncio_does_the_same(pool: MemoryPool) -> None:
    async def act() -> tuple[int, int, int]:
        twin = pool.asyncio()
        rows = [{"n": n} for n in range(100)]
        await twin.enqueue_many("t", rows, partition_key=KEY, spread=4)
        status = await twin.group(KEY).status()
        return status.total, status.spread, (await twin.group(KEY).cancel())[0]

    assert asyncio.run(act()) == (100, 4, 100)
    assert jobs(pool) == [0] * 4


def test_its_jobs_are_found_by_its_key_wherever_they_are(pool: MemoryPool) -> None:
    fill(pool)
    fill(pool, 40, spread=2, tenant="acme")
    pool.enqueue("t", {"n": 1}, partition_key="other")
    inspect = another(pool).inspect

    assert inspect.count(partition_key=KEY) == 100
    assert len({job.job_id for job in inspect.find("ready", partition_key=KEY)}) == 100
    assert len([*inspect.find(partition_key=KEY, tenant="acme")]) == 40

    for number in range(4):
        bury(pool, number)
    assert inspect.count("dead", partition_key=KEY) == 100
    assert inspect.replay(partition_key=KEY, dry_run=True).matched == 100
    assert inspect.replay(partition_key=KEY, error="broken", most=90).changed == 90
    assert inspect.discard(partition_key=KEY).changed == 10
    assert inspect.count("dead") == 41


def test_a_job_is_found_by_its_id_and_its_key_in_any_part(pool: MemoryPool) -> None:
    ids = [*fill(pool, 8), *(f"own-{n}" for n in range(8))]
    for one in ids[8:]:
        pool.enqueue("t", {}, partition_key=KEY, spread=4, job_id=one)
    other = another(pool)

    for one in ids:
        assert other.status(one, partition_key=KEY).state is JobState.READY
        assert other.inspect.run(one, partition_key=KEY) is JobState.READY
        assert other.inspect.edit(one, {"n": 1}, partition_key=KEY) is JobState.READY
        assert other.cancel(one, partition_key=KEY) is JobState.READY
    assert sum(jobs(pool)) == 0
    assert other.status("none", partition_key=KEY).state is JobState.UNKNOWN


def test_asyncio_spreads_single_jobs_too(pool: MemoryPool) -> None:
    async def main() -> None:
        twin = pool.asyncio()
        for n in range(200):
            await twin.enqueue("t", {"n": n}, partition_key=KEY, spread=4)

    asyncio.run(main())
    assert min(jobs(pool)) >= 10  # six standard deviations below 50: ids are random


def test_in_a_batch_with_a_continuation(pool: MemoryPool) -> None:
    from queuepool import After

    found = pool.enqueue_many(
        "t", [{}] * 20, partition_key=KEY, spread=4, then=After("sum", partition_key="end")
    )

    assert [one.status for one in found] == [EnqueueStatus.ACCEPTED] * 20
    assert pool.group(KEY).status().ready == 20
    assert found.batch.status().total == 20
