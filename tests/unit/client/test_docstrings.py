"""The examples in the docstrings that users read are true: each runs, on a pool in memory."""

from __future__ import annotations

import asyncio
import doctest
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from queuepool import AsyncQueuePool, Limit, QueuePool, Registry, Schedule, TaskGroup
from queuepool.client.inspecting import Inspect
from queuepool.client.limits import Limits
from queuepool.client.schedules import Schedules
from queuepool.testing import MemoryPool, run_jobs

WITH_EXAMPLES = {
    "QueuePool": QueuePool,
    "QueuePool.enqueue": QueuePool.enqueue,
    "QueuePool.enqueue_many": QueuePool.enqueue_many,
    "QueuePool.status": QueuePool.status,
    "QueuePool.result": QueuePool.result,
    "QueuePool.cancel": QueuePool.cancel,
    "QueuePool.group": QueuePool.group,
    "AsyncQueuePool": AsyncQueuePool,
    "TaskGroup": TaskGroup,
    "Limits": Limits,
    "Schedules": Schedules,
    "Inspect": Inspect,
    "task": Registry.task,
}


@pytest.fixture
def names() -> Iterator[dict[str, Any]]:
    """What the examples take for granted, with someone who runs the jobs."""
    registry, over = Registry(), threading.Event()
    pool = MemoryPool(4, registry=registry)

    def work() -> None:
        while not over.wait(0.002):
            run_jobs(pool)

    worker = threading.Thread(target=work)
    worker.start()
    yield {
        "QueuePool": lambda _url, **_options: pool,
        "AsyncQueuePool": lambda _url, **_options: pool.asyncio(),
        "Limit": Limit,
        "Schedule": Schedule,
        "asyncio": asyncio,
        "pool": pool,
        "task": registry.task,
    }
    over.set()
    worker.join()


def greet(name: str) -> str:
    return f"Hello, {name}"


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_example_of_a_docstring_is_true(name: str, names: dict[str, Any]) -> None:
    text = WITH_EXAMPLES[name].__doc__ or ""
    if "def greet" not in text:
        names["greet"] = names["task"](greet)
    example = doctest.DocTestParser().get_doctest(text, names, name, None, None)

    report: list[str] = []
    found = doctest.DocTestRunner(verbose=False).run(example, out=report.append)

    assert found.attempted > 1
    assert found.failed == 0, "".join(report)
