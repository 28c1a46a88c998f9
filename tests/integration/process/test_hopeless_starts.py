"""What no restart can fix ends a process with one line and an exit code that says so."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from queuepool import ConfigurationError, QueuePool
from queuepool.cli.exits import Exit
from queuepool.process.embedded import EmbeddedServer
from queuepool.process.startup import import_app
from tests.e2e.clusters import clean_environment
from tests.old_server import old_server
from tests.paths import ROOT
from tests.shell import Shell

GOOD = "from queuepool import task\n\n@task\ndef hopeless() -> None:\n    ...\n"
SYNTAX = GOOD + "\ndef broken(:\n"
RAISES = GOOD + "\nraise RuntimeError('no database today')\n"
MISSING = "import no_such_package_anywhere\n" + GOOD
EXITS = "import sys\nsys.exit(3)\n"


@pytest.fixture
def old_url() -> Iterator[str]:
    with EmbeddedServer() as newer, old_server(newer) as url:
        yield url


def run(directory: Path, *words: str, **environment: str) -> tuple[int, str]:
    """Return how a command ends, and what it says on standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "queuepool", *words],
        cwd=directory,
        env=clean_environment(PYTHONPATH=str(ROOT), **environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("source", "says"),
    [(SYNTAX, "--app tasks: "), ("", "no function in it is decorated with @task")],
    ids=["syntax", "no task"],
)
def test_a_module_that_cannot_be_used_is_one_line(
    tmp_path: Path, redis_url: str, source: str, says: str
) -> None:
    (tmp_path / "tasks.py").write_text(source)

    code, said = run(tmp_path, "consumer", "--app", "tasks", QUEUEPOOL_URL=redis_url)

    assert code == 2
    assert says in said
    assert said.count("\n") == 1
    assert not source or f"tasks.py, line {source.count(chr(10))})" in said


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (RAISES, "RuntimeError: no database today ({file}, line 7)"),
        (
            MISSING,
            "ModuleNotFoundError: No module named 'no_such_package_anywhere' ({file}, line 1)",
        ),
        (EXITS, "SystemExit: 3 ({file}, line 2)"),
    ],
    ids=["raises", "missing", "exits"],
)
def test_why_an_import_failed_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, says: str
) -> None:
    file = tmp_path / "hopeless.py"
    file.write_text(source)
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ConfigurationError) as caught:
        import_app("hopeless")

    text = f"--app hopeless: its import failed: {says.format(file=file)}"
    assert str(caught.value).splitlines() == [text]


def test_a_missing_module_is_not_taken_for_the_one_whose_name_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hopeless_too.py").write_text("import hopeless_\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ConfigurationError, match=r"its import failed: .*'hopeless_' .*line 1"):
        import_app("hopeless_too")
    for name in ("hopeless_", "hopeless_.tasks", "hopeless_too.py"):
        (tmp_path / "hopeless_too.py").write_text("")
        with pytest.raises(ConfigurationError, match="there is no such module"):
            import_app(name)


def test_a_module_that_has_the_name_of_a_package_of_ours(tmp_path: Path, redis_url: str) -> None:
    (tmp_path / "consumer.py").write_text(GOOD)

    for app in ("consumer", "consumer.tasks"):
        code, said = run(tmp_path, "consumer", "--app", app, QUEUEPOOL_URL=redis_url)

        assert code == Exit.USAGE
        assert "; consumer is a package of queuepool: if yours has that name, give it" in said


def test_up_ends_when_the_module_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(SYNTAX)

    code, said = run(tmp_path, "up", "--app", "tasks", "--partitions", "2")

    assert code == Exit.USAGE
    assert "--app tasks: " in said
    assert "tasks.py, line 7" in said
    assert "restarting in" not in said


@pytest.mark.parametrize("words", [("consumer", "--app", "tasks"), ("coordinator",)])
def test_a_server_that_is_too_old_is_one_line(
    tmp_path: Path, old_url: str, words: tuple[str, ...]
) -> None:
    (tmp_path / "tasks.py").write_text(GOOD)

    code, said = run(
        tmp_path, *words, QUEUEPOOL_URL=old_url, COORDINATOR_GRPC_PORT="0"
    )  # fmt: skip

    assert code == 2
    assert "older than Redis 7.0" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "variable", "meant"),
    [
        (("consumer", "--app", "tasks"), "CONSUMER_MAX_WORKER", "CONSUMER_MAX_WORKERS"),
        (("coordinator",), "COORDINATOR_CYCLE_SS", "COORDINATOR_CYCLE_S"),
    ],
)
def test_a_mistyped_variable_is_told_at_the_start(
    tmp_path: Path, old_url: str, words: tuple[str, ...], variable: str, meant: str
) -> None:
    (tmp_path / "tasks.py").write_text(GOOD)

    code, said = run(
        tmp_path, *words, QUEUEPOOL_URL=old_url, COORDINATOR_GRPC_PORT="0", **{variable: "8"}
    )

    assert code == 2
    assert f"{variable} is set, but there is no such setting; do you mean {meant}?" in said


def test_commands_say_that_a_server_is_too_old(
    tmp_path: Path,
    old_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("a\n1\n")
    bulk = ("bulk", "rows.csv", "--task", "t", "--key", "k")
    for words in (("status",), ("group", "show", "x"), ("dead", "list"), bulk):
        code, _, said = Shell(capsys).run_with(*words, QUEUEPOOL_URL=old_url)
        assert (code, "Use Redis 7.0 or newer" in said) == (Exit.USAGE, True), (words, said)

    code, said = run(tmp_path, "up", "--app", "tasks", "--url", old_url)

    assert code == Exit.FAILED
    assert "Redis 6.2.14 lacks what queuepool needs" in said
    assert "Use Redis 7.0 or newer" in said


def test_producers_hear_at_once_that_a_server_is_too_old(old_url: str) -> None:
    with QueuePool(old_url, partitions=1) as pool:
        for call in (
            lambda: pool.enqueue("t", {}, partition_key="k"),
            lambda: pool.enqueue_many("t", [{}] * 500, partition_key="k"),
            lambda: pool.status("a", partition_key="k"),
        ):
            with pytest.raises(ConfigurationError, match=r"older than Redis 7\.0"):
                call()


def test_up_in_a_directory_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / ".queuepool").write_text("in the way")

    code, said = run(tmp_path, "up", "--app", "tasks")

    assert code == Exit.USAGE
    assert "cannot be written" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("place", ["file/data", "/proc/nowhere/data", "file"])
def test_a_data_directory_that_cannot_be_made_is_one_line(tmp_path: Path, place: str) -> None:
    (tmp_path / "tasks.py").write_text(GOOD)
    (tmp_path / "file").write_text("")

    code, said = run(tmp_path, "up", "--app", "tasks", "--data-dir", place)

    assert code == Exit.USAGE
    assert "cannot be the server's data directory" in said
    assert "--data-dir" in said
    assert said.count("\n") == 1


def test_a_log_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(GOOD)
    (tmp_path / ".queuepool").mkdir()
    (tmp_path / ".queuepool" / "logs").write_text("in the way")

    code, said = run(tmp_path, "up", "--app", "tasks")

    assert code == Exit.FAILED
    assert ".queuepool/logs" in said
    assert said.count("\n") == 1
