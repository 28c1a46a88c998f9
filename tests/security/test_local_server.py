"""The server that `queuepool up` starts: other users of the machine neither use it nor read it."""

import os
import shutil
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import grpc
import pytest
import redis

from queuepool.cli.exits import Exit
from queuepool.process.embedded import EmbeddedServer, EmbeddedServerError, ports
from queuepool.rpc.client import connect
from queuepool.rpc.v1 import queue_pool_pb2 as api
from tests.e2e.clusters import LocalUp, up
from tests.paths import ROOT
from tests.security.strangers import (
    arguments_of,
    as_root,
    descendants,
    open_to_others,
    reads_as_nobody,
    umask,
)
from tests.waiting import wait_until

pytestmark = [pytest.mark.xdist_group("security-cluster"), pytest.mark.timeout(240)]

APP = ROOT / "tests" / "e2e" / "app.py"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalUp]:
    """One whose files a careless umask would open to everyone."""
    directory = tmp_path_factory.mktemp("cluster")
    shutil.copy(APP, directory)
    with ExitStack() as ending:
        with umask(0o000):  # of its processes, and not of the tests
            running = ending.enter_context(up(directory, "--app", "app", "--partitions", "1"))
        (directory / "rows.csv").write_text("n\n1\n2\n")
        done = running.run("bulk", "rows.csv", "--task", "note", "--key", "k", "--wait")
        assert done.code == Exit.OK, done.err
        yield running


def kept(cluster: LocalUp) -> Path:
    return cluster.directory / ".queuepool"


def password_of(cluster: LocalUp) -> str:
    (url,) = cluster.state.servers.values()
    return url.removeprefix("redis://:").partition("@")[0]


# -- up ----------------------------------------------------------------------------------------


def test_nobody_without_the_password_commands_the_server(cluster: LocalUp) -> None:
    (url,) = cluster.state.servers.values()
    where = url.rpartition("@")[2]

    for guess in (f"redis://{where}", f"redis://:guess@{where}", f"redis://default:@{where}"):
        with redis.Redis.from_url(guess) as client, pytest.raises(redis.AuthenticationError):
            client.execute_command("DBSIZE")
    with redis.Redis.from_url(url) as client:
        assert client.execute_command("DBSIZE") > 0


def test_the_password_is_long_and_another_one_each_time(tmp_path: Path) -> None:
    with EmbeddedServer(with_password=True) as one, EmbeddedServer(with_password=True) as two:
        assert one.url.rpartition("@")[0] != two.url.rpartition("@")[0]
        assert len(one.url.partition("@")[0]) > 40
        assert one.url not in repr(one)


def test_the_state_directory_is_its_owners_alone_whatever_the_umask(cluster: LocalUp) -> None:
    assert open_to_others(kept(cluster)) == []


@as_root
def test_another_user_reads_nothing_of_it(cluster: LocalUp) -> None:
    for directory in (cluster.directory, *cluster.directory.parents):  # no help from pytest's own
        if directory != Path("/") and directory.stat().st_mode & 0o005 == 0:
            directory.chmod(directory.stat().st_mode | 0o005)
    files = [path for path in kept(cluster).rglob("*") if path.is_file()]

    assert {path.name for path in files} >= {"cluster.json", "server.log", "consumer-0.log"}
    assert any("appendonly" in path.name for path in files)
    assert reads_as_nobody([cluster.directory / "app.py"]) != []
    assert reads_as_nobody(files) == []


def test_no_process_has_a_secret_among_its_arguments(cluster: LocalUp) -> None:
    secrets = (password_of(cluster), cluster.state.grpc_token)
    pids = [cluster.process.pid, *descendants(cluster.process.pid)]

    assert len(pids) >= 4
    for pid in pids:
        assert [word for word in arguments_of(pid) for s in secrets if s and s in word] == []


def test_neither_the_terminal_nor_a_log_shows_a_secret(cluster: LocalUp) -> None:
    cluster.run("status")
    cluster.run("check")

    for path in (cluster.directory / "up.out", *kept(cluster).rglob("*.log")):
        text = path.read_text(errors="replace")
        assert password_of(cluster) not in text, path
        assert str(cluster.state.grpc_token) not in text, path


def test_nobody_without_the_token_steers_the_cluster(cluster: LocalUp) -> None:
    address = cluster.state.grpc_address
    assert address is not None

    for token in (None, "guess"):
        with (
            connect(address, token, deadline_s=60) as client,
            pytest.raises(grpc.RpcError) as refused,
        ):
            client.SetWorkers(api.SetWorkersRequest(partition=0, workers=9, ttl_s=60, reason="x"))
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
    with connect(address, cluster.state.grpc_token, deadline_s=60) as client:
        asked = api.GetClusterRequest()
        wait_until(lambda: client.GetCluster(asked).cluster.leader.id, message="somebody leads")
    assert cluster.run("scale", "0", "9", "--for", "1m", "--grpc", address).code == Exit.OK


def test_the_token_is_for_no_address_whose_coordinator_is_away(cluster: LocalUp) -> None:
    token = cluster.state.grpc_token

    killed = {first := cluster.pid_of("coordinator")}
    os.kill(first, signal.SIGKILL)

    def is_away() -> bool:
        """Look; kill it once more if it came back before anybody looked."""
        if cluster.state.grpc_token is None:
            return True
        with suppress(AssertionError, OSError):
            if (pid := cluster.pid_of("coordinator")) not in killed:
                killed.add(pid)
                os.kill(pid, signal.SIGKILL)
        return False

    wait_until(is_away, message="anybody could listen there now")
    wait_until(lambda: cluster.state.grpc_token == token, 60, "it is back")


