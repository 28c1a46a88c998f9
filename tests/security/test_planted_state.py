"""A `.queuepool` that someone else has planted, or could have: it is refused and left alone."""

import errno
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from queuepool.cli.exits import Exit
from queuepool.cli.local.child_logs import LogFile
from queuepool.errors import ConfigurationError
from queuepool.settings import local_cluster as local
from queuepool.settings import private_files as private
from queuepool.settings.endpoints import find_coordinator
from queuepool.settings.environment import load_pool_config
from queuepool.settings.private_files import UnsafePathError
from tests.e2e.clusters import clean_environment, run
from tests.security.strangers import NOBODY, as_root

LINKS = ("symbolic", "hard")
TOKEN = "the-operators-own-token"
OURS = local.LocalCluster(
    pid=os.getpid(),
    servers={"main": "redis://:secret@127.0.0.1:1/0"},
    placement="",
    partitions=2,
    stage="here",
    queue="main",
    grpc_address="127.0.0.1:2",
    grpc_token="of-this-cluster",
)


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without anybody's settings."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("QUEUEPOOL_"):
            monkeypatch.delenv(name)
    return tmp_path


def state(**changes: Any) -> bytes:
    return json.dumps(asdict(OURS) | changes).encode()


def plant(content: bytes = b"", mode: int = 0o600, directory_mode: int = 0o700) -> Path:
    local.STATE_DIR.mkdir()
    path = local.STATE_DIR / "cluster.json"
    path.write_bytes(content or state())
    path.chmod(mode)
    local.STATE_DIR.chmod(directory_mode)
    return path


# -- reading -----------------------------------------------------------------------------------


def test_our_own_state_is_read() -> None:
    plant(mode=0o644, directory_mode=0o755)  # as an earlier release left it

    assert local.read() == OURS


def owned_by_another(path: Path) -> None:
    os.chown(path, NOBODY, NOBODY)


def writable_by_all(path: Path) -> None:
    path.chmod(path.stat().st_mode | 0o002)


def writable_by_the_group(path: Path) -> None:
    path.chmod(path.stat().st_mode | 0o020)


def a_link(path: Path) -> None:
    path.rename("elsewhere")
    path.symlink_to(Path("elsewhere").absolute())


@pytest.mark.parametrize("what", [".queuepool", ".queuepool/cluster.json"])
@pytest.mark.parametrize(
    ("how", "why"),
    [
        pytest.param(owned_by_another, "belongs to the user with the id 65534", marks=as_root),
        (writable_by_all, "is writable by other users"),
        (writable_by_the_group, "is writable by other users"),
        (a_link, "is a symbolic link"),
    ],
)
def test_state_that_somebody_else_could_have_written_is_refused(
    what: str, how: Callable[[Path], None], why: str
) -> None:
    plant()
    how(Path(what))

    for reads in (local.read, load_pool_config, lambda: find_coordinator(None)):
        with pytest.raises(UnsafePathError, match=why):
            reads()


def test_without_a_state_file_the_rights_of_its_directory_do_not_matter() -> None:
    local.STATE_DIR.mkdir()
    local.STATE_DIR.chmod(0o777)

    assert local.read() is None


def test_a_state_file_with_a_second_name_is_refused() -> None:
    os.link(plant(), "second-name")

    with pytest.raises(UnsafePathError, match="2 hard links"):
        local.read()


def test_state_where_everybody_may_swap_directories_is_refused(directory: Path) -> None:
    plant()
    directory.chmod(0o777)

    with pytest.raises(UnsafePathError, match="every user of this machine can write to"):
        local.read()

    directory.chmod(0o1777)  # sticky, as /tmp is: only owners move their entries
    assert local.read() == OURS


