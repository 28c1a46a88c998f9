"""SIGTERM while a process starts ends it at once, also as the first process of a container."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from queuepool.process.endings import OK
from queuepool.process.launching import command_line
from tests.paths import ROOT
from tests.processes import running
from tests.waiting import wait_until

AS_FIRST = ("unshare", "--pid", "--fork", "--kill-child")


def may_be_first() -> bool:
    """Return whether we may make a namespace of processes; not every root of a container may."""
    if shutil.which(AS_FIRST[0]) is None:
        return False
    return subprocess.run([*AS_FIRST, "true"], check=False, capture_output=True).returncode == 0


needs_namespace = pytest.mark.skipif(
    not may_be_first(), reason="this user may not make a namespace of processes"
)
first = pytest.param(AS_FIRST, id="as the first process", marks=needs_namespace)
APP = """
import pathlib, threading
try:
    pathlib.Path("begun").touch()
    threading.Event().wait()
except BaseException:
    pathlib.Path("caught").touch()
"""
COMPUTES = """
import hashlib, pathlib
pathlib.Path("begun").touch()
hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)
"""


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that accepts connections and never says anything."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        listening.settimeout(60)
        yield listening


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("QUEUEPOOL_", "CONSUMER_"))}
    return kept | {"PYTHONPATH": str(ROOT)} | more


def last_child(pid: int) -> int:
    """Return a process's only child; itself, if it has none: it was not started by another."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(found[0]) if found else pid


def ended_while_importing(app: str, prefix: tuple[str, ...], number: int, directory: Path) -> int:
    """Send a signal to a consumer whose application has begun; return its exit code."""
    (directory / "slow.py").write_text(app)
    command = [*prefix, sys.executable, "-m", "queuepool", "consumer", "--app", "slow"]
    variables = environment(QUEUEPOOL_URL="redis://127.0.0.1:1")
    with running(command, env=variables, cwd=directory) as process:
        wait_until((directory / "begun").exists)
        os.kill(last_child(process.pid) if prefix else process.pid, number)
        return process.wait(60)


def ended_by(number: int, *, first: bool) -> int:
    """Return the exit code: the kernel itself ends a process on SIGTERM, but not the first one."""
    return OK if first or number == signal.SIGINT else -number


@pytest.mark.parametrize("prefix", [pytest.param((), id="as any"), first])
@pytest.mark.parametrize("name", ["consumer", "coordinator"])
@pytest.mark.parametrize("launched", [True, False])
def test_it_ends_while_it_waits_for_a_server(
    prefix: tuple[str, ...], name: str, launched: bool, silent: socket.socket
) -> None:
    words = ["--app", "tests.apps.recorded"] if name == "consumer" else []
    command = command_line(name, words) if launched else [sys.executable, "-m", name, *words]
    url = f"redis://127.0.0.1:{silent.getsockname()[1]}"
    variables = environment(QUEUEPOOL_URL=url, COORDINATOR_GRPC_INSECURE="1")
    with running([*prefix, *command], env=variables) as process, closing(silent.accept()[0]):
        os.kill(last_child(process.pid) if prefix else process.pid, signal.SIGTERM)

        assert process.wait(60) == ended_by(signal.SIGTERM, first=bool(prefix))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("prefix", [pytest.param((), id="as any"), first])
def test_it_ends_while_it_imports_the_application(
    prefix: tuple[str, ...], number: int, tmp_path: Path
) -> None:
    code = ended_while_importing(APP, prefix, number, tmp_path)

    assert code == ended_by(number, first=bool(prefix))
    assert not (tmp_path / "caught").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("prefix", [pytest.param((), id="as any"), first])
def test_it_ends_while_a_module_computes(
    prefix: tuple[str, ...], number: int, tmp_path: Path
) -> None:
    """Python calls no handler before the module's long call returns, which takes half an hour."""
    code = ended_while_importing(COMPUTES, prefix, number, tmp_path)

    assert code == ended_by(number, first=bool(prefix))


