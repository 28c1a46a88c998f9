"""A system that starts no more threads, or has no socket left, when a process begins."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from tests.paths import ROOT

REFUSING = """
import importlib, sys, threading
process, refused = sys.argv[1:3]
start = threading.Thread.start
seen = []

def begin(thread):
    if thread.name == refused:
        seen.append(thread.name)
        if refused != "queuepool-route" or len(seen) > int(sys.argv[3]):
            raise RuntimeError("can't start new thread")
    start(thread)

threading.Thread.start = begin
sys.exit(importlib.import_module(f"{process}.__main__").main([]))
"""

NO_SOCKET = """
import importlib, os, sys
from queuepool.telemetry import metrics_server as exposition
from tests.paths import ROOT
def refused(*_, **__): raise OSError(int(sys.argv[2]), os.strerror(int(sys.argv[2])))
exposition.MetricsServer.__init__ = refused
sys.exit(importlib.import_module(f"{sys.argv[1]}.__main__").main([]))
"""


def ends(program: str, process: str, *words: str, url: str, stage: str) -> tuple[int, str]:
    """Run a process whose start fails; returns its exit code and what it said."""
    values = {
        "QUEUEPOOL_URL": url,
        "QUEUEPOOL_STAGE": stage,
        "QUEUEPOOL_PARTITIONS": "1",
        "CONSUMER_APP": "tests.apps.recorded",
        "CONSUMER_METRICS_PORT": "0",
        "COORDINATOR_METRICS_PORT": "0",
        "COORDINATOR_GRPC_PORT": "0",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-c", program, process, *words],
        env=os.environ | values,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("process", "thread", "named"),
    [
        ("consumer", "queuepool-watchdog", "for the watchdog"),
        ("consumer", "queuepool-http", "to serve metrics and health"),
        ("consumer", "queuepool-route", "to watch the route record"),
        ("coordinator", "coordinator-watchdog", "for the watchdog"),
        ("coordinator", "coordinator-loop", "for the control loop"),
        ("coordinator", "queuepool-http", "to serve metrics and health"),
        ("coordinator", "queuepool-route", "to watch the route record"),
    ],
)
def test_a_process_without_a_thread_of_its_own_says_one_line_and_is_restarted(
    process: str, thread: str, named: str, redis_url: str, stage: str
) -> None:
    first = "1" if process == "coordinator" else "0"  # the coordinator asks for the record before
    code, said = ends(REFUSING, process, thread, first, url=redis_url, stage=stage)

    assert code == 1  # 2 is not restarted
    assert "Traceback" not in said
    (line,) = [line for line in said.splitlines() if "no thread" in line]
    assert f"no thread {named} (can't start new thread), so this process exits" in line


@pytest.mark.parametrize("process", ["consumer", "coordinator"])
def test_a_machine_without_a_socket_for_the_metrics_is_no_fault_of_the_settings(
    process: str, redis_url: str, stage: str
) -> None:
    code, said = ends(NO_SOCKET, process, str(errno.EMFILE), url=redis_url, stage=stage)

    assert code == 1
    assert "Traceback" not in said
    assert f"{process.upper()}_METRICS_PORT=0: cannot create a socket" in said


def test_a_coordinator_that_cannot_start_a_thread_to_stop_stops_all_the_same(
    redis_url: str, stage: str
) -> None:
    program = """
import os, signal, sys, threading
from coordinator import __main__ as coordinator
start, announce = threading.Thread.start, coordinator._announce

def refuse(thread):
    raise RuntimeError("can't start new thread")

def ready(*words):
    announce(*words)
    threading.Thread.start = refuse
    os.kill(os.getpid(), signal.SIGTERM)

coordinator._announce = ready
sys.exit(coordinator.main([]))
"""
    code, said = ends(program, "coordinator", url=redis_url, stage=stage)

    assert (code, "Traceback" in said) == (0, False), said
    assert "stopped; worker counts stay" in said
