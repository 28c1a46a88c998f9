"""A URL that cannot work is one clean line and exit code 2, wherever it is read; no password."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuepool import AsyncQueuePool, ConfigurationError, QueuePool, cli
from queuepool.process.embedded import EmbeddedServer
from queuepool.servers.connect import connect
from queuepool.servers.tls import Tls
from queuepool.servers.urls import check_url, display_name
from tests.security.planted import NASTY, controls

SECRET = "hunter2-CANARY"
ODD = [
    "redis://[::1",
    "redis://[zz]:1",
    "redis://host:notaport",
    "redis://host:99999",
    "redis://host:-1",
    "redis://host:0",
    "redis://host:6_379",
    "redis://host:\uff11",
    "unix://",
    "unix:///",
    "unix://relative/path",
    "unix://@abstract",
    "unix:///" + "a" * 200,
    "   ",
    " redis://host",
    "redis://host ",
    "redis:// host",
    "redis://ho st:6379",
    "redis://" + "a" * 64,
    "redis://" + "a." * 40_000,
    "redis://" + "ä" * 100_000,
    "redis://\u202e:1",
    "redis://a..b:1",
    "redis://.:1",
    "redis://a%00b:1",
    "redis://a%20b:1",
    "redis://\x1b[31m:1",
    "redis://host\nforged: line",
    "redis://host/notadatabase",
    "redis://host/99999999999999999999",
    "redis+cluster://",
    "redis+cluster://host/3",
    "redis://host?db=x",
    "redis://host?socket_timeout=nan",
    "redis://host?socket_timeout=-1",
    "redis://host?protocol=3",
    "redis://host?decode_responses=true",
    "redis://host?retry_on_error=1",
    "redis://host?retry_on_timeout=true",
    "redis://host?parser_class=x",
    "redis://host?" + "&".join(f"db={n}" for n in range(500)),
    "http://host",
    "host:6379",
    "//host",
    f"redis://user:{SECRET}@[::1",
    f"redis://user:{SECRET}@host:port",
    f"redis://user:{SECRET}/more@host:1",
    f"redis://user:{SECRET}#more@host:1",
    f"redis://user:1#{SECRET}@host:1",
    f"redis://user:1?{SECRET}=@host:1",
    f"redis://user:{SECRET}?more@host:1",
    f"redis://user:{SECRET}@host:1@",
    f"redis://user:{SECRET[:4]}\r{SECRET}@host:1",
    f"redis://user:{SECRET}@\udcff:1",
    f"redis://user:{SECRET}@a%00b:1",
    f"redis://host?password={SECRET}&nonsense=1",
    f"redis://host?port={SECRET}",
    f"unix:///s.sock?db={SECRET}",
    f"http://user:{SECRET}@host",
    f"redis//user:{SECRET}",
    f"user:{SECRET}@host:1",
    f"{SECRET}://host",
    NASTY.replace("\x00", ""),
]
# They could work, and no one answers there.
AWAY = [
    f"redis://user:p@ss:{SECRET}@127.0.0.1:1",
    f"redis://user:%zz{SECRET}@127.0.0.1:1",
    f"redis+cluster://user:{SECRET}@127.0.0.1:1",
    f"redis://host.invalid:1?password={SECRET}",
    f"rediss://user:{SECRET}@127.0.0.1:1?ssl_ca_certs=/nowhere",
    f"unix:///nowhere/s.sock?password={SECRET}",
]


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.startswith("QUEUEPOOL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("QUEUEPOOL_RETRY_FOR_S", "0")
    monkeypatch.setenv("QUEUEPOOL_TIMEOUT_S", "2")
    monkeypatch.chdir(tmp_path)


def said_of(
    url: str, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """Run a command with this URL; return its exit code and its words."""
    monkeypatch.setenv("QUEUEPOOL_URL", url)
    code = cli.main(command.split())
    captured = capsys.readouterr()
    return code, captured.out + captured.err


@pytest.mark.parametrize(
    ("command", "url"),
    [
        *(("check", url) for url in ODD),
        # These read it in the same place: one that cannot be parsed, and one that it refuses.
        *product(("check --json", "status", "dead list", "audit"), (ODD[0], ODD[-1])),
    ],
    ids=lambda text: ascii(text[:40]),
)
def test_a_command_refuses_an_odd_url_in_one_line(
    url: str, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, text = said_of(url, command, monkeypatch, capsys)

    assert code == 2
    assert len(text.splitlines()) <= 2  # `check` counts the errors
    assert "QUEUEPOOL_URL: " in text
    assert not controls(text)
    assert SECRET not in text
    assert len(text) < 1000


@pytest.mark.parametrize("url", ODD, ids=lambda url: ascii(url[:40]))
def test_both_pools_refuse_an_odd_url_without_its_password(url: str) -> None:
    for kind in (QueuePool, AsyncQueuePool):
        with pytest.raises(ConfigurationError) as caught:
            kind(url)

        assert not controls(str(caught.value), allowed=())
        assert SECRET not in "".join(traceback.format_exception(caught.value))
        assert SECRET not in repr(caught.value)

    # Its name and its files for TLS raise nothing.
    assert not controls(display_name(url), allowed=())
    assert isinstance(Tls(ca=Path("/ca.pem")).added_to(url), str)


SCHEMES = st.sampled_from(["redis", "rediss", "unix", "redis+cluster", "valkeys", "http", ""])
PARTS = st.lists(
    st.text(max_size=8) | st.sampled_from(["@", ":", "/", "?", "#", "[", "]", "%", "::1", "6379",
    "db=", "&", "localhost", "%00", "\udcff", "\u2100", "xn--"]), max_size=12,
)  # fmt: skip


@given(SCHEMES, PARTS.map("".join), st.booleans())
@settings(max_examples=200)
def test_any_text_is_a_url_or_one_clean_line_without_what_stands_before_the_at(
    scheme: str, rest: str, secret: bool
) -> None:
    url = f"{scheme}://" + (f"user:{SECRET}{rest}@host" if secret else rest)
    try:
        plain, cluster = check_url(url)
        connect(url, timeout_s=1.0).close()
        told = display_name(plain)
    except ConfigurationError as error:
        told, cluster = str(error), False

    assert not controls(told, allowed=())
    assert SECRET not in told
    assert isinstance(cluster, bool)
    Tls(ca=Path("/ca.pem")).added_to(url)


@pytest.mark.parametrize("url", [None, 7, b"redis://host", ["redis://host"]])
def test_a_url_that_is_no_text_is_refused(url: object) -> None:
    with pytest.raises(ConfigurationError, match="is text, not"):
        check_url(url)  # type: ignore[arg-type]


@pytest.mark.parametrize("url", AWAY)
@pytest.mark.parametrize("command", ["check", "status", "dead list"])
def test_a_server_that_is_away_is_told_without_a_traceback(
    url: str, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, text = said_of(url, command, monkeypatch, capsys)

    assert code in (1, 3)  # 1: a file is missing here
    assert not controls(text)
    assert SECRET not in text


@pytest.mark.parametrize("name", ["URL", "SERVERS"])
@pytest.mark.parametrize("process", ["consumer --app json", "coordinator"])
def test_a_process_refuses_an_odd_url_in_one_line(name: str, process: str) -> None:
    url = f"redis://user:{SECRET}@[::1"
    value = url if name == "URL" else json.dumps({"main": url})
    done = subprocess.run(
        [sys.executable, "-m", "queuepool", *process.split()],
        env={**os.environ, f"QUEUEPOOL_{name}": value, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert f"QUEUEPOOL_{name}: " in done.stderr
    assert SECRET not in done.stderr


def test_a_socket_file_is_a_server_like_any_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.sock"
    with EmbeddedServer(appendonly=False, extra_args=("--unixsocket", str(path))):
        monkeypatch.setenv("QUEUEPOOL_URL", f"unix://{path}")
        with QueuePool.from_env() as pool:
            assert pool.enqueue("t", {}, partition_key="k").status == "accepted"

        assert cli.main(["check"]) == 0, capsys.readouterr().out


ANSWERS = [
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
    b"+OK\r\n" * 400,
    b"*1\r\n$3\r\n\xff\x1b[\r\n" * 400,
    b":1\r\n" * 400,
    b"-ERR \x1b[31m forged\x07\r\n" * 400,
    b"$-1\r\n" * 400,
    b"*-1\r\n" * 400,
    b"",
]


@pytest.fixture
def stranger(request: pytest.FixtureRequest) -> Iterator[int]:
    """A port on which each connection gets the same bytes, whatever it asks."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        over = threading.Event()

        def serve() -> None:
            while not over.is_set():
                try:
                    connection, _ = server.accept()
                except OSError:
                    continue
                with connection:
                    connection.recv(64)
                    connection.sendall(request.param)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        over.set()
        thread.join()


@pytest.mark.parametrize("stranger", ANSWERS, indirect=True, ids=lambda a: ascii(a[:12]))
@pytest.mark.parametrize("command", ["check", "status", "dead list", "job show abc"])
def test_what_answers_and_is_no_redis_ends_no_command_in_a_traceback(
    stranger: int, command: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("QUEUEPOOL_URL", f"redis://127.0.0.1:{stranger}")

    code = cli.main(command.split())

    captured = capsys.readouterr()
    assert code != 0
    assert not controls(captured.out + captured.err)
