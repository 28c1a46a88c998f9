"""When jobs end, as a real cluster tells it: to applications, by commands, by gRPC."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from queuepool import AsyncQueuePool, QueuePool
from queuepool.cli.exits import Exit
from queuepool.cli.local.cluster import LocalClusterSpec, LocalProcesses
from queuepool.rpc.client import connect
from queuepool.rpc.v1 import queue_pool_pb2 as api
from tests.e2e.clusters import running
from tests.shell import Shell
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.server, pytest.mark.slow]
KEY, JOBS, JOB_S = "eta-bulk", 1_200, 0.2


def test_everyone_is_told_when_a_bulk_ends(tmp_path: Path, capsys: Any) -> None:
    plan = LocalClusterSpec(
        app="benchmarks.tasks",
        partitions=1,
        log_dir=tmp_path,
        base_workers=8,
        max_workers=8,
        drain_s=1.0,
        environment={},
    )
    with running(plan) as cluster, QueuePool(config=cluster.config) as pool:
        _check(cluster, pool, Shell(capsys))


def _check(cluster: LocalProcesses, pool: QueuePool, shell: Shell) -> None:
    items = [{"ms": JOB_S * 1000, "i": i} for i in range(JOBS)]
    pool.enqueue_many("nap", items, partition_key=KEY)
    group = pool.group(KEY)
    wait_until(lambda: group.status().done > JOBS / 8, 60.0)

    def ask() -> Any:
        with connect(cluster.grpc_address, cluster.grpc_token, deadline_s=30) as client:
            whole = client.GetCluster(api.GetClusterRequest()).cluster
            part = client.GetPartition(api.GetPartitionRequest(partition=0)).partition
            asked = api.GetGroupRequest(partition_key=KEY.encode(), watch_ms=1_000)
            return [whole.eta, part.eta, client.GetGroup(asked).group.eta], part.service_s

    told, began_s = [], monotonic()
    told.append((monotonic(), group.eta()))
    told.append((monotonic(), asyncio.run(_asked(cluster))))
    at_s = monotonic()
    answers, service_s = ask()
    told += [(at_s, answer) for answer in answers]
    url = cluster.config.topology.servers["main"]
    variables = {"QUEUEPOOL_URL": url, "QUEUEPOOL_PARTITIONS": "1"}
    code, out, err = shell.run_with("group", "show", KEY, "--json", **variables)
    assert code == Exit.OK, err
    assert json.loads(out)["eta"]["high_s"] > 1
    code, out, err = shell.run_with("what-if", "--max", "64", "--json", **variables)
    assert code == Exit.OK, err
    now, more = json.loads(out)["answers"]
    assert more["workers"] > now["workers"] == 8
    assert more["eta"]["likely_s"] < now["eta"]["likely_s"]
    code, out, _ = shell.run_with("status", **variables)
    assert "the current jobs will have ended in " in out
    group.wait(timeout_s=120, show=False)
    end_s = monotonic()

    assert service_s == pytest.approx(JOB_S, rel=0.5)
    for at_s, eta in told:
        assert eta is not None
        truth_s = end_s - at_s
        # Not each of them has to hold; none may be far off.
        assert 0.5 * truth_s - 2 < eta.likely_s < 2 * truth_s + 2, (eta, truth_s)
    assert end_s - began_s > 5
    assert group.eta() is not None


async def _asked(cluster: LocalProcesses) -> Any:
    async with AsyncQueuePool(config=cluster.config) as pool:
        return await pool.group(KEY).eta(over_s=0.5)
