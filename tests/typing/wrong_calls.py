"""Calls that a type checker must refuse, or infer: each comment names the error or the type.

Read by test_typing.py, never run.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, reveal_type

from queuepool import AsyncQueuePool, Job, JobContext, JobHandle, Limit, QueuePool, task


@task
def write_row(ctx: JobContext, id: int, name: str = "nobody") -> str:
    return f"{ctx.job_id} {id} {name}"


def one_limit(payload: Mapping[str, Any]) -> str | None:
    return payload.get("host")


@task(name="fetch", max_attempts=3, limit=[Limit("fetch", rate=2), one_limit])
async def fetch(url: str, *, limit: int | None = None) -> list[int]:
    return [len(url), limit or 0]


@task(timeout_s=5)
async def crawl(ctx: JobContext, url: str) -> bytes:
    return f"{ctx.attempt} {url}".encode()


def calls_that_are_right(pool: QueuePool, ctx: JobContext, names: Sequence[str]) -> None:
    reveal_type(write_row(ctx, 1, name="Ada"))  # type: str
    reveal_type(write_row.job(id=1, name="Ada"))  # type: queuepool.tasks.job.Job[str]
    reveal_type(fetch.job("https://example.org"))  # type: queuepool.tasks.job.Job[list[int]]
    reveal_type(crawl.job(url="x"))  # type: queuepool.tasks.job.Job[bytes]
    job = pool.enqueue(write_row.job(1), partition_key="k", delay=timedelta(minutes=1))
    reveal_type(job)  # type: queuepool.client.handles.JobHandle[str]
    reveal_type(job.result(timeout_s=1))  # type: str
    reveal_type(pool.enqueue(write_row, {"id": 1}, partition_key="k").result())  # type: str
    reveal_type(pool.enqueue("any", {"a": 1}, partition_key="k").result())  # type: Any
    results = pool.enqueue_many((write_row.job(n) for n in range(3)), partition_key="k")
    reveal_type(results[0].result())  # type: str
    pool.enqueue_many([write_row.job(1), crawl.job("x")], partition_key="k")
    pool.enqueue_many("any", [{"a": 1}, Job({"a": 2}, tier="low")], partition_key="k")
    pool.enqueue_many(write_row, ({"id": 1, "name": n} for n in names), partition_key="k")
    reveal_type(pool.job("id", partition_key="k"))  # type: queuepool.client.handles.JobHandle[Any]
    pool.enqueue("any", {}, partition_key="k", limit=["a", Limit("b:{n}", rate=1), one_limit])
    pool.enqueue_many("any", [Job({}, limit=lambda _p: None)], partition_key="k", limit="x:{n}")
    crawl.job("x").with_options(limit=())
    handle: JobHandle[str] = job
    handle.cancel()


async def the_same_awaited(pool: AsyncQueuePool) -> None:
    reveal_type(await fetch("x"))  # type: list[int]
    job = await pool.enqueue(crawl.job("x"), partition_key="k")
    reveal_type(await job.result())  # type: bytes
    named = await pool.enqueue("any", {}, partition_key="k")
    reveal_type(await named.result())  # type: Any
    results = await pool.enqueue_many([write_row.job(1)], partition_key="k")
    reveal_type(await results[0].result())  # type: str


def calls_that_are_wrong(pool: QueuePool, ctx: JobContext) -> None:
    write_row.job(id="1")  # error: arg-type
    write_row.job()  # error: call-arg
    write_row.job(id=1, nme="Ada")  # error: call-arg
    write_row.job(ctx=ctx, id=1)  # error: call-arg
    write_row(1)  # error: arg-type, call-arg
    fetch.job("x", 5)  # error: call-arg
    fetch.job("x", limit="5")  # error: arg-type
    crawl.job(1)  # error: arg-type
    pool.enqueue(write_row.job(1), {"id": 1}, partition_key="k")  # error: call-overload
    pool.enqueue(write_row.job(1), partition_key="k", dely=5)  # error: call-overload
    pool.enqueue("any", {})  # error: call-overload
    pool.enqueue("any", {}, partition_key="k", limit=7)  # error: call-overload
    task(limit={"mail": 5})  # error: call-overload
    pool.enqueue_many([{"id": 1}], partition_key="k")  # error: arg-type
    number: int = pool.enqueue(write_row.job(1), partition_key="k").result()  # error: assignment
    number += 1
