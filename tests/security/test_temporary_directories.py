"""Temporary directories of servers: what a hard stop leaves is removed, and nothing else."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from queuepool.process.embedded import EmbeddedServer, temporary
from tests.processes import running
from tests.security.strangers import NOBODY, as_root, open_to_others
from tests.waiting import process_is_gone, wait_until

PARENT = """
import threading
from queuepool.process.embedded import EmbeddedServer
server = EmbeddedServer()
server.start()
print(server.pid, flush=True)
threading.Event().wait(60)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place for temporary directories."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def servers_in(place: Path) -> list[Path]:
    return sorted(place.glob("queuepool-server-*"))


def is_free(path: Path) -> bool:
    """Return whether no one holds the lock of a directory."""
    with (path / "embedded.lock").open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def left(place: Path, name: str = "queuepool-server-left") -> Path:
    """Make a directory as a killed process leaves it."""
    path = place / name
    path.mkdir(mode=0o700)
    (path / "embedded.lock").touch(mode=0o600)
    (path / "server.log").touch(mode=0o600)
    (path / "appendonlydir").mkdir(mode=0o700)
    (path / "appendonlydir" / "appendonly.aof").touch(mode=0o600)
    return path


def test_what_a_killed_process_left_is_removed_by_the_next_start(place: Path) -> None:
    command = [sys.executable, "-c", PARENT]
    with running(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        (abandoned,) = servers_in(place)
        assert open_to_others(abandoned) == []
        parent.kill()
        wait_until(lambda: process_is_gone(pid), message="the server follows its parent")
    # A dead process holds its files until the last of its threads has ended.
    wait_until(lambda: is_free(abandoned), message="no process holds the lock")
    assert abandoned.exists()

    with EmbeddedServer():
        assert not abandoned.exists()

    assert servers_in(place) == []


def test_a_directory_in_use_stays(place: Path) -> None:
    with EmbeddedServer() as first:
        (used,) = servers_in(place)
        with EmbeddedServer():
            assert used.exists()
            assert first.pid
        assert used.exists()


def test_a_directory_of_an_orphaned_server_stays(place: Path) -> None:
    """Its lock is the server's as well: the process that started it may be gone."""
    path, lock_file = temporary.make()
    with running(["sleep", "60"], pass_fds=[lock_file.fileno()]) as orphan:
        lock_file.close()
        try:
            temporary.make()[1].close()
            assert path.exists()
        finally:
            orphan.kill()

    temporary.make()[1].close()
    assert not path.exists()


def test_a_directory_that_is_just_being_made_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    flock = fcntl.flock

    def meanwhile(descriptor: IO[str], how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        temporary.make()[1].close()  # another start looks for what is left
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", meanwhile)
    path, lock_file = temporary.make()

    with lock_file:
        assert (path / "embedded.lock").exists()


def test_a_link_in_the_place_of_one_is_not_followed(place: Path) -> None:
    elsewhere = left(place, "elsewhere")
    (place / "queuepool-server-link").symlink_to(elsewhere)

    with EmbeddedServer():
        pass

    assert (elsewhere / "server.log").exists()


def test_links_in_one_are_removed_and_not_followed(place: Path) -> None:
    abandoned, elsewhere = left(place), left(place, "elsewhere")
    (abandoned / "link").symlink_to(elsewhere)
    (abandoned / "appendonlydir" / "link").symlink_to(elsewhere)

    with EmbeddedServer():
        pass

    assert not abandoned.exists()
    assert (elsewhere / "appendonlydir" / "appendonly.aof").exists()


def test_one_that_others_could_write_to_stays(place: Path) -> None:
    abandoned = left(place)
    abandoned.chmod(0o777)

    with EmbeddedServer():
        assert (abandoned / "server.log").exists()


@as_root
def test_one_of_somebody_else_stays(place: Path) -> None:
    abandoned = left(place)
    for path in (*abandoned.iterdir(), abandoned):
        os.chown(path, NOBODY, NOBODY)

    with EmbeddedServer():
        assert (abandoned / "server.log").exists()


@pytest.mark.timeout(30)
def test_a_pipe_in_the_place_of_the_lock_is_not_waited_for(place: Path) -> None:
    abandoned = left(place)
    (abandoned / "embedded.lock").unlink()
    os.mkfifo(abandoned / "embedded.lock")

    with EmbeddedServer() as server:
        assert server.pid
