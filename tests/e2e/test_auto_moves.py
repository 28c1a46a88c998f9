"""A hot partition of a real cluster: the leader sees it, moves slots, and says so."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from queuepool import QueuePool
from queuepool.cli.local.cluster import LocalClusterSpec, LocalProcesses
from queuepool.models.log import LogKind
from queuepool.routing.moves import Stage, read_move
from tests.e2e.clusters import running, stepped
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(600)]
PARTITIONS, GROUPS, JOBS, JOB_S, WORKERS = 3, 6, 500, 0.2, 2


def test_slots_leave_a_hot_partition_without_anybody_asking(tmp_path: Path) -> None:
    plan = LocalClusterSpec(
        app="benchmarks.tasks",
        partitions=PARTITIONS,
        log_dir=tmp_path,
        base_workers=WORKERS,
        max_workers=WORKERS,
        drain_s=1.0,
        environment={"COORDINATOR_AUTO_MOVES": "6"},
    )
    with running(plan) as cluster, QueuePool(config=cluster.config) as pool:
        _check(cluster, pool)


def _check(cluster: LocalProcesses, pool: QueuePool) -> None:
    keys = [key for n in range(99) if pool.group(key := f"hot-{n}").partition.number == 0][:GROUPS]
    for key in keys:
        items = ({"ms": JOB_S * 1000, "i": i} for i in range(JOBS))
        pool.enqueue_many("nap", items, partition_key=key)

    def moved() -> bool:
        cluster.step()
        move = read_move(pool.route.read())
        return move is not None and move.stage is Stage.ENDED

    wait_until(moved, 420.0, interval_s=1.0)
    where = Counter(pool.group(key).partition.number for key in keys)
    wait_until(lambda: stepped(cluster) and all(pool.group(k).status().done for k in keys), 60.0)

    assert 0 < sum(where[n] for n in range(1, PARTITIONS)) <= GROUPS / 2
    [entry] = [one for one in pool.log(kinds=[LogKind.ACT]) if one.what == "move"]
    assert "the jobs of partition 0 want" in entry.why
    statuses = [pool.group(key).status() for key in keys]
    assert sum(s.left + s.done for s in statuses) == GROUPS * JOBS
    assert all(partition.audit().clean for partition in pool.partitions())
