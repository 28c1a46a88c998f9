"""Children are kept running, told to end, and never outlive a hopeless start."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from queuepool.cli.local.child_logs import LogFile
from queuepool.cli.local.supervisor import HopelessChildError, Spec, Supervisor
from queuepool.process.launching import command_line
from tests.e2e.clusters import clean_environment
from tests.paths import ROOT
from tests.processes import running
from tests.waiting import process_is_gone, wait_until

pytestmark = pytest.mark.thorough

WAITS = "import signal; signal.pause()"
STUBBORN = (
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True)\n"
    "while True: signal.pause()"
)


class Bench:
    """A supervisor of Python one-liners that notes what is said."""

    def __init__(self, directory: Path, codes: dict[str, str]) -> None:
        self.said: list[str] = []
        self.directory = directory
        specs = [Spec(n, [sys.executable, "-c", c], dict(os.environ)) for n, c in codes.items()]
        self.names = list(codes)
        self.supervisor = Supervisor(specs, directory, self.said.append)

    def step_until(self, reached: Callable[[], object]) -> None:
        def stepped() -> object:
            self.supervisor.step()
            return reached()

        wait_until(stepped, 20)

    def stop(self, timeout_s: float = 10.0) -> list[str]:
        return self.supervisor.stop(self.names, timeout_s=timeout_s, hurry=lambda: False)


def test_a_child_that_is_killed_is_shown_and_started_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"worker": WAITS})
    bench.supervisor.start()
    first = bench.supervisor.pids()["worker"]

    os.kill(first, signal.SIGKILL)
    bench.step_until(lambda: bench.supervisor.pids().get("worker") not in (None, first))

    assert any("worker was killed by SIGKILL" in line for line in bench.said)
    assert bench.stop() == []


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM, errno.EMFILE])
@pytest.mark.parametrize("place", ["supervisor.start_program", "child_logs._opened"])
def test_a_restart_that_the_machine_refuses_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, place: str
) -> None:
    bench = Bench(tmp_path, {"worker": WAITS, "other": WAITS})
    bench.supervisor.start()
    first, other = (bench.supervisor.pids()[name] for name in bench.names)

    def said() -> list[str]:
        return [line for line in bench.said if "worker cannot be started" in line]

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    os.kill(first, signal.SIGKILL)
    with monkeypatch.context() as patched:
        patched.setattr(f"queuepool.cli.local.{place}", refuse)
        bench.step_until(lambda: len(said()) >= 2)
        assert bench.supervisor.pids().get("other") == other
    bench.step_until(lambda: bench.supervisor.pids().get("worker") not in (None, first))

    assert all(os.strerror(number) in line for line in said())
    assert bench.stop() == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux adopts children")
def test_children_that_are_alike_are_forked_at_first_and_programs_of_their_own_later(
    tmp_path: Path,
) -> None:
    package = tmp_path / "waiter"
    package.mkdir()
    (package / "__main__.py").write_text(
        "import signal, sys\n"
        "def main(_): print('--forks' in sys.orig_argv, flush=True), signal.pause()"
    )
    environment = clean_environment(PYTHONPATH=f"{ROOT}:{tmp_path}")
    command = command_line("waiter", [], tied_to=os.getpid())
    names = ["one", "two"]
    specs = [Spec(name, command, environment, alike=True) for name in names]
    supervisor = Supervisor(specs, tmp_path, lambda _: None)
    supervisor.start()

    def said(name: str) -> list[str]:
        *lines, _ = (
            (tmp_path / f"{name}.log").read_text().split("\n")
        )  # the last may be half a line
        return lines

    wait_until(lambda: [said(name) for name in names] == [["True"]] * 2, 20)
    os.kill(supervisor.pids()["two"], signal.SIGKILL)

    def started_again() -> bool:
        supervisor.step()
        return said("two") == ["True", "False"]

    wait_until(started_again, 20)
    assert supervisor.stop(names, timeout_s=10, hurry=lambda: False) == []


def test_a_child_that_cannot_be_configured_is_not_started_again(tmp_path: Path) -> None:
    mistaken = "import sys; print('no such module', flush=True); sys.exit(2)"
    bench = Bench(tmp_path, {"worker": mistaken})
    bench.supervisor.start()

    with pytest.raises(HopelessChildError, match="no such module"):
        bench.step_until(lambda: False)
    bench.stop()


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-29 16:54:54,844 INFO    consumer: owns partition 1 with 2 workers epoch=1",
        '{"time": "t", "level": "info", "logger": "consumer", "message": "owns partition 1 with'
        ' 2 workers"}',
    ],
)
def test_a_handler_that_ends_its_process_like_a_mistake_ends_no_other(
    tmp_path: Path, line: str
) -> None:
    ends = f"import sys; print({line!r}, flush=True); sys.exit(2)"
    bench = Bench(tmp_path, {"worker": ends, "other": WAITS})
    bench.supervisor.start()
    other = bench.supervisor.pids()["other"]

    bench.step_until(lambda: sum("restarting in" in text for text in bench.said) >= 2)

    assert bench.supervisor.pids()["other"] == other
    bench.stop()


def test_a_child_that_ignores_the_request_is_killed_in_the_end(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"deaf": STUBBORN, "polite": WAITS})
    bench.supervisor.start()
    wait_until(lambda: "deaf" in (tmp_path / "deaf.log").read_text())

    assert bench.stop(timeout_s=0.5) == ["deaf"]
    assert bench.supervisor.pids() == {}


def test_in_a_hurry_nobody_is_waited_for(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"deaf": STUBBORN})
    bench.supervisor.start()
    wait_until(lambda: "deaf" in (tmp_path / "deaf.log").read_text())

    assert bench.supervisor.stop(["deaf"], timeout_s=3600, hurry=lambda: True) == ["deaf"]


def test_warnings_and_tracebacks_are_shown_and_the_rest_is_only_logged(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "x.log")
    with log.open() as file:
        file.write(
            b"2026-11-20 17:29:14,728 INFO    consumer: fine\nprinted by a handler\n"
            b"2026-11-20 17:29:14,728 ERROR   consumer: bad\nTraceback ...\n  File x\n"
            b"2026-11-20 17:29:14,728 INFO    consumer: fine\nprinted again\nnot yet a li"
        )

    shown = log.important()

    assert [line.split()[-1] for line in shown] == ["bad", "...", "x"]
    assert log.last_lines(2) == ["printed again", "not yet a li"]


ERROR = b"2026-11-20 17:29:14,728 ERROR   consumer: bad\n"


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_a_log_that_cannot_be_read_is_told_once_until_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    log = LogFile(tmp_path / "x.log")
    with log.open() as file:
        file.write(ERROR)
    for _ in range(2):
        with monkeypatch.context() as patched:
            refuse_to_open(patched, number)
            (told,) = log.important()
            assert os.strerror(number) in told
            assert str(log.path) in told
            assert log.important() == []
        log.important()
    assert log.important() == []


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE])
def test_a_log_that_cannot_be_opened_for_a_moment_is_read_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    log = LogFile(tmp_path / "x.log")
    with log.open() as file:
        file.write(ERROR)
    with monkeypatch.context() as patched:
        refuse_to_open(patched, number)
        assert log.important() == []

    assert [line.split()[-1] for line in log.important()] == ["bad"]


def refuse_to_open(patched: pytest.MonkeyPatch, number: int) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    patched.setattr("queuepool.cli.local.child_logs._opened", refuse)


def test_a_log_that_was_deleted_is_told_and_read_again_after_the_next_start(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "x.log")
    with log.open() as file:
        file.write(b"long\n" * 100 + b"half a li")
    log.important()

    log.path.unlink()
    (told,) = log.important()
    with log.open() as file:
        file.write(ERROR)

    assert os.strerror(errno.ENOENT) in told
    assert [line.split()[-1] for line in log.important()] == ["bad"]
    assert log.last_lines(1) == [ERROR.decode().strip()]


def test_where_a_child_is_reached_is_what_it_said_last(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "x.log")
    with log.open() as file:
        file.write(b"not ready yet\nready grpc=127.0.0.1:1 metrics=none\n")
        file.flush()
        assert log.important() == []
        assert log.ready == "ready grpc=127.0.0.1:1 metrics=none"

        file.write(b"ready grpc=127.0.0.1:2 metrics=none\nready grpc=127.0.")
        file.flush()
        assert log.important() == []

    assert log.ready == "ready grpc=127.0.0.1:2 metrics=none"


def test_a_log_that_grows_too_large_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queuepool.cli.local.child_logs._KEEP", 100)
    log = LogFile(tmp_path / "x.log")
    with log.open() as file:
        file.write(b"a" * 150 + b"\n")
        file.flush()
        log.important()
        file.write(b"2026-11-20 17:29:14,728 ERROR consumer: after\n")

    assert [line.split()[-1] for line in log.important()] == ["after"]
    assert (tmp_path / "x.log").stat().st_size < 100
    assert (tmp_path / "x.log.1").stat().st_size == 151


@pytest.mark.parametrize("platform", ["linux", "other"])
def test_a_child_ends_with_its_parent_whatever_killed_it(platform: str) -> None:
    child = (
        f"import os, signal, sys; sys.platform = {platform!r}\n"
        "from queuepool.process import launch; launch.tie_to(os.getppid())\n"
        "print(os.getpid(), flush=True); signal.pause()"
    )
    parent = (
        "import signal, subprocess, sys; "
        f"subprocess.Popen([sys.executable, '-c', {child!r}]); signal.pause()"
    )
    with running(
        [sys.executable, "-c", parent], stdout=subprocess.PIPE, env=clean_environment()
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())

        process.kill()

    wait_until(lambda: process_is_gone(pid), 20, "the child has ended")
