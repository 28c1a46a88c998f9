"""A process may be started with its standard files closed, and in a directory that is gone."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import pytest

from queuepool.process.embedded.ports import pick_port
from tests.e2e.clusters import clean_environment
from tests.paths import ROOT
from tests.processes import running
from tests.waiting import wait_until

TASK = "from queuepool import task\n\n@task\ndef hello() -> None: ...\n"
# As `exec` leaves it: what is opened next gets the lowest number that is free.
CLOSING = 'exec "$@" <&- >&- 2>&-'
REMOVING = 'rmdir "$PWD" && exec "$@"'


def _variables(url: str, stage: str, directory: Path, port: int) -> dict[str, str]:
    return clean_environment(
        PYTHONPATH=f"{ROOT}:{directory}",
        QUEUEPOOL_URL=url,
        QUEUEPOOL_STAGE=stage,
        CONSUMER_APP="greets",
        CONSUMER_METRICS_PORT=str(port),
        COORDINATOR_METRICS_PORT=str(port),
        COORDINATOR_GRPC_PORT="0",
    )


@pytest.mark.parametrize("start", ["queuepool consumer", "queuepool coordinator", "consumer"])
def test_it_serves_with_its_standard_files_closed(
    start: str, redis_url: str, stage: str, tmp_path: Path
) -> None:
    (tmp_path / "greets.py").write_text(TASK)
    port = pick_port()
    command = ["sh", "-c", CLOSING, "sh", sys.executable, "-m", *start.split()]

    def is_healthy() -> bool:
        with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
            return bool(answer.status == 200)
        return False

    with running(command, env=_variables(redis_url, stage, tmp_path, port)) as process:
        wait_until(lambda: is_healthy() or process.poll() is not None, 30)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_a_directory_that_is_gone_is_told(redis_url: str, stage: str, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", REMOVING, "sh", sys.executable, "-m", "queuepool", "consumer"],
        cwd=gone, env=_variables(redis_url, stage, tmp_path, 0), stderr=subprocess.PIPE, text=True,
        check=False, timeout=60,
    )  # fmt: skip

    assert done.returncode == 2
    assert "no such module in the current directory, which has been removed" in done.stderr
