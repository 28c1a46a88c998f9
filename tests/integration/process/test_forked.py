"""Processes that tests fork begin as programs of their own do."""

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked
from tests.e2e.clusters import clean_environment, run
from tests.waiting import process_is_gone, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux only")
ALONE = {"COVERAGE_OFF": "1"}  # no process is forked that may be measured


@pytest.mark.parametrize("words", [("acl",), ("no-such-command",), ("status", "--json")])
def test_a_command_prints_and_ends_alike(tmp_path: Path, words: tuple[str, ...]) -> None:
    here, alone = (
        run(tmp_path, *words, environment=clean_environment(QUEUEPOOL_STAGE="two words", **more))
        for more in ({}, ALONE)
    )

    assert here == alone
    assert here.out + here.err


def test_it_is_a_child_of_the_test_with_its_limits_and_directory(
    redis_url: str, stage: str, tmp_path: Path
) -> None:
    environment = clean_environment(
        QUEUEPOOL_URL=redis_url, QUEUEPOOL_STAGE=stage, CONSUMER_APP="tests.apps.recorded"
    )
    forked._server("consumer")  # has the limits of before
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
    try:
        with (tmp_path / "log").open("w") as log:
            process = forked.start("consumer", environment, (log, log), directory=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    try:
        assert isinstance(process, forked.Started)
        wait_until(lambda: Path(f"/proc/{process.pid}/cwd").readlink() == tmp_path)
        assert resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == (soft - 1, hard)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
    finally:
        process.kill()

    assert process.wait(10) == -signal.SIGKILL
    assert process_is_gone(process.pid)


@pytest.mark.parametrize("name", ["PYTHONPATH", "LD_PRELOAD", "HOME"])
def test_what_an_interpreter_reads_at_its_start_needs_one(name: str) -> None:
    assert forked._alike(clean_environment(QUEUEPOOL_URL="redis://h", CONSUMER_APP="a"))
    assert not forked._alike(clean_environment(**{name: "/elsewhere"}))
