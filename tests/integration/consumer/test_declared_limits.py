"""What tasks declare of limits, and what their handlers tell, reaches the homes of the limits."""

from __future__ import annotations

import pytest

from queuepool import Limit, LimitStatus, QueuePool
from queuepool.models import JobState
from queuepool.partitions.partition import Partition
from tests.integration.consumer.conftest import StartConsumer
from tests.integration.consumer.processes import Records, done
from tests.waiting import wait_until

KEY, TEMPLATE = "k", "downstream:{name}"
DECLARED = Limit("downstream:a", rate=500, burst=500)


def _limit(pool: QueuePool, name: str) -> LimitStatus:
    status = pool.limits.get(name)
    assert status is not None
    return status


@pytest.mark.parametrize("kind", ["default=threads:2", "default=process:2"])
def test_a_refusal_is_told_to_the_limit_that_the_task_declares(
    pool: QueuePool, partition: Partition, consume: StartConsumer, records: Records, kind: str
) -> None:
    refused = pool.enqueue(
        "ask", {"name": "a", "refused_for_s": 60}, partition_key=KEY, limit=TEMPLATE
    )
    consume(pools=kind)
    wait_until(lambda: (known := pool.limits.get("downstream:a")) and known.refused_ms)

    other = pool.enqueue("ask", {"name": "b"}, partition_key=KEY, limit=TEMPLATE)
    wait_until(lambda: done(partition) == 1)
    waits, free = _limit(pool, "downstream:a"), _limit(pool, "downstream:b")
    assert waits.declared == DECLARED
    assert waits.set is None
    assert 30_000 < waits.wait_ms <= 60_000
    assert (free.refused_ms, free.wait_ms) == (0, 0)
    status = refused.job_status()
    assert (status.state, status.attempts) == (JobState.DELAYED, 0)
    assert {run.job_id for run in records.runs() if run.ended_ns} == {other.job_id}
