"""What `--pools` may say, and which tasks fit into what it says."""

from typing import Any

import pytest

from consumer.core.pools import problems_of, unplaced
from queuepool import Registry
from queuepool.models.pools import Kind, PoolPlan, parse_pools


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
        ("", "use NAME=SIZE"),
        ("default", "use NAME=SIZE"),
        ("default=", "use NAME=SIZE"),
        ("default=8..", "use NAME=SIZE"),
        ("default=8-64", "use NAME=SIZE"),
        ("default=-1", "use NAME=SIZE"),
        ("default=1.5", "use NAME=SIZE"),
        ("default=٣", "use NAME=SIZE"),
        ("default=8,", "use NAME=SIZE"),
        ("default=fibers:8", "kind 'fibers' is unknown; use one of threads, async, process"),
        ("default=9..8", "9..8: the smaller number must come first"),
        ("default=0", "use 1 to 4096"),
        ("default=4097", "use 1 to 4096"),
        ("default=process:257", "use 1 to 256 for kind process"),
        ("default=1,default=2", "'default' is given twice"),
        ("Default=1", "a name of 1 to 32"),
        ("=1", "a name of 1 to 32"),
        (",".join(f"p{n}=1" for n in range(20)), "use NAME=SIZE"),
    ],
)
def test_what_is_none_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=r"pool|use") as refused:
        parse_pools(text)

    assert why in str(refused.value)


def tasks(**options: Any) -> Registry:
    registry = Registry()
    registry.task(name="plain", **options)(lambda: None)

    async def coroutine() -> None: ...

    registry.task(name="coroutine", **options)(coroutine)
    return registry


def test_a_plan_is_written_as_it_is_read() -> None:
    plans = parse_pools("default=8..64,io=async:200..2000,cpu=process:2")

    assert parse_pools(",".join(map(str, plans))) == plans


def test_tasks_of_a_pool_that_is_not_here_are_told_and_not_judged() -> None:
    plans = parse_pools("default=8,video=async:2")

    assert unplaced(tasks(pool="cpu"), plans) == {"plain": "cpu", "coroutine": "cpu"}
    assert unplaced(tasks(pool="video"), plans) == {}
    assert problems_of(tasks(pool="cpu", slots=99), plans) == []
    assert "its pool 'video' is of kind async" in problems_of(tasks(pool="video"), plans)[0]


def test_a_plain_function_does_not_fit_into_an_async_pool() -> None:
    (problem,) = problems_of(tasks(), parse_pools("default=async:200"))

    assert "task 'plain' is a plain function, and its pool 'default' is of kind async" in problem
    assert problems_of(tasks(), parse_pools("default=process:2")) == []


def test_a_job_cannot_take_more_places_than_its_pool_may_have() -> None:
    problems = problems_of(tasks(slots=5), parse_pools("default=2..4"))

    assert "task 'plain' takes slots=5, and its pool 'default' has at most 4" in problems[0]
    assert problems_of(tasks(slots=4), parse_pools("default=2..4")) == []
