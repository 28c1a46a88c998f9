"""Strangers at /metrics and /healthz cost a process neither its lease nor its probes."""

from __future__ import annotations

import re
import resource
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import monotonic
from urllib.parse import urlsplit

import pytest

from queuepool.client.pool import QueuePool
from queuepool.models import JobState, Owner
from queuepool.partitions.partition import Partition
from tests.integration.consumer.processes import ConsumerProcess
from tests.integration.coordinator.cluster import BRIEF, Process, look
from tests.security.slow_clients import Strangers, accepted, ask, cpu_s, descriptors, threads
from tests.waiting import wait_until

pytestmark = pytest.mark.serial
STRANGERS = 300
ROUNDS = 10
OWN = 6  # descriptors that it needs for itself: what its jobs write, connections to its server
SPARE = 12  # descriptors that the process may open before its limit is reached


@pytest.fixture
def consumer(redis_url: str, stage: str, tmp_path: Path) -> Iterator[ConsumerProcess]:
    """A consumer with the shortest lease there is."""
    process = ConsumerProcess(redis_url, stage, tmp_path, lease_s=1, workers=2)
    yield process
    process.kill()


@pytest.fixture
def coordinator(redis_url: str, stage: str) -> Iterator[Process]:
    process = Process(redis_url, stage, partitions=1, **BRIEF)
    yield process
    process.kill()


def port_of(text: str) -> int:
    found = re.search(r"http://127\.0\.0\.1:\d+", text)
    assert found is not None, text
    port = urlsplit(found[0]).port
    assert port is not None
    return port


def owning(consumer: ConsumerProcess, partition: Partition) -> tuple[int, Owner]:
    """Wait until it owns the partition and answers; return (its port, what the server knows)."""
    consumer.owns(partition)
    consumer.says("metrics and health on ")
    port = port_of(consumer.log)
    ask(port)
    owner = partition.observe().owner
    assert owner is not None
    return port, owner


def limit_descriptors(pid: int, most: int, *, keep: int | None = None) -> None:
    """Let a process open no more; keep: to where it may be raised again."""
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, keep or most))


def ran(pool: QueuePool) -> None:
    """Have a job done."""
    job_id = pool.enqueue("work", {}, partition_key="k").job_id
    wait_until(lambda: pool.status(job_id, partition_key="k").state is JobState.DONE)


@pytest.mark.parametrize("limited", [False, True], ids=["descriptors", "no-descriptors"])
def test_a_consumer_keeps_its_lease_of_a_second_and_answers_honest_clients(
    pool: QueuePool, consumer: ConsumerProcess, limited: bool
) -> None:
    partition = pool.partition(0)
    port, owner = owning(consumer, partition)
    before, began = descriptors(consumer.pid), len(list(threads(consumer.pid)))
    if limited:
        limit_descriptors(consumer.pid, before + SPARE)
    used_s, since_s, waits_s = cpu_s(consumer.pid), monotonic(), list[float]()
    held = set[str]()

    with Strangers(port, STRANGERS) as strangers:
        for number in range(ROUNDS):
            strangers.annoy()
            for path in ("/healthz", "/metrics"):
                status, took_s = ask(port, path)
                assert status == "HTTP/1.1 200 OK", (path, number)
                waits_s.append(took_s)
            ran(pool)
            now = partition.observe().owner
            assert now is not None
            assert (now.epoch, now.host) == (owner.epoch, owner.host)
            assert descriptors(consumer.pid) <= before + 40
            held |= accepted(consumer.pid, port)
            assert len(list(threads(consumer.pid))) <= began + 2

        share = (cpu_s(consumer.pid) - used_s) / (monotonic() - since_s)

    assert share < 0.6
    assert held  # strangers were with it
    wait_until(lambda: not accepted(consumer.pid, port), message="every stranger is let go")
    assert descriptors(consumer.pid) <= before + OWN
    assert "Traceback" not in consumer.log
    assert "fenced" not in consumer.log.lower()
    assert consumer.stop() == 0


def test_a_consumer_that_can_open_nothing_at_all_keeps_its_lease_and_does_not_spin(
    pool: QueuePool, consumer: ConsumerProcess
) -> None:
    partition = pool.partition(0)
    port, owner = owning(consumer, partition)
    ran(pool)  # it has opened what it needs for that
    limit_descriptors(consumer.pid, 4, keep=1024)  # below every one that it could give up
    used_s, since_s = cpu_s(consumer.pid), monotonic()

    with Strangers(port, STRANGERS) as strangers:
        for _ in range(ROUNDS):
            strangers.annoy()
            ran(pool)
            now = partition.observe().owner
            assert now is not None
            assert (now.epoch, now.host) == (owner.epoch, owner.host)
        wait_until(lambda: monotonic() - since_s > 2.5)
        share = (cpu_s(consumer.pid) - used_s) / (monotonic() - since_s)

    assert share < 0.6
    assert "Traceback" not in consumer.log
    limit_descriptors(consumer.pid, 1024, keep=1024)
    wait_until(lambda: ask(port, "/metrics")[0] == "HTTP/1.1 200 OK")
    assert consumer.stop() == 0


def test_a_coordinator_keeps_the_lead_and_answers_honest_clients(
    pool: QueuePool, coordinator: Process
) -> None:
    port = port_of(coordinator.metrics)
    pid = coordinator.popen.pid
    wait_until(lambda: look(pool).epoch > 0)
    epoch = look(pool).epoch
    ask(port)
    limit_descriptors(pid, descriptors(pid) + SPARE)
    used_s, since_s, waits_s = cpu_s(pid), monotonic(), list[float]()

    with Strangers(port, STRANGERS) as strangers:
        for number in range(ROUNDS):
            strangers.annoy()
            for path in ("/healthz", "/metrics"):
                status, took_s = ask(port, path)
                assert status == "HTTP/1.1 200 OK", (path, number)
                waits_s.append(took_s)
            assert look(pool).epoch == epoch
        share = (cpu_s(pid) - used_s) / (monotonic() - since_s)

    assert median(waits_s) < 1.0
    assert share < 0.7
    assert not any("Traceback" in line for line in coordinator.log)
    assert coordinator.stop() == 0
