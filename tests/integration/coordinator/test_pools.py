"""Each pool is scaled by itself; people see it and set it as 0/video. Real processes."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest

from coordinator.core.replay.replaying import replayed
from queuepool.client.pool import QueuePool
from queuepool.client.scaling import ScalingRecords
from queuepool.rpc.client import QueuePoolClient, connect
from queuepool.rpc.v1 import queue_pool_pb2 as api
from tests.integration.coordinator.cluster import FakeOwner, obey_until
from tests.integration.coordinator.conftest import StartProcess
from tests.shell import Shell
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("coordinator-process")
LIMITS = "default=8..64,video=1..3"
GROUP = "album"


@pytest.fixture
def video(pool: QueuePool) -> FakeOwner:
    """The owner of a pool of the partition of the group, with many jobs for one worker."""
    pool.enqueue_many("encode", [{}] * 500, partition_key=GROUP, pool="video")
    number = pool.group(GROUP).partition.number
    return FakeOwner(pool.partition(number, "video"), workers=1)


@pytest.fixture
def client(process: StartProcess) -> Iterator[QueuePoolClient]:
    with connect(process(pools=LIMITS).grpc, deadline_s=30) as made:
        yield made


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def rows(client: QueuePoolClient) -> dict[tuple[int, str], int]:
    """Return the wanted workers of each partition and pool; none before the first observation."""
    try:
        found = client.ListPartitions(api.ListPartitionsRequest()).partitions
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.UNAVAILABLE:
            raise
        return {}
    return {(each.partition, each.pool): each.workers.target for each in found}


def test_a_pool_is_scaled_by_its_own_work_within_its_own_limits(
    pool: QueuePool, video: FakeOwner, client: QueuePoolClient
) -> None:
    number = video.owned.partition.number
    plain = FakeOwner(pool.partition(number), workers=8)

    def grown() -> bool:
        video.busy = video.workers
        video.obey()
        plain.obey()
        return video.workers == 3

    wait_until(grown, 30)

    assert plain.workers == 8  # has no work, and no command for it
    asked = api.ExplainRequest(partition=number, pool="video")
    # The command is sent before its decision is on record.
    wait_until(lambda: client.Explain(asked).explanations[0].decision.target == 3)
    listed = client.ListDecisions(api.ListDecisionsRequest(partition=number, pool="video"))
    assert {one.target for one in listed.decisions} & {2, 3}
    targets = {one.target for one in client.ListDecisions(api.ListDecisionsRequest()).decisions}
    assert not targets & {2, 3}, "those of default have its range"
    with pytest.raises(grpc.RpcError, match="pool 'none' is unknown"):
        client.Explain(api.ExplainRequest(partition=number, pool="none"))
    with pytest.raises(grpc.RpcError, match="pool 'none' is unknown"):
        client.ListDecisions(api.ListDecisionsRequest(pool="none"))
    assert all(command.target_workers <= 3 for command in video.scales())
    wait_until(lambda: rows(client).get((number, "video")) == 3)
    assert {key for key in rows(client) if key[1]} == {(number, "video")}


def test_people_set_the_workers_of_a_pool(
    pool: QueuePool, video: FakeOwner, client: QueuePoolClient
) -> None:
    number = video.owned.partition.number
    wait_until(lambda: (number, "video") in rows(client), 30)
    request = api.SetWorkersRequest(partition=number, pool="video", workers=9, ttl_s=60)

    assert client.SetWorkers(request).workers == 3  # the most of that pool

    def told() -> bool:  # the policy may have wanted another count before
        video.renew()
        return bool(video.scales()) and video.scales()[-1].target_workers == 3

    wait_until(told, 30)
    asked = api.GetPartitionRequest(partition=number, pool="video")
    wait_until(lambda: client.GetPartition(asked).partition.HasField("manual_until_ms"), 30)
    got = client.GetPartition(asked).partition
    assert (got.pool, got.backlog) == ("video", 500)
    client.ClearWorkers(api.ClearWorkersRequest(partition=number, pool="video"))
    with pytest.raises(Exception, match="pool 'none' is unknown"):
        client.SetWorkers(api.SetWorkersRequest(partition=number, pool="none", workers=1, ttl_s=60))


def test_people_set_how_a_pool_is_scaled(
    pool: QueuePool, video: FakeOwner, client: QueuePoolClient
) -> None:
    number = video.owned.partition.number
    wait_until(lambda: (number, "video") in rows(client), 30)
    plain = client.GetPolicy(api.GetPolicyRequest())

    client.SetPolicy(api.SetPolicyRequest(pool="video", changes={"max_workers": "2"}))

    def most() -> int:
        held = client.GetPolicy(api.GetPolicyRequest(pool="video")).in_force
        return int(held.limits.max_workers)

    wait_until(lambda: most() == 2, 30)
    assert client.GetPolicy(api.GetPolicyRequest()) == plain
    assert plain.in_force.limits.max_workers == 64
    with pytest.raises(grpc.RpcError, match="pool 'none' is unknown"):
        client.GetPolicy(api.GetPolicyRequest(pool="none"))


def test_a_pool_is_recorded_and_shadowed_by_itself(
    pool: QueuePool,
    video: FakeOwner,
    process: StartProcess,
    redis_url: str,
    stage: str,
    shell: Shell,
    tmp_path: Path,
    stack: ExitStack,
) -> None:
    number = video.owned.partition.number
    grpc_address = process(pools=LIMITS).grpc
    variables = {"URL": redis_url, "STAGE": stage, "PARTITIONS": "2", "GRPC": grpc_address}
    settings = {f"QUEUEPOOL_{name}": value for name, value in variables.items()}
    client = stack.enter_context(connect(grpc_address, deadline_s=30))
    wait_until(lambda: (number, "video") in rows(client), 30)
    file = str(tmp_path / "video.rec")

    def run(*words: str, code: int = 0) -> str:
        assert shell.run_with(*words, **settings)[0] == code, shell.out + shell.err
        return shell.out + shell.err

    run("shadow", "static", "--set", "workers=2", "--pool", "video")
    assert ScalingRecords(*pool.system).read().values == {}
    obey_until(video, lambda: video.workers == 3)
    run("record", file, "--size", "4kB", "--pool", "video")

    said = run("replay", file)
    assert "cycles of pool video in" in said
    assert "were reproduced exactly" in said
    assert json.loads(run("replay", file, "--json"))["pool"] == "video"
    seen = [
        {one.partition: one.state.jobs for one in found.cycle.observations if one.state}
        for found in replayed(Path(file).read_bytes().splitlines(keepends=True))
    ]
    assert seen[-1][number] == 500
    assert sum(seen[-1].values()) == 500, "of pool video alone"
    asked = api.GetClusterRequest(pool="video")
    obey_until(video, lambda: client.GetCluster(asked).cluster.shadow.live_side.worker_s > 0)
    assert client.GetCluster(asked).cluster.limits.max_workers == 3
    assert not client.GetCluster(api.GetClusterRequest()).cluster.HasField("shadow")
    assert "static would have cost" in run("shadow", "--pool", "video")
    assert "no shadow has run" in run("shadow")
    run("shadow", "--stop", "--pool", "video")
    assert "pool 'none' is unknown" in run("record", file + "2", "--pool", "none", code=2)
    assert "pool 'none' is unknown" in run("shadow", "--pool", "none", code=2)

    now, more = json.loads(run("what-if", "--pool", "video", "--max", "9", "--json"))["answers"]
    assert (now["jobs"], now["workers"]) == (500, 3)
    assert now["workers"] <= more["workers"] <= 9
    plain = json.loads(run("what-if", "--pool", "default", "--json"))["answers"]
    assert plain[0]["jobs"] == 0
    assert "there is no pool none" in run("what-if", "--pool", "none", code=2)


def test_one_budget_is_for_the_workers_of_all_pools(
    pool: QueuePool, video: FakeOwner, client: QueuePoolClient
) -> None:
    version = client.SetPolicy(api.SetPolicyRequest(changes={"total_budget": "20"})).after.version
    asked = api.GetPolicyRequest()
    wait_until(lambda: client.GetPolicy(asked).in_force.record_version == version, 30)
    wait_until(lambda: 1 <= client.GetPolicy(asked).in_force.budget <= 20, 30)
    pool.enqueue_many("nothing", [{}] * 5_000, partition_key=GROUP)
    plain = FakeOwner(pool.partition(video.owned.partition.number))
    with pytest.raises(grpc.RpcError, match="total_budget applies to all pools together"):
        client.SetPolicy(api.SetPolicyRequest(changes={"total_budget": "9"}, pool="video"))
    listed = api.ListDecisionsRequest(partition=plain.owned.partition.number, page_size=50)
    met: list[int] = []

    def obeyed() -> None:
        for owner in (plain, video):
            owner.busy = owner.workers
            owner.obey()
        met.append(plain.workers)

    def told() -> bool:
        obeyed()
        decisions = client.ListDecisions(listed).decisions
        whys = [m.why for one in decisions for m in one.moved if m.name == "budget"]
        return any("for this pool, of 20 for all pools" in why for why in whys)

    def shared() -> bool:  # for a few cycles the sum may be above the budget
        obeyed()
        return plain.workers >= 15 and video.workers == 3 and plain.workers + video.workers <= 20

    wait_until(told, 60, interval_s=0.05)
    wait_until(shared, 60, interval_s=0.05)

    assert max(met) <= 20, "no pool has more than all"
    client.SetPolicy(api.SetPolicyRequest(changes={"total_budget": ""}))

    def grown() -> bool:
        plain.obey()
        return plain.workers > 20

    wait_until(grown, 60, interval_s=0.05)


def test_people_hold_a_pool(pool: QueuePool, video: FakeOwner, client: QueuePoolClient) -> None:
    held = client.Hold(api.HoldRequest(all=True, pool="video"))

    assert held.changed == 1
    assert video.owned.partition.observe().held == 500
    assert pool.partition(0).observe().held_ms is None
    assert client.Release(api.ReleaseRequest(all=True, pool="video")).changed == 1


def test_a_count_above_the_maximum_in_force_is_refused_in_each_pool(
    pool: QueuePool, video: FakeOwner, process: StartProcess, redis_url: str, stage: str,
    shell: Shell,
) -> None:  # fmt: skip
    running, number = process(pools=LIMITS), video.owned.partition.number
    names = {"URL": redis_url, "STAGE": stage, "PARTITIONS": "2", "GRPC": running.grpc}
    settings = {f"QUEUEPOOL_{name}": value for name, value in names.items()}

    def scaled(place: str, workers: int) -> tuple[int, str]:
        code, _, err = shell.run_with("scale", place, str(workers), **settings)
        return code, err

    with connect(running.grpc, deadline_s=30) as client:
        wait_until(lambda: (number, "video") in rows(client), 30)
        code, err = scaled(f"{number}/video", 9)
        assert (code, "above the maximum of 3 in force" in err) == (2, True), err
        assert "`queuepool policy set --pool video max_workers=9`" in err
        assert scaled(f"{number}/video", 3) == (0, "")

        client.SetPolicy(api.SetPolicyRequest(changes={"max_workers": "10"}))
        held = api.GetClusterRequest()
        wait_until(lambda: client.GetCluster(held).cluster.limits.max_workers == 10, 30)
        code, err = scaled(f"{number}", 20)
    assert (code, "above the maximum of 10 in force" in err) == (2, True), err
    assert "`queuepool policy set max_workers=20`" in err


def test_the_command_line_names_pools(
    pool: QueuePool, redis_url: str, stage: str, monkeypatch: pytest.MonkeyPatch, shell: Shell
) -> None:
    for name, value in (("URL", redis_url), ("STAGE", stage), ("PARTITIONS", "2")):
        monkeypatch.setenv(f"QUEUEPOOL_{name}", value)
    monkeypatch.delenv("QUEUEPOOL_GRPC", raising=False)
    pool.enqueue("encode", {}, partition_key=GROUP, pool="video")
    number = pool.group(GROUP).partition.number

    def partitions() -> list[dict[str, Any]]:
        shell.run("status", "--json")
        return list(json.loads(shell.out)["partitions"])

    waiting = [(row["partition"], row["pool"]) for row in partitions() if row["backlog"]]
    assert waiting == [(number, "video")]
    shell.run("status")
    assert f"\n{number}/video " in shell.out
    unattended = f"partition {number}/video: jobs wait, but no consumer runs pool video"
    assert unattended in " ".join(shell.out.split())
    shell.run("check")
    assert unattended in shell.out

    shell.run("hold", "pool", "video")
    assert shell.out == "pool video is held now\n"
    assert shell.run("release", "partition", f"{number}/video") == 0
    assert shell.run("hold", "pool", "vidoe") != 0
    assert "known pools: default, video" in shell.err
    assert shell.run("hold", "pool", "}{") == 2
    assert shell.run("scale", f"{number}/video", "2") == 0
    assert shell.out.startswith(f"partition {number}/video: 2 workers for ")
    assert [row["pool"] for row in partitions() if row["manual_until_ms"]] == ["video"]
    assert shell.run("scale", f"{number}/none", "2") == 2
    assert shell.run("policy", "set", "--pool", "video", "max_workers=2") == 0
    shell.run("policy", "show", "--pool", "video", "--json")
    assert json.loads(shell.out)["values"] == {"max_workers": "2"}
    shell.run("policy", "show", "--json")
    assert json.loads(shell.out)["values"] == {}
    assert shell.run("policy", "show", "--pool", "none") == 2
    assert shell.run("why", f"{number}/video") == 1
    assert f"no decision about partition {number}/video is recorded" in shell.err
    assert shell.run("decisions", "--pool", "video") == 0
    assert shell.out == "no decisions have been recorded\n"
    assert shell.run("decisions", "--pool", "vidoe") == 2
    assert "pool 'vidoe' is unknown" in shell.err
    with pytest.raises(SystemExit, match="2"):
        shell.run("decisions", "--pool", "}{")
    with pytest.raises(SystemExit, match="2"):
        shell.run("scale", "x/video", "2")
    shell.run("audit")
    assert f"partition {number}/video: clean" in shell.out
