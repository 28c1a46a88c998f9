"""A password in `up --url`: others can read it among the arguments, so it does not stay there."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from queuepool.cli.exits import Exit
from queuepool.cli.local.secret_url import has_secret, without_url
from queuepool.process.embedded import EmbeddedServer
from tests.e2e.clusters import READY_S, clean_environment, up
from tests.paths import ROOT
from tests.security.strangers import arguments_of, descendants
from tests.waiting import wait_until

pytestmark = [pytest.mark.xdist_group("security-cluster"), pytest.mark.timeout(240)]

APP = ROOT / "tests" / "e2e" / "app.py"
WORDS = ("--app", "app", "--partitions", "1")


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer(with_password=True) as running:
        yield running


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    shutil.copy(APP, tmp_path)
    return tmp_path


def password_of(server: EmbeddedServer) -> str:
    return server.url.removeprefix("redis://:").partition("@")[0]


def test_a_password_in_the_arguments_is_taken_out_of_them_with_a_warning(
    server: EmbeddedServer, directory: Path
) -> None:
    with up(directory, *WORDS, "--url", server.url) as cluster:
        pids = [cluster.process.pid, *descendants(cluster.process.pid)]

        assert len(pids) >= 3
        assert [p for p in pids if password_of(server) in " ".join(arguments_of(p))] == []
        assert (
            cluster.shown.count(
                "warning: until now, every user of this machine could read the password in --url"
            )
            == 1
        )
        assert "QUEUEPOOL_URL" in cluster.shown
        assert password_of(server) not in cluster.shown
        assert dict(cluster.state.servers) == {"main": server.url}
        assert cluster.run("check").code == Exit.OK


def test_a_url_in_the_environment_needs_no_warning(server: EmbeddedServer, directory: Path) -> None:
    with up(directory, *WORDS, QUEUEPOOL_URL=server.url) as cluster:
        assert "read the password in --url" not in cluster.shown
        assert dict(cluster.state.servers) == {"main": server.url}


def test_a_url_can_come_from_a_file(server: EmbeddedServer, directory: Path) -> None:
    file = directory / "url"
    file.write_text(server.url + "\n")
    command = [sys.executable, "-m", "queuepool", "up", *WORDS, "--url", "-"]
    other = clean_environment(
        QUEUEPOOL_SERVERS='{"other": "redis://127.0.0.1:1"}', QUEUEPOOL_PLACEMENT="0=other"
    )
    with (
        file.open() as source,
        (directory / "out").open("wb") as out,
        subprocess.Popen(
            command, cwd=directory, env=other, stdin=source, stdout=out, stderr=out
        ) as process,
    ):
        try:
            wait_until(
                lambda: "ready: " in (directory / "out").read_text() or process.poll() is not None,
                READY_S,
            )
            assert process.poll() is None, (directory / "out").read_text()
        finally:
            process.terminate()
        assert process.wait(60) == Exit.OK


@pytest.mark.parametrize("content", [b"", b"\n", b"redis://h\0", b"redis://\x1b[31mh\n"])
def test_an_input_without_a_url_is_one_line(directory: Path, content: bytes) -> None:
    command = [sys.executable, "-m", "queuepool", "up", *WORDS, "--url", "-"]
    done = subprocess.run(
        command, cwd=directory, env=clean_environment(), input=content, capture_output=True,
        check=False, timeout=60,
    )  # fmt: skip

    assert done.returncode == Exit.USAGE
    assert b"standard input has no URL" in done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("redis://h:6379/0", False),
        ("redis://:pw@h/0", True),
        ("redis://user:pw@h/0", True),
        ("redis://meant-as-a-password@h/0", True),
        ("redis://h/0?password=pw", True),
        ("rediss://h/0?ssl_password=pw", True),
        ("redis://h/0?socket_timeout=1", False),
        ("unix:///run/redis.sock", False),
        ("unix://:pw@/run/redis.sock", True),
        ("redis://:p[w@h/0", True),
        ("nonsense", False),
    ],
)
def test_what_holds_a_secret(url: str, secret: bool) -> None:
    assert has_secret(url) is secret


def test_only_the_url_is_taken_out_of_the_arguments() -> None:
    up = ["python", "-m", "queuepool", "up", "--app", "u"]

    assert without_url([*up[:4], "--url", "u", *up[4:], "--url=u"], "u") == up
    assert without_url([*up, "--ur", "u"], "u") == up  # argparse takes a beginning for the whole
    assert without_url(["python", "-c", "main(['--url', 'u'])"], "u") is None
