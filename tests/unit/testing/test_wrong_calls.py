"""Wrong calls of the pool in memory: the errors that a real pool and a consumer give."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from queuepool import Flow, InvalidInputError, Job, JobContext, Registry
from queuepool.testing import MemoryPool, run_jobs

KEY = "orders"


def test_progress_that_is_no_text_is_refused_as_by_a_consumer(
    pool: MemoryPool, registry: Registry
) -> None:
    @registry.task(max_attempts=1)
    def count(ctx: JobContext) -> None:
        ctx.progress(5)  # type: ignore[arg-type]

    pool.enqueue(count.job(), partition_key=KEY)

    with pytest.raises(InvalidInputError, match="progress takes text, not int"):
        run_jobs(pool).raise_errors()


def test_an_asyncio_pool_is_refused_with_the_remedy(pool: MemoryPool) -> None:
    with pytest.raises(InvalidInputError, match="run_jobs takes a QueuePool, not AsyncQueuePool"):
        run_jobs(pool.asyncio())  # type: ignore[arg-type]


@pytest.mark.parametrize("named", [True, False])
def test_an_async_iterable_is_refused_with_the_remedy(
    pool: MemoryPool, registry: Registry, named: bool
) -> None:
    @registry.task
    def see(n: int) -> None: ...

    async def items() -> AsyncIterator[Any]:
        yield {"n": 1} if named else see.job(n=1)

    async def enqueue(given: Any) -> None:
        async with pool.asyncio() as asynchronous:
            await asynchronous.enqueue_many(*given, partition_key=KEY)

    with pytest.raises(InvalidInputError, match="takes no async iterable: collect"):
        asyncio.run(enqueue((see, items()) if named else (items(),)))


@pytest.mark.parametrize("kind", [dict, Job, str])
def test_one_payload_instead_of_several_is_refused_with_the_remedy(
    pool: MemoryPool, kind: Any
) -> None:
    one: Any = "{}" if kind is str else kind({})

    with pytest.raises(InvalidInputError, match=f"single {kind.__name__}: pass an iterable"):
        pool.enqueue_many("see", one, partition_key=KEY)


def test_a_field_with_the_name_of_the_context_is_an_unknown_argument(
    pool: MemoryPool, registry: Registry
) -> None:
    @registry.task(max_attempts=1)
    def tell(ctx: JobContext, **others: object) -> None: ...

    pool.enqueue("later", {"ctx": 5}, partition_key=KEY)  # by a producer without the task
    registry.task(name="later", max_attempts=1)(tell)

    with pytest.raises(InvalidInputError, match="task 'tell' has no 'ctx'"):
        pool.enqueue(tell, {"ctx": 5, "other": 6}, partition_key=KEY)
    (ended,) = run_jobs(pool).ended
    assert ended.error is not None
    assert (ended.error.reason, ended.error.type) == ("failed", "TypeError")
    assert "tell() got an unexpected keyword argument 'ctx'" in ended.error.message


Call = Callable[[Any, Any], object]
WRONG: dict[str, tuple[Call, list[Any]]] = {
    "tenant": (lambda p, value: p.enqueue("t", {}, partition_key=KEY, tenant=value), [[], {}, 5]),
    "flow_id": (lambda p, value: Flow("f", partition_key=KEY, flow_id=value), ["\ud800", []]),
    "partition": (lambda p, value: p.hold(partition=value), [1.5, "", []]),
    "serial": (
        lambda p, value: p.group(KEY).configure(serial=value, create=True),
        [float("nan"), [], "no"],
    ),
    "is not a Schedule": (lambda p, value: p.schedules.set(value), [None, "nightly"]),
    "is not a Limit": (lambda p, value: p.limits.set(value), [None, "mail"]),
}


@pytest.mark.parametrize("named", WRONG)
def test_a_value_of_a_wrong_type_is_named(pool: MemoryPool, named: str) -> None:
    call, values = WRONG[named]
    for value in values:
        with pytest.raises(InvalidInputError, match=named):
            call(pool, value)


def test_no_spread_is_given_as_none_too(pool: MemoryPool) -> None:
    pool.enqueue("t", {}, partition_key=KEY, spread=None)  # type: ignore[call-overload]
    pool.enqueue_many("t", [{}], partition_key=KEY, spread=None)  # type: ignore[call-overload]

    assert pool.group(KEY).status().spread == 1
