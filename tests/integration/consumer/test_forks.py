"""Handlers that fork: the child ends where its part of the handler ends, and keeps nothing."""

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from queuepool.client.pool import QueuePool
from queuepool.models import JobState
from queuepool.partitions.partition import Partition
from tests.integration.consumer.processes import ConsumerProcess, has_lifeline
from tests.waiting import wait_until

StartConsumer = Callable[..., ConsumerProcess]
APP = "tests.apps.forking"


def lines(directory: Path, name: str) -> list[tuple[int, str]]:
    """Return (pid, text) of what the handlers noted."""
    path = directory / name
    found = path.read_text().splitlines() if path.exists() else []
    return [(int(line.split(" ", 1)[0]), line.split(" ", 1)[1]) for line in found]


def result(pool: QueuePool, job_id: str) -> object:
    over = (JobState.DONE, JobState.DEAD)
    wait_until(lambda: pool.status(job_id, partition_key="g").state in over, message=job_id)
    return pool.result(job_id, partition_key="g")


HOW = {"return": (0, ""), "exit": (7, ""), "text": (1, "words of a child")}
HOW["raise"] = (1, "ValueError: of a child")


@pytest.mark.parametrize("task", ["fork", "fork_timed", "fork_async"])
def test_the_child_of_a_handler_ends_where_the_handler_ends(
    pool: QueuePool, consume: StartConsumer, tmp_path: Path, task: str
) -> None:
    process = consume(app=APP, workers=2)
    jobs = [(how, pool.enqueue(task, {"how": how}, partition_key="g").job_id) for how in [*HOW] * 2]
    others = [pool.enqueue("plain", {"n": n}, partition_key="g").job_id for n in range(60)]

    for how, job_id in jobs:
        assert result(pool, job_id) == HOW[how][0], how
    assert [result(pool, job_id) for job_id in others] == list(range(60))
    assert {pid for pid, _ in lines(tmp_path, "plain")} == {process.pid}
    assert len(lines(tmp_path, "plain")) == 60
    assert len(lines(tmp_path, "children")) == len(jobs)
    assert all(said in process.log for _, said in HOW.values())
    assert process.stop() == 0


def test_a_child_of_a_coroutine_takes_no_other_job_of_the_loop_along(
    pool: QueuePool, consume: StartConsumer, tmp_path: Path
) -> None:
    process = consume(app=APP, workers=4)
    ticking = pool.enqueue("ticks", {"seconds": 1.5}, partition_key="g").job_id
    wait_until(lambda: lines(tmp_path, "ticks"), message="the loop runs a job")

    forked = [
        pool.enqueue("fork_async", {"how": "await"}, partition_key="g").job_id for _ in range(4)
    ]

    assert [result(pool, job_id) for job_id in forked] == [1] * 4
    assert result(pool, ticking) == len(lines(tmp_path, "ticks"))
    assert {pid for pid, _ in lines(tmp_path, "ticks")} == {process.pid}
    assert [text for _, text in lines(tmp_path, "children")] == ["await"] * 4
    process.says("a child process forked in a coroutine used await")
    assert process.stop() == 0


def test_a_child_that_outlives_its_consumer_keeps_neither_its_port_nor_its_connections(
    pool: QueuePool, partition: Partition, consume: StartConsumer, tmp_path: Path, redis_url: str
) -> None:
    first = consume(app=APP, workers=2, metrics_port=0)
    port = first.port
    first.owns(partition)
    wait_until(lambda: has_lifeline(partition))  # a child may hold a connection that is being made
    child = result(pool, pool.enqueue("leave_child", partition_key="g").job_id)
    assert isinstance(child, int)
    try:
        wait_until(lambda: lines(tmp_path, "left"), message="the child lives")
        held = [str(each.readlink()) for each in Path(f"/proc/{child}/fd").iterdir()]
        # (Linux alone shows what it holds.)
        assert [name for name in held if name.startswith("socket:")] == []
        first.kill()

        second = consume(app=APP, workers=2, metrics_port=port)

        assert second.get("/healthz")[0] == 200
        assert result(pool, pool.enqueue("plain", {"n": 1}, partition_key="g").job_id) == 1
        assert second.stop() == 0
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_process_that_a_handler_started_by_fork_can_be_terminated(
    pool: QueuePool, consume: StartConsumer
) -> None:
    process = consume(app=APP, workers=1)
    job = pool.enqueue("terminated_process", partition_key="g").job_id

    assert result(pool, job) == -signal.SIGTERM
    assert process.is_running()
    assert process.stop() == 0


def test_a_port_in_use_is_waited_for_and_then_no_fault_of_the_settings(
    partition: Partition, consume: StartConsumer
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        refused = consume(app=APP, metrics_port=port)
        assert refused.ends() == 1
        assert f"CONSUMER_METRICS_PORT={port}: another process has listened" in refused.log
        assert "Traceback" not in refused.log
        patient = consume(app=APP, metrics_port=port)
        assert patient.is_running()
    patient.owns(partition)
    assert patient.get("/healthz")[0] == 200


def test_a_host_that_is_not_ours_is_a_fault_of_the_settings(consume: StartConsumer) -> None:
    process = consume(app=APP, metrics_host="192.0.2.1", metrics_port=0)
    assert process.ends() == 2
    assert "CONSUMER_METRICS_PORT=0 on 192.0.2.1" in process.log
