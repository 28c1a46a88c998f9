"""Holds and settings of groups through the gRPC API of a real process, and its commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest

from queuepool.cli.exits import Exit
from queuepool.client.pool import QueuePool
from queuepool.models import Tier
from queuepool.rpc.client import QueuePoolClient, connect
from queuepool.rpc.v1 import queue_pool_pb2 as api
from tests.integration.coordinator.cluster import Process
from tests.integration.coordinator.conftest import StartProcess
from tests.shell import Shell
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("coordinator-process")
KEY = "bulk-42"


@pytest.fixture
def running(process: StartProcess, pool: QueuePool) -> Process:
    pool.enqueue("work", partition_key=KEY)
    return process()


@pytest.fixture
def client(running: Process) -> Iterator[QueuePoolClient]:
    with connect(running.grpc, deadline_s=30) as made:
        yield made


def refusal(call: Any, request: Any) -> tuple[str, str]:
    """Return code and details of a call that is refused."""
    with pytest.raises(grpc.RpcError) as caught:
        call(request)
    return caught.value.code().name, caught.value.details() or ""


def held(pool: QueuePool) -> list[bool]:
    return [partition.observe().held_ms is not None for partition in pool.partitions()]


def test_a_group_is_held_and_released(pool: QueuePool, client: QueuePoolClient) -> None:
    key = KEY.encode()

    answers = [client.Hold(api.HoldRequest(partition_key=key)).changed for _ in range(2)]

    assert answers == [1, 0]
    assert pool.group(KEY).status().held_ms is not None
    assert client.GetGroup(api.GetGroupRequest(partition_key=key)).group.HasField("held_since_ms")
    assert held(pool) == [False, False]
    answers = [client.Release(api.ReleaseRequest(partition_key=key)).changed for _ in range(2)]
    assert answers == [1, 0]
    assert pool.group(KEY).status().held_ms is None


def test_partitions_are_held_and_released_one_by_one_or_all(
    pool: QueuePool, client: QueuePoolClient
) -> None:
    assert client.Hold(api.HoldRequest(partition=0)).changed == 1
    assert held(pool) == [True, False]
    assert client.Hold(api.HoldRequest(all=True)).changed == 1
    assert held(pool) == [True, True]
    assert client.Release(api.ReleaseRequest(partition=1)).changed == 1
    assert held(pool) == [True, False]
    assert client.Release(api.ReleaseRequest(all=True)).changed == 1
    assert held(pool) == [False, False]


def test_a_task_is_held_and_released_in_all_partitions(
    pool: QueuePool, client: QueuePoolClient
) -> None:
    def tasks() -> list[list[str]]:
        return [list(partition.observe().held_tasks) for partition in pool.partitions()]

    answers = [client.Hold(api.HoldRequest(task="work")).changed for _ in range(2)]

    assert answers == [2, 0]
    assert tasks() == [["work"], ["work"]]
    wait_until(lambda: list(_states(client)[0].held_tasks) == ["work"])
    answers = [client.Release(api.ReleaseRequest(task="work")).changed for _ in range(2)]
    assert answers == [2, 0]
    assert tasks() == [[], []]
    code, why = refusal(client.Hold, api.HoldRequest(task="work", pool="default"))
    assert (code, "omit the pool" in why) == ("INVALID_ARGUMENT", True)
    code, why = refusal(client.Hold, api.HoldRequest(task=""))
    assert (code, "1 to 128 bytes" in why) == ("INVALID_ARGUMENT", True)

    def noted() -> list[str]:
        log = client.Log(api.LogRequest()).entries
        return [one.subject for one in log if one.what == "hold" and "2" in one.outcome]

    wait_until(lambda: noted() == ["task work"])


def _states(client: QueuePoolClient) -> list[Any]:
    return list(client.ListPartitions(api.ListPartitionsRequest()).partitions)


def test_a_group_is_configured_and_what_is_left_out_stays(
    pool: QueuePool, client: QueuePoolClient
) -> None:
    def configure(**settings: Any) -> bool:
        request = api.ConfigureGroupRequest(partition_key=KEY.encode(), **settings)
        return client.ConfigureGroup(request).changed

    def now() -> tuple[int | None, bool]:
        status = pool.group(KEY).status()
        return status.max_running, status.serial

    assert configure(max_running=3)
    assert not configure(max_running=3)
    assert not configure()
    assert now() == (3, False)
    assert configure(serial=True)
    assert now() == (3, True)
    assert configure(max_running=0, serial=False, weight=3)
    assert now() == (None, False)
    group = client.GetGroup(api.GetGroupRequest(partition_key=KEY.encode())).group
    assert (pool.group(KEY).status().weight, group.weight, group.total) == (3, 3, 1)
    assert not group.HasField("tier")
    assert configure(tier="high")
    assert not configure(tier="high")
    assert client.GetGroup(api.GetGroupRequest(partition_key=KEY.encode())).group.tier == "high"
    assert pool.group(KEY).status().tier is Tier.HIGH
    assert configure(tier="own")


def test_a_group_is_configured_before_its_first_job(
    pool: QueuePool, client: QueuePoolClient
) -> None:
    key = b"tonight"
    request = api.ConfigureGroupRequest(partition_key=key, max_running=3, create=True)
    assert [client.ConfigureGroup(request).changed for _ in range(2)] == [True, False]
    assert client.GetGroup(api.GetGroupRequest(partition_key=key)).group.max_running == 3
    pool.enqueue("work", partition_key="tonight")
    assert pool.group("tonight").status().max_running == 3


def test_a_tenant_is_configured_held_and_shown(pool: QueuePool, client: QueuePoolClient) -> None:
    pool.enqueue("work", partition_key=KEY, tenant="acme")

    def configure(**settings: Any) -> bool:
        return client.ConfigureTenant(api.ConfigureTenantRequest(tenant="acme", **settings)).changed

    assert (configure(max_running=3), configure(max_running=3), configure()) == (True, False, False)
    assert configure(weight=2)
    for on in (True, False):
        calls: list[Any] = (
            [client.Hold, api.HoldRequest] if on else [client.Release, api.ReleaseRequest]
        )
        call, request = calls
        assert [call(request(tenant="acme")).changed for _ in range(2)] == [1, 0]
        shown = client.GetTenant(api.GetTenantRequest(tenant="acme")).tenant
        assert shown.HasField("held_since_ms") == on
    assert (shown.ready, shown.max_running, shown.weight) == (1, 3, 2)
    status = pool.tenant("acme").status()
    assert (status.max_running, status.weight, status.held_ms) == (3, 2, None)
    [found] = client.ListTenants(api.ListTenantsRequest()).tenants
    assert (found.name, found.ready, found.in_flight) == ("acme", 1, 0)
    for name, value in (("max_running", 100_001), ("weight", 101), ("tenant", "")):
        invalid: Any = api.ConfigureTenantRequest(tenant="acme")
        setattr(invalid, name, value)
        assert refusal(client.ConfigureTenant, invalid)[0] == "INVALID_ARGUMENT"
    assert held(pool) == [False, False]


def test_what_cannot_be_held_or_configured_is_refused_as_by_the_library(
    pool: QueuePool, client: QueuePoolClient
) -> None:
    calls: list[tuple[Any, Any]] = [
        (client.Hold, api.HoldRequest),
        (client.Release, api.ReleaseRequest),
        (client.ConfigureGroup, api.ConfigureGroupRequest),
    ]
    for call, request in calls:
        code, details = refusal(call, request(partition_key=b"other"))
        assert (code, "group 'other' has no jobs" in details) == ("NOT_FOUND", True), details
        assert refusal(call, request())[0] == "INVALID_ARGUMENT"
    for call, request in calls[:2]:
        code, details = refusal(call, request(partition=2))
        assert (code, "use 0 to 1" in details) == ("NOT_FOUND", True)
        assert refusal(call, request(all=False))[0] == "INVALID_ARGUMENT"
    for name, value in (("max_running", 100_001), ("weight", 101), ("tier", "urgent")):
        invalid: Any = api.ConfigureGroupRequest(partition_key=KEY.encode())
        setattr(invalid, name, value)
        code, details = refusal(client.ConfigureGroup, invalid)
        assert (code, f"{name}={value!r}" in details) == ("INVALID_ARGUMENT", True)
    assert held(pool) == [False, False]
    assert pool.group(KEY).status().max_running is None


def test_the_log_says_what_an_operator_did_and_why(
    running: Process, client: QueuePoolClient
) -> None:
    client.Hold(api.HoldRequest(partition_key=KEY.encode(), reason="disk\nfull"))
    request = api.ConfigureGroupRequest(partition_key=KEY.encode(), max_running=3, reason="slow")
    client.ConfigureGroup(request)

    def logged(*parts: str) -> bool:
        return any(all(part in line for part in parts) for line in running.log)

    wait_until(lambda: logged("held group bulk-42", 'reason="disk full"', "127.0.0.1"))
    wait_until(lambda: logged("configured group bulk-42", "max_running=3", "reason=slow"))


def test_a_server_that_is_down_is_told_before_the_call_runs_out_of_time(
    server_factory: Callable[..., Any], stage: str
) -> None:
    server = server_factory()
    process = Process(server.url, stage)
    try:
        with connect(process.grpc, deadline_s=30) as client:
            client.Hold(api.HoldRequest(all=True))
            server.kill()
            code, _ = refusal(client.Release, api.ReleaseRequest(all=True))
        assert code == "UNAVAILABLE"
    finally:
        process.kill()


# -- commands --------------------------------------------------------------------------------------


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], stage: str) -> Shell:
    return Shell(capsys)


def nowhere(running: Process, stage: str) -> dict[str, str]:
    """Return settings with which only the coordinator can have done something."""
    return {
        "QUEUEPOOL_URL": "redis://127.0.0.1:1/0",
        "QUEUEPOOL_STAGE": stage,
        "QUEUEPOOL_GRPC": running.grpc,
    }


def test_commands_ask_the_coordinator(
    running: Process, pool: QueuePool, shell: Shell, stage: str
) -> None:
    def run(*words: str) -> str:
        code, out, err = shell.run_with(*words, **nowhere(running, stage))
        assert code == Exit.OK, err
        return out

    assert run("hold", "group", KEY) == "group bulk-42 is held now\n"
    assert run("hold", "group", KEY) == "group bulk-42 was held before\n"
    assert pool.group(KEY).status().held_ms is not None
    assert run("release", "group", KEY) == "group bulk-42 is released now\n"
    assert run("hold", "partition", "1") == "partition 1 is held now\n"
    assert run("hold", "all") == "1 partitions held\n"
    assert run("release", "all") == "2 partitions released\n"
    assert run("group", "configure", KEY, "--max-running", "3") == "configured\n"
    assert "unchanged" in run("group", "configure", KEY, "--max-running", "3")
    run("group", "configure", KEY, "--serial", "--weight", "2", "--json")
    said = shell.lines[-1]
    assert (said["key"], said["max_running"], said["serial"]) == (KEY, 3, True)
    assert said["weight"] == 2
    assert (said["total"], said["ready"], said["held_ms"]) == (1, 1, None)
    for words in (("hold", "group", "other"), ("hold", "partition", "7")):
        code, _, err = shell.run_with(*words, **nowhere(running, stage))
        assert (code, "refused" in err) == (Exit.USAGE, True), err
    code, _, err = shell.run_with("scale", "9000000000", "3", **nowhere(running, stage))
    assert (code, "there is no partition 9000000000" in err) == (Exit.USAGE, True), err
    code, _, err = shell.run_with(
        "group", "configure", KEY, "--max-running", "9000000000", **nowhere(running, stage)
    )
    assert (code, "max_running=9000000000" in err) == (Exit.USAGE, True), err


def test_without_a_coordinator_they_do_it_themselves_unless_one_is_named(
    pool: QueuePool, shell: Shell, redis_url: str, stage: str
) -> None:
    settings = {"QUEUEPOOL_URL": redis_url, "QUEUEPOOL_STAGE": stage, "QUEUEPOOL_PARTITIONS": "2"}
    away = "127.0.0.1:1"
    words = ("hold", "all")

    code, _, err = shell.run_with(*words, "--grpc", away, **settings)
    assert (code, held(pool)) == (Exit.UNAVAILABLE, [False, False]), err
    code, out, err = shell.run_with(*words, QUEUEPOOL_GRPC=away, **settings)
    assert (code, out, held(pool)) == (Exit.OK, "2 partitions held\n", [True, True]), err


def test_commands_about_tenants_go_to_the_coordinator(
    running: Process, pool: QueuePool, shell: Shell, stage: str
) -> None:
    def run(action: str, *more: str) -> str:
        words = ("tenant", action, "acme", *more)
        code, out, err = shell.run_with(*words, **nowhere(running, stage))
        assert code == Exit.OK, err
        return out

    assert run("configure", "--max-running", "3") == "tenant acme is configured now\n"
    assert run("hold") == "tenant acme is held now\n"
    assert "3 in each partition" in run("show")
    pool.enqueue("work", partition_key=KEY, tenant="acme")
    _, out, _ = shell.run_with("status", **nowhere(running, stage))
    assert "tenant acme 1 (0 in flight, held)" in out
    status = pool.tenant("acme").status()
    assert (status.max_running, status.held_ms is not None) == (3, True)
    run("release")
    assert pool.tenant("acme").status().held_ms is None
    wait_until(lambda: any("configured tenant acme" in line for line in running.log))
