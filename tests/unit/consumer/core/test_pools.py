"""What `--pools` may say, and which tasks fit into what it says."""

from typing import Any

import pytest

from consumer.core.pools import Kind, PoolPlan, home, misfits, parse_pools, strangers
from queuepool import Registry


def test_pools_of_each_kind_are_read() -> None:
    assert parse_pools("default=8..64, video=1..2,io=async:200..2000,cpu=process:2") == (
        PoolPlan("default", Kind.THREADS, 8, 64),
        PoolPlan("video", Kind.THREADS, 1, 2),
        PoolPlan("io", Kind.ASYNC, 200, 2000),
        PoolPlan("cpu", Kind.PROCESS, 2, 2),
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "write name=4"),
        ("default", "write name=4"),
        ("default=", "write name=4"),
        ("default=8..", "write name=4"),
        ("default=8-64", "write name=4"),
        ("default=-1", "write name=4"),
        ("default=1.5", "write name=4"),
        ("default=٣", "write name=4"),
        ("default=8,", "write name=4"),
        ("default=fibers:8", "kind 'fibers' is none of threads, async, process"),
        ("default=9..8", "9..8 is upside down"),
        ("default=0", "use 1 to 4096"),
        ("default=4097", "use 1 to 4096"),
        ("default=process:257", "use 1 to 256 for kind process"),
        ("default=1,default=2", "'default' is there twice"),
        ("video=1", "there is no pool 'default'"),
        ("Default=1", "a name of 1 to 32"),
        ("=1", "a name of 1 to 32"),
        (",".join(f"p{n}=1" for n in range(20)), "write name=4"),
    ],
)
def test_what_is_none_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=r"pool|write") as refused:
        parse_pools(text)

    assert why in str(refused.value)


def tasks(**options: Any) -> Registry:
    registry = Registry()
    registry.task(name="plain", **options)(lambda: None)

    async def coroutine() -> None: ...

    registry.task(name="coroutine", **options)(coroutine)
    return registry


def test_a_task_runs_in_the_pool_that_it_names_or_else_in_the_default_one() -> None:
    plans = parse_pools("default=8,video=2")

    assert {home(task, plans).name for task in tasks(pool="video")} == {"video"}
    assert {home(task, plans).name for task in tasks(pool="cpu")} == {"default"}
    assert strangers(tasks(pool="cpu"), plans) == {"plain": "cpu", "coroutine": "cpu"}
    assert strangers(tasks(), plans) == {}


def test_a_plain_function_does_not_fit_into_an_async_pool() -> None:
    (problem,) = misfits(tasks(), parse_pools("default=async:200"))

    assert "task 'plain' is a plain function, and its pool 'default' is of kind async" in problem
    assert misfits(tasks(), parse_pools("default=process:2")) == []


def test_a_job_cannot_take_more_places_than_its_pool_may_have() -> None:
    problems = misfits(tasks(slots=5), parse_pools("default=2..4"))

    assert "task 'plain' takes slots=5, and its pool 'default' has at most 4" in problems[0]
    assert misfits(tasks(slots=4), parse_pools("default=2..4")) == []
