"""The scaling record with real processes: by gRPC and `queuepool policy`, obeyed, audited."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
import redis

from queuepool.cli.exits import Exit
from queuepool.client.pool import QueuePool
from queuepool.client.scaling import ScalingRecords
from queuepool.rpc.client import QueuePoolClient, connect
from queuepool.rpc.v1 import queue_pool_pb2 as api
from tests.integration.coordinator.cluster import FakeOwner, Process, obey_until
from tests.integration.coordinator.conftest import Command, StartCommand, StartProcess
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("coordinator-process")


def put(client: QueuePoolClient, **values: str) -> api.SetPolicyResponse:
    return client.SetPolicy(api.SetPolicyRequest(changes=values, reason="their\nreason"))


def test_what_is_set_holds_within_cycles_and_the_log_names_who_set_it(
    running: Process, client: QueuePoolClient
) -> None:
    put(client, mode="hold-up", max_workers="100", profile="spike", budget="90", policy="static")

    def held() -> Any:
        return client.GetPolicy(api.GetPolicyRequest()).in_force

    wait_until(lambda: held().mode == "hold-up")
    found = held()
    cluster = client.GetCluster(api.GetClusterRequest()).cluster
    assert (found.policy, found.profile, found.budget) == ("static", "spike", 90)
    assert (found.limits.min_workers, found.limits.max_workers) == (16, 100)
    assert (cluster.policy, cluster.limits.max_workers) == ("static", 100)

    def logged(*parts: str) -> bool:
        return any(all(part in line for part in parts) for line in running.log)

    wait_until(lambda: logged("set policy", "mode=hold-up", 'reason="their reason"', "127.0.0.1"))
    wait_until(lambda: logged("SetPolicy by operator: OK"))
    wait_until(lambda: logged("scaling record:", "budget=90", "by="))


def test_workers_follow_and_a_new_leader_knows(process: StartProcess, pool: QueuePool) -> None:
    held = FakeOwner(pool.partition(0))
    first = process(policy="static", workers=20)
    with connect(first.grpc, deadline_s=30) as client:
        obey_until(held, lambda: held.workers == 20)
        put(client, max_workers="12")
        obey_until(held, lambda: held.workers == 12)
    first.stop()
    second = process(policy="static", workers=20)
    with connect(second.grpc, deadline_s=30) as client:
        wait_until(lambda: any("leading" in line for line in second.log))
        wait_until(lambda: client.GetPolicy(api.GetPolicyRequest()).HasField("in_force"))
        cluster = client.GetCluster(api.GetClusterRequest()).cluster
        assert cluster.limits.max_workers == 12
        put(client, max_workers="13")
        obey_until(held, lambda: held.workers == 13)
    assert {command.target_workers for command in held.scales()} == {20, 12, 13}


def test_two_operators_do_not_overwrite_each_other_unseen(client: QueuePoolClient) -> None:
    seen = client.GetPolicy(api.GetPolicyRequest()).record.version
    put(client, max_workers="12")

    with pytest.raises(grpc.RpcError) as refused:
        client.SetPolicy(api.SetPolicyRequest(changes={"max_workers": "50"}, version=seen))

    assert refused.value.code() is grpc.StatusCode.ABORTED
    assert "nothing was set" in (refused.value.details() or "")
    assert client.GetPolicy(api.GetPolicyRequest()).record.values == {"max_workers": "12"}


def test_bad_values_are_refused_with_what_to_write(client: QueuePoolClient) -> None:
    for changes, words in (
        ({"mode": "fast"}, "use auto, hold"),
        ({"min_workers": "9", "max_workers": "4"}, "is above"),
        ({"nothing": "1"}, "cannot be set"),
    ):
        with pytest.raises(grpc.RpcError) as refused:
            client.SetPolicy(api.SetPolicyRequest(changes=changes))
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert words in (refused.value.details() or "")
    assert client.GetPolicy(api.GetPolicyRequest()).record.version == 0


def test_a_damaged_record_keeps_the_last_good_one_and_is_told_once(
    running: Process, client: QueuePoolClient, pool: QueuePool, redis_url: str
) -> None:
    put(client, max_workers="12")
    wait_until(lambda: client.GetPolicy(api.GetPolicyRequest()).in_force.limits.max_workers == 12)
    key = pool.config.keyspace.system() + b":policy"

    with redis.Redis.from_url(redis_url) as server:
        server.hset(key, mapping={"version": 10**14, "record": b"x" * 1_000_000})

    wait_until(lambda: client.GetPolicy(api.GetPolicyRequest()).in_force.problem)
    answer = client.GetPolicy(api.GetPolicyRequest())
    assert answer.in_force.limits.max_workers == 12
    assert "1,000,000 bytes" in answer.record.problem
    with pytest.raises(grpc.RpcError) as refused:
        put(client, mode="hold")
    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    client.SetPolicy(api.SetPolicyRequest(changes={"mode": "hold"}, replace=True))
    wait_until(lambda: client.GetPolicy(api.GetPolicyRequest()).in_force.mode == "hold")
    assert sum("is not obeyed; the previous one" in line for line in running.log) == 1


def test_a_key_of_another_type_is_named_to_those_who_ask(
    client: QueuePoolClient, pool: QueuePool, redis_url: str
) -> None:
    with redis.Redis.from_url(redis_url) as server:
        server.set(pool.config.keyspace.system() + b":policy", b"text")

    with pytest.raises(grpc.RpcError) as refused:
        client.GetPolicy(api.GetPolicyRequest())

    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert "wrong kind of value" in (refused.value.details() or "")


# -- commands --------------------------------------------------------------------------------------


@pytest.fixture
def run(command: StartCommand) -> Command:
    return command("policy")


def test_commands_do_the_same_by_a_coordinator_and_without_one(run: Any, pool: QueuePool) -> None:
    assert "set" in run("show")
    assert run("set", "mode=hold", "budget=96") == "budget: not set -> 96\nmode: not set -> hold\n"
    assert run("set", "mode=hold") == "unchanged: it had these values already\n"
    assert run("set", "mode=auto", "budget=", "--reason", "over") == (
        "budget: 96 -> not set\nmode: hold -> auto\n"
    )
    [shown] = run("show", "--json")
    assert (shown["values"], shown["reason"]) == ({"mode": "auto"}, "over")
    assert shown["by"]
    text = run("show")
    assert "set: mode" in text
    assert str(shown["version"]) in text
    assert ScalingRecords(*pool.system).read().values == {"mode": "auto"}
    assert "has been changed" in run("set", "mode=hold", "--version", "7", code=Exit.FAILED)
    assert run("set", "mode=hold", "--version", str(shown["version"])).startswith("mode: auto")
    assert run("set", "--replace") == "mode: hold -> not set\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("set",), "at least one NAME=VALUE"),
        (("set", "mode"), "write NAME=VALUE"),
        (("set", "=hold"), "write NAME=VALUE"),
        (("set", "mode=hold", "mode=auto"), "given twice"),
        (("set", "mode=fast"), "use auto, hold"),
        (("set", "max_worker=3"), "cannot be set"),
        (("set", "schedule=MON 8-9 floor=3"), "is not a time span"),
        (("set", "drain_s=0"), "above 0"),
        (("set", "min_workers=9", "max_workers=8"), "is above"),
    ],
)
def test_wrong_usage_is_told(run: Any, words: tuple[str, ...], said: str) -> None:
    assert said in run(*words, code=Exit.USAGE)
