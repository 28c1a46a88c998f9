"""Limits as applications name them: of the call, of a job, of its task; in both pools."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queuepool import InvalidInputError, Job, JobState, Limit, Registry
from queuepool.testing import MemoryPool

KEY = "letters"


def gates(pool: MemoryPool) -> dict[bytes, int]:
    """Return how many jobs wait at each gate."""
    return dict(pool.server.data(pool.partition(0).key).gates.ids)


def test_a_job_that_names_a_limit_is_parked(pool: MemoryPool) -> None:
    limited = pool.enqueue("t", {}, partition_key=KEY, limit="mail")
    plain = pool.enqueue("t", {}, partition_key=KEY)

    assert limited.job_status().state is JobState.PARKED
    assert plain.job_status().state is JobState.READY
    assert gates(pool) == {b"mail": 1}
    status = pool.group(KEY).status()
    assert (status.parked, status.ready) == (1, 1)


def test_rows_name_limits_of_the_call_or_their_own(pool: MemoryPool) -> None:
    rows: list[Any] = [
        {"n": 1},
        {"n": 2},
        {"n": 1},
        Job({"n": 3}, tier="low"),
        Job({"n": 4}, limit=["z", "a"]),
        Job({"n": 5}, limit="own"),
        Job({"n": 6}, limit=()),
    ]

    results = pool.enqueue_many("t", rows, partition_key=KEY, limit="n:{n}")
    pool.enqueue_many("t", [{}, Job({}, limit="own"), {}], partition_key=KEY)

    assert results.accepted == 7
    assert gates(pool) == {b"n:1": 2, b"n:2": 1, b"n:3": 1, b"a,z": 1, b"own": 2}
    status = pool.group(KEY).status()
    assert (status.parked, status.ready) == (7, 3)


def test_what_a_job_says_comes_before_the_call_and_that_before_the_task(
    pool: MemoryPool, registry: Registry
) -> None:
    @registry.task(limit=["mail", Limit("mail:{account}", rate=5)])
    def send(account: int = 3) -> None: ...

    @registry.task
    def plain(account: int) -> None: ...

    pool.enqueue(send.job(), partition_key=KEY)
    pool.enqueue("send", {"account": 4}, partition_key=KEY)
    pool.enqueue(send, {"account": 4}, partition_key=KEY, limit="call")
    pool.enqueue(send.job().with_options(limit="job"), partition_key=KEY, limit="call")
    assert gates(pool) == {b"mail,mail:3": 1, b"mail,mail:4": 1, b"call": 1, b"job": 1}

    jobs = [send.job(5), plain.job(5), send.job(6).with_options(limit=())]
    pool.enqueue_many(jobs, partition_key=KEY)
    pool.enqueue_many(jobs, partition_key=KEY, limit="call:{account}")

    known = {b"mail,mail:5": 1, b"call:5": 2}
    assert {gate: n for gate, n in gates(pool).items() if b"5" in gate} == known
    assert pool.group(KEY).status().ready == 3  # plain in the first call, the last job twice


def test_limits_go_along_with_a_unique_key_and_an_expiry(pool: MemoryPool) -> None:
    more: dict[str, Any] = {"unique": "k", "unique_until": "start", "expires_s": 60}

    first = pool.enqueue("t", {}, partition_key=KEY, limit="mail", **more)
    second = pool.enqueue("t", {}, partition_key=KEY, limit="mail", **more)

    assert second.job_id == first.job_id
    assert gates(pool) == {b"mail": 1}
    data = pool.server.data(pool.partition(0).key)
    assert set(data.wishes.keys.values()) == {b"sk"}
    assert len(data.wishes.expire_ms) == 1


def test_the_asyncio_pool_takes_it_as_well(pool: MemoryPool) -> None:
    async def main() -> None:
        aio = pool.asyncio()
        one = await aio.enqueue("t", {}, partition_key=KEY, limit="mail")
        assert (await one.job_status()).state is JobState.PARKED
        await aio.enqueue_many("t", [{"n": 1}, {"n": 2}], partition_key=KEY, limit="n:{n}")

    asyncio.run(main())

    assert gates(pool) == {b"mail": 1, b"n:1": 1, b"n:2": 1}


def test_a_limit_that_a_task_declares_may_be_named_by_itself(
    pool: MemoryPool, registry: Registry
) -> None:
    mail, account = Limit("mail", rate=20), Limit("mail:{account}", rate=5)

    @registry.task(limit=mail)
    def send(account: int) -> None: ...

    @registry.task(limit=account)
    def other(account: int) -> None: ...

    pool.enqueue(send.job(1).with_options(limit=[mail, account]), partition_key=KEY)
    pool.enqueue("unknown here", {"account": 2}, partition_key=KEY, limit=account)
    assert gates(pool) == {b"mail,mail:1": 1, b"mail:2": 1}

    for unknown in (Limit("mail", rate=21), Limit("post", rate=20), Limit("{account}", rate=5)):
        with pytest.raises(InvalidInputError, match="no task that is registered here declares it"):
            pool.enqueue(send.job(1), partition_key=KEY, limit=unknown)
        jobs = [send.job(1).with_options(limit=["mail", unknown])]
        with pytest.raises(InvalidInputError, match="queuepool limit set"):
            pool.enqueue_many(jobs, partition_key=KEY)


@pytest.mark.parametrize("limit", ["a b", "{nobody}", list("abcde"), 7, lambda _p: "a b"])
def test_what_names_no_limit_is_refused_before_anything_is_sent(
    pool: MemoryPool, limit: Any
) -> None:
    with pytest.raises(InvalidInputError, match="limit"):
        pool.enqueue("t", {}, partition_key=KEY, limit=limit)
    with pytest.raises(InvalidInputError, match="limit"):
        pool.enqueue_many("t", [{}], partition_key=KEY, limit=limit)
    with pytest.raises(InvalidInputError, match="limit"):
        pool.enqueue_many("t", [Job({}, limit=limit)], partition_key=KEY)

    assert pool.group(KEY).status().total == 0


def test_people_define_limits_by_name_not_by_template(pool: MemoryPool) -> None:
    with pytest.raises(InvalidInputError, match=r"cannot be named 'mail:{account}'"):
        pool.limits.set(Limit("mail:{account}", rate=5))


def test_a_newer_job_replaces_only_one_with_the_same_limits(pool: MemoryPool) -> None:
    def enqueue(**more: Any) -> str:
        return str(pool.enqueue("t", {}, partition_key=KEY, unique="k", **more).status)

    first = enqueue(limit=["a", "b"])
    others = [enqueue(limit=limit, on_conflict="replace") for limit in (["b", "a"], "a", ())]

    assert [first, *others] == ["accepted", "replaced", "conflict", "conflict"]
    assert gates(pool) == {b"a,b": 1}
