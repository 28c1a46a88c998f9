"""What producers learn of a full partition: which limit, how much it holds, what makes room."""

import pytest

from queuepool import QueueFullError
from queuepool.tasks.registry import Registry
from queuepool.testing import MemoryPool, run_jobs


def test_dead_jobs_do_not_keep_producers_out() -> None:
    registry = Registry()

    @registry.task(name="die", max_attempts=1)
    def die() -> None:
        raise ValueError("boom")

    pool = MemoryPool(registry=registry, max_depth=5)
    for _ in range(3):
        pool.enqueue_many("die", [{}] * 5, partition_key="k")
        run_jobs(pool)

    status = pool.group("k").status()

    assert (status.dead, status.left) == (15, 0)


def test_a_partition_that_is_full_of_jobs_says_so() -> None:
    pool = MemoryPool(max_depth=3)
    pool.enqueue_many("t", [{}] * 3, partition_key="k")

    with pytest.raises(QueueFullError) as caught:
        pool.enqueue("t", {}, partition_key="k")

    assert "3 jobs in " in str(caught.value)
    assert "1 more would exceed QUEUEPOOL_MAX_DEPTH=3" in str(caught.value)
    assert "MAX_BYTES" not in str(caught.value)


def test_a_partition_that_is_full_of_bytes_says_so() -> None:
    pool = MemoryPool(max_bytes=1000)
    pool.enqueue("t", {"x": "x" * 800}, partition_key="k")

    with pytest.raises(QueueFullError) as caught:
        pool.enqueue("t", {"x": "x" * 800}, partition_key="k")

    assert "1 more would exceed QUEUEPOOL_MAX_BYTES=1000" in str(caught.value)
    assert "MAX_DEPTH" not in str(caught.value)
