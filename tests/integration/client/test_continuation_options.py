"""What a continuation cannot be, or have: it is told, not dropped."""

from __future__ import annotations

from typing import Any

import pytest

from queuepool import After, Flow, InvalidInputError, Job
from queuepool.client.continuing import continuation
from queuepool.testing import MemoryPool


@pytest.fixture
def pool() -> MemoryPool:
    return MemoryPool(4)


@pytest.mark.parametrize(("option", "wrong"), [("then", "publish"), ("into", "batch-7")])
def test_what_is_no_continuation_and_no_batch_is_told(
    pool: MemoryPool, option: str, wrong: str
) -> None:
    with pytest.raises(InvalidInputError, match=f"{option}='{wrong}': use"):
        pool.enqueue_many("resize", [{"photo": 1}], partition_key="a", **{option: wrong})  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"unique": "k"}, "cannot have a unique key or expire"),
        ({"expires_s": 5}, "cannot have a unique key or expire"),
        ({"delay_s": 5}, "cannot have a delay_s"),
        ({"delay": 5}, "cannot have a delay"),
        ({"job_id": "mine"}, "cannot have a job_id"),
    ],
)
def test_a_continuation_does_not_drop_what_its_job_asks_for(
    pool: MemoryPool, options: dict[str, Any], said: str
) -> None:
    then = After(Job({"album": 7}, task="publish", **options))
    steps = Flow("night", partition_key="n").add("resize", {"photo": 1})
    steps.add("publish", each=[Job({"album": 7}, **options)], after=["resize"])

    with pytest.raises(InvalidInputError, match=said):
        pool.enqueue_many("resize", [{"photo": 1}], partition_key="a", then=then)
    with pytest.raises(InvalidInputError, match=said):
        pool.enqueue_flow(steps)
    assert pool.inspect.count() == 0


def test_a_continuation_has_the_limit_of_its_job(pool: MemoryPool) -> None:
    with_limit = After(Job({"album": 7}, task="publish", limit="mail"))
    without = After(Job({"album": 7}, task="publish"))

    wishes = [
        continuation(pool.producer, then, "a").chunk(None)[1].wishes
        for then in (with_limit, without)
    ]

    assert "mail" in str(wishes[0])
    assert "mail" not in str(wishes[1])
