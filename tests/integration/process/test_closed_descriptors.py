"""An application may close or replace any descriptor while it is imported: it disturbs no start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.consumer.processes import ConsumerProcess
from tests.integration.process.test_early_signals import HANDLED, environment
from tests.paths import ROOT

CLOSES_ALL = "import os; os.closerange(3, 256)\n"
CLOSES_ITS_OWN = (
    "import fcntl, os, signal; writer = fcntl.fcntl(os.pipe()[1], fcntl.F_DUPFD, 200)\n"
    "os.set_blocking(writer, False); signal.set_wakeup_fd(writer); os.close(writer)\n"
)
TASK = "from queuepool import task\n\n@task\ndef hello(n: int) -> None: ...\n"
START = """
import os, signal, threading
from queuepool.process import launch
pipe, made = os.pipe, []
os.pipe = lambda: made.append(pipe()) or made[-1]
launch.end_on_signals()
[watcher] = set(threading.enumerate()) - {threading.main_thread()}
"""
WATCHES_ITSELF = (
    "reader, writer = os.pipe(); os.set_blocking(writer, False); signal.set_wakeup_fd(writer)\n"
)
FORKS = "child = os.fork() or os._exit(0); os.waitpid(child, 0)\n"


def printed(code: str) -> list[str]:
    """Return the words that a process prints after its start; it may complain of nothing."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", START + code], env=environment(), check=False,
        timeout=60, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("app", "processes"),
    [
        pytest.param(CLOSES_ALL, 1, id="all"),
        pytest.param(CLOSES_ALL, 2, id="all, one of several"),
        pytest.param(CLOSES_ITS_OWN, 1, id="its own"),
    ],
)
def test_a_consumer_serves_and_ends_in_order(
    app: str, processes: int, redis_url: str, stage: str, tmp_path: Path
) -> None:
    (tmp_path / "closes.py").write_text(app + TASK)
    own = {"app": "closes", "metrics_port": 0, "processes": processes, "partition": "auto"}
    found = {"PYTHONPATH": f"{ROOT}:{tmp_path}"}
    process = ConsumerProcess(redis_url, stage, tmp_path, environment=found, **own)
    try:
        process.says("owns partition")
        assert process.get("/healthz") == (200, "ok\n")
        assert process.stop() == 0
    finally:
        process.kill()
    assert "Traceback" not in process.log
    assert "no longer served" not in process.log


def test_files_that_got_the_numbers_of_closed_ones_stay_open_and_get_no_signals() -> None:
    code = (
        "os.closerange(3, 256); watcher.join(60)\n"
        "ends = [end for _ in range(9) for end in pipe()]\n"
        "for end in ends: os.set_blocking(end, False)\n"
        f"{HANDLED}\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "for end in ends: os.fstat(end)\n"
        "print(signal.set_wakeup_fd(-1), threading.active_count())"
    )

    assert printed(code) == ["-1", "1"]


@pytest.mark.parametrize("end", [0, 1], ids=["reader", "writer"])
def test_either_end_may_be_replaced_alone(end: int) -> None:
    code = (
        f"other = pipe()[0]; os.dup2(other, made[0][{end}])\n"
        f"{HANDLED}\n"
        f"watcher.join(60); os.fstat(made[0][{end}]); print(threading.active_count())"
    )

    assert printed(code) == ["1"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param("", "made[0][1]", id="ours"),
        pytest.param("signal.set_wakeup_fd(-1)", "-1", id="none"),
        pytest.param(WATCHES_ITSELF, "writer", id="its own"),
        pytest.param(WATCHES_ITSELF + "os.close(writer)", "-1", id="closed"),
        pytest.param("os.closerange(3, 256)", "-1", id="ours, closed"),
    ],
)
def test_a_fork_leaves_the_watch_as_it_was(code: str, expected: str) -> None:
    asks = f"{FORKS}{FORKS}print(signal.set_wakeup_fd(-1) == {expected})"

    assert printed(f"{code}\n{asks}") == ["True"]
