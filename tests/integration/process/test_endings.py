"""A process ends when it is to end, also where nobody reads what it says, or there is no output."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from queuepool.client.pool import QueuePool
from queuepool.partitions.partition import Partition
from queuepool.process.endings import WATCHDOG
from tests.integration.consumer.processes import owners
from tests.integration.process.test_early_signals import environment
from tests.waiting import wait_until

START = """
import io, logging, os, sys, threading
from queuepool.process.endings import exit_now, show_stacks
from queuepool.telemetry import logs
logs.configure()
"""
NOBODY_READS = """
filled = threading.Event()
def fill():
    sys.stderr.write("x" * 2**20)  # holds the lock of the stream and keeps it
threading.Thread(target=fill, daemon=True).start()
filled.wait(0.5)
"""
ENDS = "exit_now(4, lambda: (logging.critical('why'), show_stacks()))"


def test_a_process_ends_though_nobody_reads_what_it_says() -> None:
    reader, writer = os.pipe()
    try:
        code = START + NOBODY_READS + ENDS
        process = subprocess.Popen(
            [sys.executable, "-c", code], env=environment(), stdout=writer, stderr=writer
        )
        assert process.wait(60) == WATCHDOG
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.parametrize("other", ["io.StringIO()", "None", "object()"])
def test_the_stacks_are_printed_though_a_handler_replaced_the_stream(other: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"{START}sys.stderr = {other}\n{ENDS}"],
        env=environment(), check=False, timeout=60, capture_output=True, text=True,
    )  # fmt: skip

    assert done.returncode == WATCHDOG
    assert "why" in done.stderr
    assert "most recent call first" in done.stderr
    assert "in show_stacks" in done.stderr


def test_a_consumer_runs_without_standard_streams(
    partition: Partition, pool: QueuePool, redis_url: str, stage: str
) -> None:
    variables = environment() | {
        "QUEUEPOOL_URL": redis_url,
        "QUEUEPOOL_STAGE": stage,
        "QUEUEPOOL_PARTITIONS": "1",
    }
    command = "exec python -m consumer --app tests.apps.dangerous --partition 0 <&- >&- 2>&-"
    command = command.replace("python", sys.executable, 1)
    process = subprocess.Popen(["sh", "-c", command], env=variables)
    try:
        wait_until(lambda: process.pid in owners(partition) or process.poll() is not None)
        assert pool.enqueue("harm.double", {"n": 2}, partition_key="g").result(timeout_s=30) == 4
        process.terminate()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait(60)