def test_handlers_are_not_told_the_token_of_the_coordinator(cluster: LocalUp) -> None:
    token = str(cluster.state.grpc_token)

    told = {
        name: token in Path(f"/proc/{cluster.pid_of(name)}/environ").read_text()
        for name in ("consumer", "coordinator")
    }

    assert told == {"consumer": False, "coordinator": True}


def test_a_token_of_the_users_own_is_the_one_that_counts(tmp_path: Path) -> None:
    shutil.copy(APP, tmp_path)
    words = ("--app", "app", "--partitions", "1")
    with up(tmp_path, *words, COORDINATOR_GRPC_TOKEN="mine,older") as cluster:
        wait_until(lambda: cluster.state.grpc_token == "mine", 60, "the coordinator answers")
        assert cluster.run("scale", "0", "9", "--for", "1m").code == Exit.OK


# -- directories of an earlier release -----------------------------------------------------------


def test_data_of_a_server_without_password_opens_and_is_closed_to_others(
    tmp_path: Path, engine_binary: Path
) -> None:
    data = tmp_path / "data"
    port = ports.pick_port()
    with EmbeddedServer(data, port=port, binary=engine_binary), redis.Redis(port=port) as client:
        client.set("job", "waiting")
    for path in (data, *data.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)

    with EmbeddedServer(data, binary=engine_binary, with_password=True) as server:
        assert open_to_others(data) == []
        with redis.Redis.from_url(server.url) as client:
            assert client.get("job") == b"waiting"


def test_a_directory_that_holds_other_files_keeps_its_rights(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    (home / "page.html").touch(mode=0o644)

    with EmbeddedServer(home):
        assert open_to_others(home / "appendonlydir") == []

        shared = {path.split()[0].rpartition("/")[2] for path in open_to_others(home)}
        assert shared == {"home", "page.html"}


@pytest.mark.parametrize("what", ["appendonlydir", "server.log", "embedded.lock"])
def test_a_link_among_the_servers_files_is_refused(tmp_path: Path, what: str) -> None:
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    data.mkdir(mode=0o777)
    if what == "appendonlydir":
        elsewhere.mkdir()
    else:
        elsewhere.write_text("precious")
    (data / what).symlink_to(elsewhere)

    with pytest.raises(EmbeddedServerError, match="symbolic link"):
        EmbeddedServer(data).start()

    assert elsewhere.is_dir() or elsewhere.read_text() == "precious"


def test_a_second_name_of_a_file_is_refused_where_others_could_write(tmp_path: Path) -> None:
    data, precious = tmp_path / "data", tmp_path / "precious"
    data.mkdir()
    data.chmod(0o777)
    precious.write_text("precious")
    precious.chmod(0o644)
    (data / "appendonlydir").mkdir()
    os.link(precious, data / "appendonlydir" / "appendonly.aof.1.incr.aof")

    with pytest.raises(EmbeddedServerError, match="2 hard links"):
        EmbeddedServer(data).start()

    assert precious.stat().st_mode & 0o777 == 0o644


def test_a_copy_beside_the_append_only_file_does_no_harm(tmp_path: Path) -> None:
    copy = tmp_path / "data" / "appendonlydir" / "copy"
    copy.mkdir(parents=True)
    (copy / "appendonly.aof").touch()

    with EmbeddedServer(tmp_path / "data"):
        assert open_to_others(copy) == [f"{copy / 'appendonly.aof'} -rw-r--r--"]  # out of reach


@as_root
def test_a_data_directory_of_somebody_else_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    os.chown(data, 65534, 65534)

    with pytest.raises(EmbeddedServerError, match="belongs to the user with the id 65534"):
        EmbeddedServer(data).start()

    assert list(data.iterdir()) == []


# -- a stranger on the port ----------------------------------------------------------------------


class Impostor:
    """Listens where a server is about to, calls itself that server, and notes what it is sent."""

    def __init__(self) -> None:
        self._listener = socket.create_server((ports.HOST, 0))
        self.port = int(self._listener.getsockname()[1])
        self.heard = b""
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self._thread.start()

    def _answer(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self.heard += connection.recv(4096)
                connection.sendall(b"-NOAUTH Authentication required.\r\n+PONG\r\n")

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(60)


def test_a_stranger_on_the_port_is_sent_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    impostor = Impostor()
    free = ports.pick_port()
    offers = iter([impostor.port, free])
    monkeypatch.setattr("queuepool.process.embedded.process.pick_port", lambda: next(offers))
    try:
        with EmbeddedServer(with_password=True) as server:
            assert server.port == free
            with redis.Redis.from_url(server.url) as client:
                assert client.ping()
    finally:
        impostor.close()

    assert b"AUTH " not in impostor.heard.replace(b"NOAUTH", b"")


def test_the_password_outlives_a_crash_of_the_server(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path, with_password=True) as server:
        url = server.url
        server.kill()

        server.start()

        assert server.url == url
        with redis.Redis.from_url(url) as client:
            assert client.ping()


def test_a_port_that_was_asked_for_has_a_password_too() -> None:
    port = ports.pick_port()
    with (
        EmbeddedServer(port=port, with_password=True),
        redis.Redis(port=port) as client,
        pytest.raises(redis.AuthenticationError),
    ):
        client.ping()
