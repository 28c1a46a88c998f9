"""Forked children are what they would be as programs of their own, and no code runs early."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from queuepool.process import forks as module
from queuepool.process.children import Child, start_program
from queuepool.process.forks import Forks
from queuepool.process.launching import command_line
from tests.e2e.clusters import clean_environment
from tests.processes import running
from tests.waiting import process_is_gone, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux adopts children")

# Says what it is, as one line of JSON, then does what its argument says.
PROGRAM = """
import ctypes, gc, importlib, json, os, random, signal, sys, threading
from pathlib import Path

def opened():
    paths = [path for path in sorted(Path("/proc/self/fd").iterdir()) if path.exists()]
    return {path.name: str(path.readlink()) for path in paths}

def main(arguments):
    tie = ctypes.c_int()
    ctypes.CDLL(None).prctl(2, ctypes.byref(tie))
    status = Path("/proc/self/status").read_text().splitlines()
    about = {
        "parent": os.getppid(), "leads_group": os.getpgrp() == os.getpid(),
        "session": os.getsid(0), "argv": sys.argv, "path": sys.path, "tie": tie.value,
        "cwd": os.getcwd(), "files": opened(), "environment": dict(os.environ),
        "signals": [line for line in status if line.startswith(("SigB", "SigI", "SigC", "ShdP"))],
        "threads": threading.active_count(), "gc": gc.isenabled(), "encoding": sys.stdout.encoding,
        "buffered": [sys.stdout.line_buffering, sys.stderr.line_buffering],
        "main": sys.modules["__main__"].__file__, "umask": os.umask(0o22),
    }
    own = {"forked": "--forks" in sys.orig_argv, "random": random.random(), "pid": os.getpid()}
    print(json.dumps([about, own]), flush=True)
    what = arguments[0] if arguments else "wait"
    if what == "wait":
        signal.pause()
    if what.startswith("import:"):
        return importlib.import_module(what.removeprefix("import:")).CODE
    return int(what)
"""


class Bench:
    """Programs of one directory. Their output is kept one by one."""

    def __init__(self, directory: Path) -> None:
        package = directory / "packages" / "speaker"
        package.mkdir(parents=True)
        (package / "__main__.py").write_text(PROGRAM)
        self.directory = directory
        self.environment = clean_environment()
        self.environment["PYTHONPATH"] += f":{package.parent}"
        self.children: list[Child] = []

    def command(self, *words: str) -> list[str]:
        return command_line("speaker", words, tied_to=os.getpid())

    def forks(self, count: int = 9) -> closing[Forks]:
        with (self.directory / "server.out").open("ab") as output:
            return closing(Forks(self.command(), self.environment, count, output=output))

    def start(
        self, by: Any, *words: str, pass_fds: Sequence[int] = (), **environment: str
    ) -> Child:
        with (self.directory / f"{len(self.children)}.out").open("ab") as output:
            child: Child = by(
                self.command(*words),
                self.environment | environment,
                output=output,
                quiet=True,
                pass_fds=pass_fds,
            )
        self.children.append(child)
        return child

    def said(self, child: Child) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what a child is: what each start has to agree on, and what is its own."""
        path = self.directory / f"{self.children.index(child)}.out"
        wait_until(lambda: path.read_text().endswith("\n"), message="it says what it is")
        about, own = json.loads(path.read_text().splitlines()[0])
        return about, own


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    for child in made.children:
        child.send_signal(signal.SIGKILL)
        child.wait()


def test_a_forked_child_is_what_a_program_of_its_own_is(bench: Bench) -> None:
    reader, writer = os.pipe()
    own = bench.start(start_program, "wait", pass_fds=[writer], CONSUMER_NUMBER="1")
    with bench.forks() as forks:
        forked = bench.start(forks.start, "wait", pass_fds=[writer], CONSUMER_NUMBER="1")
    passed = str(Path(f"/proc/self/fd/{writer}").readlink())
    os.close(reader)
    os.close(writer)

    (program, of_program), (child, of_child) = bench.said(own), bench.said(forked)
    for about in (program, child):  # each writes to a file of its own
        files = about["files"]
        assert {Path(files.pop(number)).name for number in "12"} <= {"0.out", "1.out"}
        assert files.pop(str(writer)) == passed
        pipes = Counter(name for name in files.values() if name.startswith("pipe:"))
        [watched] = (name for name, ends in pipes.items() if ends == 2)
        # A library may hold itself open, as some builds of libffi do, so the numbers may differ.
        about["files"] = sorted(
            "signals" if name == watched else name
            for name in files.values()
            if ".so" not in Path(name).suffixes
        )
    assert child == program
    assert child["parent"] == os.getpid()
    assert child["tie"] == signal.SIGTERM
    assert (of_program["forked"], of_child["forked"]) == (False, True)
    assert (of_program["pid"], of_child["pid"]) == (own.pid, forked.pid)


def test_children_of_one_server_draw_other_random_numbers(bench: Bench) -> None:
    with bench.forks() as forks:
        drawn = [bench.said(bench.start(forks.start))[1]["random"] for _ in range(3)]

    assert len(set(drawn)) == 3


@pytest.mark.parametrize("code", [0, 3])
def test_an_exit_code_is_that_of_the_program(bench: Bench, code: int) -> None:
    with bench.forks() as forks:
        child = bench.start(forks.start, str(code))
        assert bench.said(child)[1]["forked"]

        assert child.wait() == code
        assert child.poll() == child.returncode == code


