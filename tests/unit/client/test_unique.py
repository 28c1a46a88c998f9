"""Unique keys as applications use them: of the call, of a job, of its task; in both pools."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import date
from typing import Any

import msgspec
import pytest

from queuepool import EnqueueStatus, InvalidInputError, Job, Registry
from queuepool.testing import MemoryPool, run_jobs
from tests.unit.client.faulty import faulty_pool, stored

ACCEPTED, CONFLICT = EnqueueStatus.ACCEPTED, EnqueueStatus.CONFLICT
KEY = "accounts"


def statuses(results: Any) -> list[EnqueueStatus]:
    return [result.status for result in results]


def test_the_answer_is_the_job_that_is_there_until_it_ended(
    pool: MemoryPool, registry: Registry
) -> None:
    @registry.task
    def sync(account: int) -> int:
        return account

    first = pool.enqueue(sync, {"account": 1}, partition_key=KEY, unique="sync-1")
    second = pool.enqueue(sync, {"account": 2}, partition_key=KEY, unique="sync-1")

    assert (first.status, second.status) == (ACCEPTED, CONFLICT)
    assert second.job_id == first.job_id
    run_jobs(pool)
    assert second.result() == 1
    third = pool.enqueue(sync, {"account": 3}, partition_key=KEY, unique="sync-1")
    assert third.status is ACCEPTED


def test_a_job_of_a_task_answers_with_a_handle_of_the_job_that_is_there(
    pool: MemoryPool, registry: Registry
) -> None:
    @registry.task
    def sync(account: int) -> int:
        return account

    job = sync.job(account=1).with_options(unique=b"\x00", partition_key=KEY)

    first, second = pool.enqueue(job), pool.enqueue(job)

    assert second.job_id == first.job_id
    assert (second.enqueue_status, second.accepted) == (CONFLICT, False)


@pytest.mark.parametrize("fields", [("account",), "account", ["account"]])
def test_a_task_makes_its_keys_of_the_fields_it_names(
    pool: MemoryPool, registry: Registry, fields: Any
) -> None:
    @registry.task(unique=fields)
    def sync(account: dict[str, int], reason: str = "") -> None: ...

    @registry.task(unique=fields)
    def other(account: dict[str, int]) -> None: ...

    jobs = [
        sync.job({"a": 1, "b": 2}),
        sync.job({"b": 2, "a": 1}, reason="again"),  # the order of fields is no difference
        sync.job({"a": 1}),
        other.job({"a": 1}),
        sync.job({"a": 1}).with_options(unique="its own"),
    ]
    results = pool.enqueue_many(jobs, partition_key=KEY)

    assert statuses(results) == [ACCEPTED, CONFLICT, ACCEPTED, ACCEPTED, ACCEPTED]
    assert results[1].job_id == results[0].job_id
    assert (results.accepted, results.conflicts, results.duplicates) == (4, 1, 0)
    assert "conflicts=1" in repr(results)
    assert pool.enqueue(sync.job({"a": 1}), partition_key=KEY).enqueue_status is CONFLICT


@dataclass
class Account:
    number: int
    region: str = "eu"


@pytest.mark.parametrize(
    ("annotation", "typed", "others"),
    [
        (int, 5, ["5", 5.0]),
        (float, 5.0, [5, "5"]),
        (str, "5", [5]),
        (int | None, 5, ["5"]),
        (Account, Account(5), [{"region": "eu", "number": "5", "more": 1}]),
        (date, date(2026, 1, 2), ["2026-01-02"]),
        (set[int], {2, 1}, [[1, 2], ["2", 1, 1]]),
        (list[Account], [Account(5)], [[{"number": 5.0, "region": "eu"}]]),
    ],
    ids=str,
)
def test_arguments_that_are_the_same_to_the_handler_make_one_key(
    pool: MemoryPool, registry: Registry, annotation: Any, typed: Any, others: list[Any]
) -> None:
    def sync(account: Any) -> None: ...

    sync.__annotations__["account"] = annotation
    registry.task(name="sync", unique=("account",))(sync)
    key = msgspec.json.encode(("sync", {"account": typed}), order="deterministic")

    first = pool.enqueue("sync", {"account": typed}, partition_key=KEY, unique=key)

    assert first.status is ACCEPTED
    for same in (typed, *others):
        again = pool.enqueue("sync", {"account": same}, partition_key=KEY)
        assert (again.status, again.job_id) == (CONFLICT, first.job_id), same


def test_a_value_that_does_not_fit_is_refused_as_it_is_without_a_key(
    pool: MemoryPool, registry: Registry
) -> None:
    @registry.task(unique=("account",))
    def sync(account: int) -> None: ...

    key = sync.task.wishes.of({"account": "x"}) if sync.task.wishes else None
    assert key is not None
    assert key[1] == b'["sync",{"account":"x"}]'
    with pytest.raises(InvalidInputError, match="must be int"):
        pool.enqueue("sync", {"account": "x"}, partition_key=KEY)


def test_fields_left_out_are_alike_and_long_values_make_keys_all_the_same(
    pool: MemoryPool, registry: Registry
) -> None:
    @registry.task(unique=("account", "region"))
    def sync(account: str, region: str = "eu") -> None: ...

    jobs = [sync.job("x" * 1000), sync.job("x" * 1000), sync.job("x" * 1000, region="us")]

    assert statuses(pool.enqueue_many(jobs, partition_key=KEY)) == [ACCEPTED, CONFLICT, ACCEPTED]


def test_the_key_of_the_call_comes_before_that_of_the_task(
    pool: MemoryPool, registry: Registry
) -> None:
    @registry.task(unique=("account",))
    def sync(account: int) -> None: ...

    def enqueue(**more: Any) -> EnqueueStatus:
        return pool.enqueue(sync, {"account": 1}, partition_key=KEY, **more).status

    assert [enqueue(unique="a"), enqueue(), enqueue(unique="a")] == [ACCEPTED, ACCEPTED, CONFLICT]


def test_rows_have_keys_by_a_function_of_the_payload_or_of_their_own(pool: MemoryPool) -> None:
    rows: list[Any] = [{"n": 1}, {"n": 2}, {"n": 1}, {"n": 3}, {"n": 3}, Job({"n": 1}, unique="x")]

    results = pool.enqueue_many(
        "t", rows, partition_key=KEY, unique=lambda p: None if p["n"] == 3 else f"n-{p['n']}"
    )

    assert statuses(results) == [ACCEPTED, ACCEPTED, CONFLICT, ACCEPTED, ACCEPTED, ACCEPTED]
    assert results[2].job_id == results[0].job_id


def test_the_asyncio_pool_answers_alike(pool: MemoryPool) -> None:
    async def main() -> None:
        aio = pool.asyncio()
        first = await aio.enqueue("t", {}, partition_key=KEY, unique="k")
        second = await aio.enqueue("t", {}, partition_key=KEY, unique="k")
        assert (second.status, second.job_id) == (CONFLICT, first.job_id)
        results = await aio.enqueue_many("t", [{}, {}], partition_key=KEY, unique="l")
        assert statuses(results) == [ACCEPTED, CONFLICT]

    asyncio.run(main())


@pytest.mark.parametrize("key", ["", b"", "x" * 513, b"x" * 513, "ä" * 257, 7, ("a",)])
def test_what_is_no_key_is_refused_before_anything_is_sent(pool: MemoryPool, key: Any) -> None:
    with pytest.raises(InvalidInputError, match="1 to 512 bytes"):
        pool.enqueue("t", {}, partition_key=KEY, unique=key)
    with pytest.raises(InvalidInputError, match="1 to 512 bytes"):
        pool.enqueue_many("t", [{}], partition_key=KEY, unique=key)

    assert pool.group(KEY).status().total == 0


@pytest.mark.parametrize("fields", [("nobody",), (), "nobody", (1,)])
def test_a_task_whose_fields_are_no_parameters_is_refused(registry: Registry, fields: Any) -> None:
    with pytest.raises(InvalidInputError, match="unique="):

        @registry.task(unique=fields)
        def sync(account: int) -> None: ...


def test_a_task_that_takes_any_field_may_name_any(registry: Registry) -> None:
    @registry.task(unique=("anything",))
    def sync(**fields: int) -> None: ...

    assert sync.task.wishes is not None


def test_a_lost_answer_is_no_conflict_with_itself() -> None:
    pool, server = faulty_pool(["lost"])

    enqueued = pool.enqueue("t", {}, partition_key="g", unique="k")

    assert (enqueued.status, stored(server)) == (ACCEPTED, [enqueued.job_id])


def test_a_lost_answer_to_many_leaves_conflicts_what_they_are() -> None:
    pool, server = faulty_pool(["lost"])

    results = pool.enqueue_many("t", [{}, {}, {}], partition_key="g", unique="k")

    assert statuses(results) == [ACCEPTED, CONFLICT, CONFLICT]
    assert {result.job_id for result in results} == set(stored(server))


def test_a_key_until_the_start_lets_another_in_while_the_job_runs(
    pool: MemoryPool, registry: Registry
) -> None:
    said: list[EnqueueStatus] = []

    @registry.task(unique=("account",), unique_until="start")
    def sync(account: int) -> None:
        said.append(pool.enqueue(sync.job(2), partition_key=KEY).enqueue_status or CONFLICT)
        if account == 1:
            again = pool.enqueue("sync", {"account": 1}, partition_key=KEY)
            said.append(again.status)
            pool.cancel(again.job_id)

    pool.enqueue(sync.job(1), partition_key=KEY)
    assert pool.enqueue(sync.job(1), partition_key=KEY).enqueue_status is CONFLICT

    run_jobs(pool, max_jobs=1)

    assert said == [ACCEPTED, ACCEPTED]


def test_until_when_may_be_said_of_the_call_or_of_the_job(pool: MemoryPool) -> None:
    job = Job({}, task="t", unique="k", unique_until="start")
    pool.enqueue(job, partition_key=KEY)
    pool.enqueue("t", {}, partition_key=KEY, unique="l", unique_until="start")

    wishes = pool.server.data(pool.partition(0).key).wishes
    assert set(wishes.keys.values()) == {b"sk", b"sl"}


@pytest.mark.parametrize("until", ["never", b"end", 1, ""])
def test_what_is_no_end_of_uniqueness_is_refused(
    pool: MemoryPool, registry: Registry, until: Any
) -> None:
    with pytest.raises(InvalidInputError, match="unique_until"):
        pool.enqueue("t", {}, partition_key=KEY, unique="k", unique_until=until)
    with pytest.raises(InvalidInputError, match="unique_until"):
        registry.task(name="t", unique_until=until)(lambda: None)


def test_the_newest_payload_wins_and_the_answer_is_the_job_that_waits(
    pool: MemoryPool, registry: Registry
) -> None:
    @registry.task(unique=("account",), on_conflict="replace")
    def sync(account: int, reason: str) -> str:
        return reason

    first = pool.enqueue(sync.job(1, "first"), partition_key=KEY)
    second = pool.enqueue(sync.job(1, "second"), partition_key=KEY)

    assert (second.enqueue_status, second.job_id) == (EnqueueStatus.REPLACED, first.job_id)
    assert not second.accepted
    run_jobs(pool)
    assert first.result() == "second"


def test_a_debounced_job_runs_once_when_calls_have_ceased(
    pool: MemoryPool, registry: Registry
) -> None:
    ran: list[int] = []

    @registry.task(on_conflict="debounce")
    def save(version: int) -> None:
        ran.append(version)

    for version in range(5):
        pool.enqueue(save, {"version": version}, partition_key=KEY, unique="doc", delay_s=10)
        pool.clock.advance(6)
        run_jobs(pool)
    assert ran == []

    pool.clock.advance(6)
    run_jobs(pool)

    assert ran == [4]


def test_many_replace_as_one_does(pool: MemoryPool) -> None:
    rows: list[Any] = [{"n": 1}, {"n": 2}, Job({"n": 3}, on_conflict="skip")]

    results = pool.enqueue_many("t", rows, partition_key=KEY, unique="k", on_conflict="replace")

    assert statuses(results) == [ACCEPTED, EnqueueStatus.REPLACED, CONFLICT]
    assert (results.accepted, results.replaced, results.conflicts) == (1, 1, 1)
    assert len({result.job_id for result in results}) == 1
    assert "conflicts=1, replaced=1" in repr(results)


OF_A_KEY = [{"on_conflict": "replace"}, {"on_conflict": "debounce"}, {"unique_until": "start"}]


@pytest.mark.parametrize("options", OF_A_KEY)
def test_what_asks_something_of_a_unique_key_needs_one(
    pool: MemoryPool, registry: Registry, options: dict[str, Any]
) -> None:
    registry.task(name="of.a.key", **options)(lambda: None)
    job = Job({}, task="t", partition_key=KEY, **options)
    for mistaken in (
        lambda: pool.enqueue("t", {}, partition_key=KEY, **options),
        lambda: pool.enqueue(job),
        lambda: pool.enqueue_many("t", [{}], partition_key=KEY, **options),
        lambda: pool.enqueue_many([job]),
    ):
        with pytest.raises(InvalidInputError, match="need a unique key: pass unique="):
            mistaken()

    keyed = [Job({}, unique="a"), Job({}, unique="b")]
    assert pool.enqueue_many("t", keyed, partition_key=KEY, **options).accepted == 2
    plain = pool.enqueue("of.a.key", partition_key=KEY)  # the task says it of keyed jobs
    assert plain.status == ACCEPTED


@pytest.mark.parametrize("mode", ["newest", "", b"skip"])
def test_what_is_no_way_to_solve_a_conflict_is_refused(pool: MemoryPool, mode: Any) -> None:
    with pytest.raises(InvalidInputError, match="on_conflict"):
        pool.enqueue("t", {}, partition_key=KEY, unique="k", on_conflict=mode)