def test_a_directory_that_is_swapped_once_it_is_open_changes_nothing(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant()
    planted = directory / "planted"
    planted.mkdir(mode=0o700)
    (planted / "cluster.json").write_bytes(state(stage="planted"))
    refuse = private.refuse_writable

    def swap(descriptor: int, path: Path) -> None:
        if path == local.STATE_DIR and not path.is_symlink():
            path.rename("moved")
            path.symlink_to(planted)
        refuse(descriptor, path)

    monkeypatch.setattr(private, "refuse_writable", swap)

    assert local.read() == OURS
    with pytest.raises(UnsafePathError, match="symbolic link"):
        local.read()


@pytest.mark.timeout(20)
def test_a_pipe_in_its_place_is_refused_and_not_waited_for() -> None:
    local.STATE_DIR.mkdir()
    os.mkfifo(local.STATE_DIR / "cluster.json")

    with pytest.raises(UnsafePathError, match="not a regular file"):
        local.read()


def test_a_file_without_end_is_not_read_to_its_end() -> None:
    path = plant()
    with path.open("r+b") as file:
        file.truncate(1 << 40)  # a hole: it takes no room

    with pytest.raises(ConfigurationError, match="more than 1,048,576 bytes"):
        local.read()


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 500_000,
        b'{"pid": ' + b"9" * 5000 + b"}",
        state(servers=[]),
        state(servers={"main": 7}),
        state(servers={"main\x1b[31m": "redis://h"}),
        state(stage="a\nqueuepool: forged"),
        state(grpc_address=["h:1"]),
        state(grpc_token=7),
        state(partitions=True),
        state(**{"pid\x1b]0;x\x07": 1}),
    ],
    ids=[
        *("deep", "long", "no servers", "no URL", "escapes", "lines", "no address", "no token"),
        *("no number", "unknown"),
    ],
)
def test_a_malformed_state_file_is_one_line_without_its_content(content: bytes) -> None:
    plant(content)

    with pytest.raises(ConfigurationError, match=r"cluster\.json cannot be read") as refused:
        local.read()

    assert str(refused.value).isprintable()
    assert "forged" not in str(refused.value)


def test_a_process_of_somebody_else_did_not_write_our_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forbid(_pid: int, _signal: int) -> None:
        raise PermissionError(errno.EPERM, "of another user")

    plant()
    monkeypatch.setattr(os, "kill", forbid)

    assert local.read() is None


# -- secrets -----------------------------------------------------------------------------------


def test_the_users_token_goes_to_no_address_of_a_state_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("QUEUEPOOL_GRPC_TOKEN", TOKEN)
    plant(state(grpc_token=None))

    found = find_coordinator(None)

    assert found is not None
    assert (found.address, found.token) == ("127.0.0.1:2", None)


def test_an_address_of_a_state_file_comes_with_its_own_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("QUEUEPOOL_GRPC_TOKEN", TOKEN)
    plant()

    for given in (None, "127.0.0.1:2"):  # named by hand, it is the same coordinator
        found = find_coordinator(given)

        assert found is not None
        assert found.token == "of-this-cluster"
        assert "of-this-cluster" not in repr(found)


def test_an_address_that_the_user_named_gets_the_users_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(b"{")  # what lies here is of no interest then
    monkeypatch.setenv("QUEUEPOOL_GRPC_TOKEN", TOKEN)

    by_hand = find_coordinator("coordinator:7")
    monkeypatch.setenv("QUEUEPOOL_GRPC", "coordinator:8")
    by_variable = find_coordinator(None)

    assert by_hand is not None
    assert by_variable is not None
    assert (by_hand.address, by_hand.token) == ("coordinator:7", TOKEN)
    assert (by_variable.address, by_variable.token) == ("coordinator:8", TOKEN)


@as_root
def test_commands_in_a_strangers_directory_connect_to_nothing_and_say_so(directory: Path) -> None:
    plant()
    for path in (local.STATE_DIR / "cluster.json", local.STATE_DIR, directory):
        os.chown(path, NOBODY, NOBODY)

    for words in (
        ("status",),
        ("scale", "0", "9"),
        ("check",),
        ("dead", "list"),
        ("up", "--app", "x"),
    ):
        done = run(directory, *words, environment=clean_environment(QUEUEPOOL_GRPC_TOKEN=TOKEN))

        assert done.code == Exit.USAGE, (words, done)
        assert "belongs to the user with the id 65534" in done.out + done.err
        assert "Traceback" not in done.err
        assert TOKEN not in done.out + done.err


@pytest.mark.parametrize(("name", "looks_here"), [("consumer", True), ("coordinator", False)])
def test_only_a_process_that_runs_tasks_imports_from_its_directory(
    directory: Path, name: str, looks_here: bool
) -> None:
    code = (
        "import os, sys, types; from queuepool.process import launch;"
        f"process = sys.modules['{name}.__main__'] = types.ModuleType('process');"
        "process.main = lambda _: print(os.getcwd() in sys.path) or 0;"
        f"launch.main(['{name}'])"
    )

    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=directory, env=clean_environment(),
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip

    assert done.stdout.strip() == str(looks_here)