def test_children_outlive_the_server_and_are_ended_by_signals(bench: Bench) -> None:
    with bench.forks() as forks:
        polite, killed = bench.start(forks.start), bench.start(forks.start)
    assert bench.said(polite)[1]["forked"]
    assert bench.said(killed)[1]["forked"]
    assert (polite.poll(), killed.poll()) == (None, None)

    polite.send_signal(signal.SIGTERM)
    killed.send_signal(signal.SIGKILL)

    assert (polite.wait(), killed.wait()) == (-signal.SIGTERM, -signal.SIGKILL)
    polite.send_signal(signal.SIGTERM)  # nobody gets it


def test_a_module_that_appears_or_changes_is_seen_by_the_next_child(bench: Bench) -> None:
    late = bench.directory / "packages" / "late_module.py"
    times = late.parent.stat()
    with bench.forks() as forks:
        assert bench.start(forks.start, "import:late_module").wait() == 1

        late.write_text("CODE = 5")
        # On a file system with coarse times, a directory that changed looks as before.
        os.utime(late.parent, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert bench.start(forks.start, "import:late_module").wait() == 5

        late.write_text("CODE = 60 + 6")
        assert bench.start(forks.start, "import:late_module").wait() == 66


def own_server(forks: Forks) -> subprocess.Popen[bytes]:
    server = forks._server
    assert server is not None
    return server


def killed(forks: Forks, _bench: Bench) -> None:
    own_server(forks).kill()


def stopped(forks: Forks, bench: Bench) -> None:
    bench.start(forks.start)
    own_server(forks).send_signal(signal.SIGSTOP)


@pytest.mark.parametrize("fault", [killed, stopped])
def test_without_a_server_children_are_programs_of_their_own(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, fault: Callable[[Forks, Bench], None]
) -> None:
    with bench.forks() as forks:
        fault(forks, bench)
        monkeypatch.setattr(module, "_ANSWER_S", 0.2)
        before = list(bench.children)

        later = [bench.start(forks.start) for _ in range(2)]

        assert [bench.said(child)[1]["forked"] for child in later] == [False, False]
    assert all(child.poll() is None for child in (*before, *later))


UNFIT = {
    "an import started a thread": (
        "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()"
    ),
    "an import loaded gRPC": "import grpc",
    "an import opened a connection": "import socket, sys; sys.kept = socket.socketpair()",
}


@pytest.mark.parametrize("why", UNFIT)
def test_a_process_that_must_not_fork_does_not(
    bench: Bench, caplog: pytest.LogCaptureFixture, why: str
) -> None:
    caplog.set_level("INFO")
    (bench.directory / "packages" / "sitecustomize.py").write_text(UNFIT[why])
    with bench.forks() as forks:
        child = bench.start(forks.start)

        assert not bench.said(child)[1]["forked"]
    assert why in caplog.text


def test_what_an_interpreter_reads_at_its_start_is_not_changed_by_a_fork(bench: Bench) -> None:
    with bench.forks() as forks:
        child = bench.start(forks.start, PYTHONUTF8="1")

        assert not bench.said(child)[1]["forked"]


def test_after_the_last_of_them_children_are_programs_of_their_own(bench: Bench) -> None:
    with bench.forks(2) as forks:
        server = own_server(forks).pid
        started = [bench.start(forks.start) for _ in range(3)]

        assert [bench.said(child)[1]["forked"] for child in started] == [True, True, False]
        wait_until(lambda: process_is_gone(server))


def test_a_child_that_could_not_be_adopted_runs_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def refused(_kind: int, pid: int, _options: int) -> None:
        made.append(pid)
        raise ChildProcessError

    with bench.forks() as forks:
        monkeypatch.setattr(os, "waitid", refused)
        child = bench.start(forks.start)

        assert not bench.said(child)[1]["forked"]
    (abandoned,) = made
    assert abandoned != child.pid
    wait_until(lambda: process_is_gone(abandoned), message="it ended")
    with suppress(ChildProcessError):
        assert os.waitpid(abandoned, 0)[1] == 0
    assert (bench.directory / "0.out").read_text().count("\n") == 1


def test_none_outlives_its_supervisor_by_a_signal_it_ignores(bench: Bench) -> None:
    code = (
        "import os, signal, sys\n"
        "from queuepool.process.forks import Forks\n"
        "from queuepool.process.launching import command_line\n"
        "command = command_line('speaker', [], tied_to=os.getpid())\n"
        "forks = Forks(command, dict(os.environ), 9)\n"
        "children = [\n"
        "    forks.start(command, dict(os.environ), output=open(path, 'ab'), quiet=True)\n"
        "    for path in sys.argv[1:]\n"
        "]\n"
        "print(*(child.pid for child in children), forks._server.pid, flush=True)\n"
        "signal.pause()\n"
    )
    said = [bench.directory / f"{n}.out" for n in range(2)]
    with running(
        [sys.executable, "-c", code, *map(str, said)], stdout=subprocess.PIPE, env=bench.environment
    ) as supervisor:
        assert supervisor.stdout is not None
        pids = supervisor.stdout.readline()
        wait_until(lambda: all(path.read_text().endswith("\n") for path in said))
        supervisor.kill()

    for pid in map(int, pids.split()):
        wait_until(lambda pid=pid: process_is_gone(pid), message="it has ended")  # type: ignore[misc]
