"""A result that does not come in time: the error says what the job waits for, or why it failed."""

from __future__ import annotations

import pytest

from queuepool import Registry, WaitTimeoutError
from queuepool.testing import MemoryPool, run_jobs


@pytest.fixture
def registry() -> Registry:
    """Return a registry with one task, which fails."""
    registry = Registry()

    @registry.task
    def greet(name: str) -> str:
        raise ValueError(f"nobody is called\n{name}")

    return registry


@pytest.mark.parametrize(
    ("task", "says"),
    [
        ("gret", "is delayed, waiting, uncharged, for a consumer with task 'gret'; it may"),
        ("greet", r"is delayed, after ValueError: nobody is called\\nAda; it may still finish"),
    ],
    ids=["a mistyped task", "a handler that fails"],
)
def test_a_job_that_was_tried(registry: Registry, task: str, says: str) -> None:
    pool = MemoryPool(registry=registry)
    job = pool.enqueue(task, {"name": "Ada"}, partition_key="k")
    run_jobs(pool)

    with pytest.raises(WaitTimeoutError, match=says):
        job.result(timeout_s=0)


def test_a_job_that_no_consumer_has_started(registry: Registry) -> None:
    pool = MemoryPool(registry=registry)
    job = pool.enqueue("greet", {"name": "Ada"}, partition_key="k")

    with pytest.raises(WaitTimeoutError, match="is ready, no consumer has started it"):
        job.result(timeout_s=0)


def test_a_job_that_is_not_due_yet_has_no_reason(registry: Registry) -> None:
    pool = MemoryPool(registry=registry)
    job = pool.enqueue("greet", {"name": "Ada"}, partition_key="k", delay=60)

    with pytest.raises(WaitTimeoutError, match="is delayed; it may still finish"):
        job.result(timeout_s=0)
