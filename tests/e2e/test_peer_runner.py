"""The comparison with other queues, on the two that need no environment of their own."""

import json
import sys
import tempfile
from pathlib import Path

import pytest

from benchmarks.peers.__main__ import main
from benchmarks.peers.adapters.harness import Order
from benchmarks.peers.envs import PeerError, program
from benchmarks.peers.stage import Launcher, Stage
from benchmarks.peers.trials import TRIALS
from queuepool import QueuePool
from queuepool.process.embedded import find_server_binary
from tests.waiting import wait_until
from tools import tables

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All folders that a run makes are in here, so that leftovers show."""
    folder = tmp_path / "memory"
    folder.mkdir()
    monkeypatch.setattr("benchmarks.peers.stage.MEMORY", folder)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def living(folder: Path) -> list[str]:
    """Return the command lines of processes that were started with records in `folder`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder) in (process / "environ").read_text(errors="replace"):
                found.append((process / "cmdline").read_text())
        except OSError:
            continue
    return found


@pytest.mark.slow
def test_a_run_measures_writes_and_leaves_nothing(
    tmp_path: Path,
    memory: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    written: dict[str, str] = {}
    monkeypatch.setattr(tables, "write", lambda name, text, page: written.update({page: text}))
    out = tmp_path / "out.json"
    flags = ["--peers", "queuepool,floor", "--only", "drain", "--runs", "1", "--scale", "0.005"]

    code = main([*flags, "--server", str(find_server_binary()), "--out", str(out), "--write"])

    assert code == 0, capsys.readouterr().err
    peers = json.loads(out.read_text())["peers"]
    for name in ("queuepool", "floor"):
        assert peers[name]["figures"]["drain_per_s"][0] > 0
        assert peers[name]["figures"]["drain_two_processes_per_s"][0] > 0
    assert written["performance.md"] in capsys.readouterr().out
    assert "| queuepool | - / - |" in written["performance.md"]  # enqueue was not asked for
    assert living(memory) == []
    assert list(memory.iterdir()) == []


def test_two_worker_processes_of_ours_share_the_jobs(tmp_path: Path, memory: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.peers.adapters", "queuepool"]
    launcher = Launcher(command, "", {}, tmp_path / "log")

    with Stage(launcher, find_server_binary(), worker_processes=2) as stage:
        stage.work(2)
        with QueuePool(stage.url, partitions=2) as pool:
            # A consumer alone would also serve the other partition
            wait_until(lambda: all(each.observe().owner for each in pool.partitions()))
        stage.enqueue(Order(jobs=400))
        done = stage.wait(stage.ran(400), 60)
        shares = [len(path.read_bytes().rstrip(b"\0")) for path in memory.rglob("*.records")]

    assert done
    assert len(stage.records.ids()) == 400
    assert len(shares) == 2
    assert all(shares)


def test_workers_that_end_are_reported_with_their_last_words(tmp_path: Path) -> None:
    launcher = Launcher([sys.executable, "-c", "exit('no such queue')"], "", {}, tmp_path / "log")

    with Stage(launcher, find_server_binary()) as stage:
        stage.work(8)
        with pytest.raises(PeerError, match="no such queue"):
            stage.wait(stage.ran(1), 30)


def test_a_program_that_is_missing_is_named_with_its_package() -> None:
    with pytest.raises(PeerError, match="apt-get install redis-server"):
        program("no-such-redis-server", "redis-server")


def test_docs_stay_as_they_are_when_a_trial_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_bench: object) -> dict[str, float | None]:
        raise PeerError("no job ran")

    monkeypatch.setitem(TRIALS, "drain", fails)
    monkeypatch.setattr(tables, "write", lambda *_: pytest.fail("docs were written"))
    flags = ["--peers", "floor", "--only", "enqueue,drain", "--runs", "1", "--scale", "0.001"]
    server = ["--server", str(find_server_binary())]

    code = main([*flags, *server, "--out", str(tmp_path / "out.json"), "--write"])

    assert code == 1
    assert "floor: drain failed: no job ran" in capsys.readouterr().err


@pytest.mark.slow
def test_a_crash_of_ours_loses_nothing_and_is_seen_to_have_caught_jobs(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    flags = ["--peers", "queuepool", "--only", "crash", "--runs", "1", "--scale", "0.2"]

    code = main([*flags, "--server", str(find_server_binary()), "--out", str(out)])

    figures = json.loads(out.read_text())["peers"]["queuepool"]["figures"]
    assert code == 0
    assert figures["running_at_kill"][0] > 0
    assert figures["missing"] == [0]
    assert figures["recovered_s"][0] > 0