# -- writing -----------------------------------------------------------------------------------


def up(directory: Path) -> tuple[int, str]:
    done = run(directory, "up", "--app", "x")
    assert "Traceback" not in done.err
    return done.code, done.err


@pytest.mark.parametrize(
    ("what", "how"),
    [
        *(("up.lock", how) for how in LINKS),
        *((".gitignore", "hard"), ("cluster.json", "symbolic")),  # with these, it starts
        *(("logs", "symbolic"), ("data", "symbolic")),  # directories have no second names
    ],
)
def test_up_writes_through_no_link(directory: Path, what: str, how: str) -> None:
    is_directory = what in ("logs", "data")
    local.STATE_DIR.mkdir()
    precious = directory / "precious"
    if is_directory:
        precious.mkdir()
    else:
        precious.write_text("precious")
    if how == "hard":
        os.link(precious, local.STATE_DIR / what)
    else:
        (local.STATE_DIR / what).symlink_to(precious)

    code, said = up(directory)

    assert code != Exit.OK
    assert is_directory or precious.read_text() == "precious"
    assert not is_directory or list(precious.iterdir()) == []
    if what not in (".gitignore", "cluster.json"):  # these stay as they are, or are replaced
        assert f".queuepool/{what}" in said
        assert "symbolic link" in said or "hard links" in said


def test_up_follows_no_link_in_the_place_of_its_directory(directory: Path) -> None:
    (directory / "elsewhere").mkdir()
    local.STATE_DIR.symlink_to("elsewhere")

    code, said = up(directory)

    assert (code, "symbolic link" in said) == (Exit.USAGE, True)
    assert list((directory / "elsewhere").iterdir()) == []


@pytest.mark.timeout(60)
@pytest.mark.parametrize("what", ["up.lock", "logs/coordinator.log", "data/server.log"])
def test_up_waits_for_no_pipe(directory: Path, what: str) -> None:
    path = local.STATE_DIR / what
    path.parent.mkdir(parents=True)
    os.mkfifo(path)

    code, said = up(directory)

    assert (code, "not a regular file" in said) == (Exit.USAGE, True)


def test_up_refuses_a_directory_that_everybody_may_write_to(directory: Path) -> None:
    directory.chmod(0o777)

    code, said = up(directory)

    assert (code, "every user of this machine can write to" in said) == (Exit.USAGE, True)


def test_a_file_that_lies_there_already_is_not_overwritten() -> None:
    local.STATE_DIR.mkdir()
    (local.STATE_DIR / ".gitignore").write_text("mine\n")

    private.add_missing(local.STATE_DIR, ".gitignore", b"*\n")

    assert (local.STATE_DIR / ".gitignore").read_text() == "mine\n"


def test_a_directory_of_an_earlier_release_is_closed_to_others() -> None:
    plant(mode=0o666, directory_mode=0o777)

    local.write(replace(OURS, stage="new"))

    assert stat.S_IMODE(local.STATE_DIR.stat().st_mode) == 0o700
    found = local.read()
    assert found is not None
    assert found.stage == "new"


def test_state_replaces_a_link_and_not_what_it_leads_to(directory: Path) -> None:
    (directory / "precious").write_text("precious")
    local.STATE_DIR.mkdir()
    (local.STATE_DIR / "cluster.json").symlink_to(directory / "precious")

    local.write(OURS)

    assert local.read() == OURS
    assert (directory / "precious").read_text() == "precious"
    assert [path.name for path in local.STATE_DIR.iterdir()] == ["cluster.json"]


def test_state_is_removed_through_no_link(directory: Path) -> None:
    precious = directory / "elsewhere" / "cluster.json"
    precious.parent.mkdir()
    precious.write_bytes(state())
    local.STATE_DIR.symlink_to("elsewhere")

    with pytest.raises(UnsafePathError, match="symbolic link"):
        local.remove()

    assert precious.exists()


def test_a_log_set_aside_is_written_through_no_link(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queuepool.cli.local.child_logs._KEEP", 10)
    (directory / "precious").write_text("precious")
    log = LogFile(directory / "logs" / "x.log")
    (directory / "logs" / "x.log.1").symlink_to(directory / "precious")
    with log.open() as file:
        file.write(b"more than ten bytes\n")

    with pytest.raises(UnsafePathError, match="symbolic link"):
        log.important()

    assert (directory / "precious").read_text() == "precious"