def test_a_signal_just_before_the_program_is_replaced_reaches_the_next() -> None:
    code = (
        "import os, signal; from queuepool import cli; execve = os.execve\n"
        "def struck(*words): os.kill(os.getpid(), signal.SIGTERM); execve(*words)\n"
        "os.execve = struck; cli.main(['consumer', '--app', 'no_such_module'])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), check=False, timeout=60, cwd=ROOT
    )

    assert done.returncode == ended_by(signal.SIGTERM, first=False)


def printed_by(code: str) -> str:
    """Return what a process prints that runs this code. Raises if it fails."""
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), check=True, timeout=60,
        capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_forked_meanwhile_ends_as_its_parent_expects(number: int) -> None:
    code = (
        "import os, signal, sys; from queuepool.process import launch; launch.end_on_signals()\n"
        "sys.stderr = open(os.devnull, 'w'); child = os.fork()\n"
        f"if not child: os.kill(os.getpid(), {int(number)}); sys.exit(9)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )

    assert int(printed_by(code)) == -number


HANDLED = """
from queuepool.process.signals import SignalHandlers
handlers = SignalHandlers(lambda *_: None)
"""
STATES = {
    "while it starts": "",
    "while it handles signals": HANDLED,
    "afterwards": HANDLED + "handlers.put_back()",
}


def handlers_of(code: str, *, fork: bool) -> str:
    """Return the handlers that a process has after some code, or a fork of it."""
    program = (
        "import os, signal, sys\n"
        "from queuepool.process import launch; launch.end_on_signals()\n"
        f"{code}\n"
        f"if {fork} and (child := os.fork()): sys.exit(os.waitpid(child, 0)[1])\n"
        "print(*map(signal.getsignal, (signal.SIGTERM, signal.SIGINT)))"
    )
    return printed_by(program).strip()


DEFAULTS = f"{signal.SIG_DFL!s} {signal.default_int_handler!s}"


@pytest.mark.parametrize("code", [pytest.param(code, id=name) for name, code in STATES.items()])
def test_the_kernel_ends_a_fork_even_if_it_runs_no_python(code: str) -> None:
    assert handlers_of(code, fork=True) == DEFAULTS


def test_a_process_that_no_longer_handles_signals_does_not_end_in_order_on_them() -> None:
    assert handlers_of(STATES["afterwards"], fork=False) == DEFAULTS


def test_nothing_watches_any_more_once_the_program_handles_signals() -> None:
    code = (
        "import signal, threading; from queuepool.process import launch; launch.end_on_signals()\n"
        "[watcher] = set(threading.enumerate()) - {threading.main_thread()}\n"
        f"{HANDLED}\n"
        "watcher.join(60); print(threading.active_count(), signal.set_wakeup_fd(-1))"
    )

    assert printed_by(code).split() == ["1", "-1"]


def test_a_signal_for_a_fork_does_not_end_its_parent() -> None:
    code = (
        "import os, signal, sys, time; from queuepool.process import launch\n"
        "launch.end_on_signals()\n"
        "for _ in range(200):\n"
        "    if not (child := os.fork()): signal.pause(); os._exit(9)\n"
        "    os.kill(child, signal.SIGINT)\n"
        "    while os.waitpid(child, os.WNOHANG) == (0, 0):\n"  # Python forgets it in a new fork
        "        time.sleep(0.001); os.kill(child, signal.SIGINT)\n"
        "sys.exit(7)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), check=False, timeout=60,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip

    assert done.returncode == 7


@pytest.mark.parametrize("fork", [True, False])
def test_a_handler_that_was_set_after_the_start_comes_back(fork: bool) -> None:
    own = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"

    found = handlers_of(own + STATES["afterwards"], fork=fork)

    assert found == f"{signal.SIG_IGN!s} {signal.default_int_handler!s}"


@needs_namespace
@pytest.mark.parametrize("words", [["up", "--app", "x"], ["relay"], ["watch"]])
def test_a_command_that_is_the_first_process_obeys(words: list[str]) -> None:
    code = (
        "import os, signal, sys; from queuepool import cli\n"
        "def struck(_): os.kill(os.getpid(), signal.SIGTERM); sys.exit(9)\n"
        f"cli.build_parser = struck; cli.main({words!r})"
    )

    done = subprocess.run(
        [*AS_FIRST, sys.executable, "-c", code], env=environment(), check=False, timeout=60
    )

    assert done.returncode == 128 + signal.SIGTERM
