"""Coordinator processes: they start, lead, die and are replaced."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import grpc
import pytest

from queuepool.client.pool import QueuePool
from queuepool.rpc.client import connect
from queuepool.rpc.v1 import queue_pool_pb2 as api
from tests.conftest import ServerFactory
from tests.integration.coordinator.cluster import BRIEF, FakeOwner, Process, look, obey_until
from tests.integration.coordinator.conftest import StartProcess
from tests.paths import ROOT
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("coordinator-process")


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return str(answer.read().decode())


@pytest.mark.serial
def test_a_standby_leads_after_the_leader_was_killed_and_counts_stay(
    pool: QueuePool, process: StartProcess
) -> None:
    owner = FakeOwner(pool.partition(0), workers=40)
    first = process(**BRIEF)
    wait_until(lambda: look(pool).address == first.grpc)
    second = process(**BRIEF)
    wait_until(lambda: pool.partition(0).observe().checkpoint == 40)
    old_epoch = look(pool).epoch

    first.kill()
    killed_s = time.monotonic()
    wait_until(lambda: look(pool).address == second.grpc)

    assert time.monotonic() - killed_s < 1.0 + 2.0  # lease + 2 s
    assert look(pool).epoch > old_epoch
    obey_until(owner, lambda: len({c.id.split("-")[0] for c in owner.heard}) == 2)
    for _ in range(10):
        owner.renew()
    assert owner.scales() == []
    assert owner.workers == pool.partition(0).observe().checkpoint == 40


def test_on_sigterm_a_leader_resigns_and_is_gone_at_once(
    pool: QueuePool, process: StartProcess
) -> None:
    # The lease is long on purpose: only a resignation lets the standby lead so soon.
    first = process(lease_s=300)
    wait_until(lambda: look(pool).address == first.grpc)
    second = process(lease_s=300)

    asked_s = time.monotonic()
    assert first.stop() == 0
    gone_s = time.monotonic()

    assert gone_s - asked_s < 60  # far from the lease; a busy machine takes its time
    wait_until(lambda: look(pool).address == second.grpc)


def test_both_answer_status_and_either_takes_manual_counts(
    pool: QueuePool, process: StartProcess
) -> None:
    owner = FakeOwner(pool.partition(0))
    first = process()
    wait_until(lambda: look(pool).address == first.grpc)
    second = process()

    with connect(second.grpc, deadline_s=30) as client:

        def leader() -> str:
            try:
                return str(client.GetCluster(api.GetClusterRequest()).cluster.leader.address)
            except grpc.RpcError:
                return ""

        wait_until(lambda: leader() == first.grpc)
        client.SetWorkers(api.SetWorkersRequest(partition=0, workers=20, ttl_s=60))

    obey_until(owner, lambda: owner.workers == 20)


def test_metrics_and_health_are_exposed(pool: QueuePool, process: StartProcess) -> None:
    running = process()
    wait_until(lambda: "queuepool_coordinator_leader 1.0" in get(running.metrics))
    pool.enqueue_many("work", ({"n": n} for n in range(12)), partition_key="bulk", tier="high")

    number = pool.producer.route("bulk").partition
    line = f'queuepool_ready_jobs{{partition="{number}",tier="high"}} 12.0'
    wait_until(lambda: line in get(running.metrics))

    assert get(running.metrics.replace("/metrics", "/healthz")) == "ok\n"
    assert "bulk" not in get(running.metrics)


def test_an_outage_is_survived_without_a_restart(server_factory: ServerFactory, stage: str) -> None:
    server = server_factory()
    running = Process(server.url, stage, **BRIEF)
    try:
        wait_until(lambda: "queuepool_coordinator_leader 1.0" in get(running.metrics))
        server.kill()
        wait_until(lambda: "queuepool_coordinator_leader 0.0" in get(running.metrics))
        assert get(running.metrics.replace("/metrics", "/healthz")) == "ok\n"

        server.start()

        wait_until(lambda: "queuepool_coordinator_leader 1.0" in get(running.metrics))
        assert running.popen.poll() is None
        assert running.stop() == 0
    finally:
        running.kill()


def test_a_server_that_hangs_does_not_keep_the_process_from_stopping(
    server_factory: ServerFactory, stage: str
) -> None:
    import signal

    server = server_factory()
    running = Process(server.url, stage, **BRIEF)
    try:
        wait_until(lambda: "queuepool_coordinator_leader 1.0" in get(running.metrics))
        os.kill(server.pid, signal.SIGSTOP)
        try:
            assert running.stop() == 0
        finally:
            os.kill(server.pid, signal.SIGCONT)
    finally:
        running.kill()


def run(**variables: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("QUEUEPOOL_", "COORDI"))}
    return subprocess.run(
        [sys.executable, "-m", "coordinator"],
        env={**env, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd="/",
    )


def test_every_configuration_problem_is_printed_and_the_exit_code_is_2() -> None:
    done = run(
        COORDINATOR_CYCLE_S="0",
        COORDINATOR_POLICY="magic",
        COORDINATOR_LEASE_S="1",
        QUEUEPOOL_PARTITIONS="0",
    )

    assert done.returncode == 2
    for part in (
        "COORDINATOR_CYCLE_S",
        "there is no scaling policy named 'magic'",
        "COORDINATOR_LEASE_S=1",
        "QUEUEPOOL_PARTITIONS",
    ):
        assert part in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_server_the_remedy_is_named() -> None:
    done = run()

    assert done.returncode == 2
    assert "QUEUEPOOL_URL" in done.stderr


def test_a_port_that_is_taken_is_named_with_its_remedy(
    process: StartProcess, redis_url: str
) -> None:
    port = process().grpc.rpartition(":")[2]

    done = run(QUEUEPOOL_URL=redis_url, COORDINATOR_GRPC_PORT=port)

    assert done.returncode == 2
    assert "COORDINATOR_GRPC_PORT=0" in done.stderr


def test_a_wildcard_without_a_token_is_refused_in_one_line(redis_url: str, stage: str) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("QUEUEPOOL_", "COORDI"))}
    env |= {"QUEUEPOOL_URL": redis_url, "QUEUEPOOL_STAGE": stage, "PYTHONPATH": str(ROOT)}
    env |= {"COORDINATOR_GRPC_HOST": "0.0.0.0", "COORDINATOR_GRPC_PORT": "0"}

    ended = subprocess.run(
        [sys.executable, "-m", "coordinator"],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (ended.returncode, ended.stdout) == (2, "")
    assert len(ended.stderr.splitlines()) == 1
    assert "COORDINATOR_GRPC_TOKEN" in ended.stderr
    assert "COORDINATOR_GRPC_INSECURE" in ended.stderr


def test_a_leader_on_every_address_tells_the_name_of_its_host(
    pool: QueuePool, process: StartProcess
) -> None:
    leader = process(grpc_host="0.0.0.0", grpc_token="of-operators")
    port = leader.grpc.rpartition(":")[2]

    wait_until(lambda: look(pool).address == f"{socket.gethostname()}:{port}")


def test_the_address_that_was_set_is_told(pool: QueuePool, process: StartProcess) -> None:
    process(grpc_host="0.0.0.0", grpc_insecure=True, grpc_address="coordinator.example:50551")

    wait_until(lambda: look(pool).address == "coordinator.example:50551")
