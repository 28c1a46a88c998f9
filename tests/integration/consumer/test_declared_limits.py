"""What tasks declare of limits, and what their handlers tell, reaches the homes of the limits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from queuepool import Limit, LimitStatus, QueuePool
from queuepool.models import JobState
from queuepool.partitions.partition import Partition
from queuepool.protocol.keys import Keyspace
from queuepool.routing.slots import home_of
from queuepool.routing.topology import build
from queuepool.settings.config import PoolConfig
from tests.conftest import ServerFactory
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


def test_a_refusal_that_a_home_could_not_hear_reaches_it_once_it_is_back(
    redis_url: str,
    server_factory: ServerFactory,
    stage: str,
    consume: StartConsumer,
    records: Records,
    tmp_path: Path,
) -> None:
    home = server_factory(tmp_path / "home")
    urls, placement = {"a": redis_url, "b": home.url}, "0=a,1=b"
    config = PoolConfig(topology=build(urls, 2, placement), keyspace=Keyspace(stage))
    name = next(n for n in map(str, range(99)) if home_of(f"downstream:{n}", 2) == 1)
    key = next(k for k in map(str, range(99)) if home_of(k, 2) == 0)
    task = {"name": name, "refused_for_s": 600, "gate": "open"}
    with QueuePool(config=config) as pool:
        refused = pool.enqueue("ask", task, partition_key=key, limit=TEMPLATE)
        servers = {"QUEUEPOOL_SERVERS": json.dumps(urls), "QUEUEPOOL_PLACEMENT": placement}
        consume(url="", partitions=2, environment=servers)
        wait_until(lambda: len(records.begun()) == 1)

        home.kill()
        (tmp_path / "open").touch()
        wait_until(lambda: refused.job_status().state is JobState.DELAYED)
        home.start()

        wait_until(lambda: _limit(pool, f"downstream:{name}").wait_ms)
        waits = _limit(pool, f"downstream:{name}")
    assert 400_000 < waits.wait_ms <= 600_000
