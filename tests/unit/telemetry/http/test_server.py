"""The small HTTP server and clients of every kind."""

from __future__ import annotations

import contextlib
import logging
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from statistics import median
from time import monotonic

import pytest

from queuepool.telemetry.http.connections import Table
from queuepool.telemetry.http.messages import Reply, Request
from queuepool.telemetry.http.server import MAX_CONNECTIONS, HttpServer
from tests.processes import running
from tests.security.slow_clients import Strangers, ask, connect, cpu_s, read_all
from tests.unit.servers.test_forking import status_of_child
from tests.waiting import wait_until

Serve = Callable[..., HttpServer]
LARGE = b"x" * 30_000_000
GET = b"GET /small HTTP/1.1\r\n\r\n"


def answer(request: Request) -> Reply:
    return Reply(status=200, body=LARGE if request.path == "/large" else b"small\n")


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[HttpServer] = []

    def start(deadline_s: float = 10.0) -> HttpServer:
        servers.append(HttpServer(answer, host="127.0.0.1", port=0, deadline_s=deadline_s))
        servers[-1].start()
        return servers[-1]

    yield start
    for each in servers:
        each.stop()


def is_open(client: socket.socket) -> bool:
    """Whether the server has not ended this connection."""
    client.setblocking(False)
    try:
        return bool(client.recv(1))
    except BlockingIOError:
        return True
    except OSError:
        return False


def ends(step: Callable[[], object]) -> None:
    """Repeat a step until the server ends the connection."""

    def is_over() -> bool:
        try:
            return step() == b""
        except OSError:
            return True

    wait_until(is_over, 60.0, "the connection ends", interval_s=0.05)


def test_a_request_that_trickles_in_ends_at_the_deadline(serve: Serve) -> None:
    port, began_s = serve(deadline_s=0.6).port, monotonic()
    with connect(port) as client:
        ends(lambda: client.send(b"G"))

    assert monotonic() - began_s > 0.3


def test_a_reply_that_trickles_out_ends_at_the_deadline(serve: Serve) -> None:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    with client:
        client.connect(("127.0.0.1", serve(deadline_s=0.6).port))
        client.sendall(b"GET /large HTTP/1.1\r\n\r\n")
        got = [0]

        def read_a_little() -> bytes:
            part = client.recv(1000)
            got[0] += len(part)
            return part

        client.settimeout(30)
        ends(read_a_little)

    assert got[0] < len(LARGE)


def test_a_large_reply_arrives_whole(serve: Serve) -> None:
    with connect(serve().port, timeout_s=30) as client:
        client.sendall(b"GET /large HTTP/1.0\r\n\r\n")
        whole = read_all(client)

    assert whole.endswith(b"\r\n\r\n" + LARGE)


def test_a_connection_has_one_reply_whatever_else_is_asked_on_it(serve: Serve) -> None:
    with connect(serve().port) as client:
        client.sendall(GET * 200)
        text = read_all(client)

    assert text.count(b"HTTP/1.1 200 OK") == 1
    assert text.endswith(b"\r\n\r\nsmall\n")


def test_a_refusal_reaches_a_client_that_goes_on_sending(serve: Serve) -> None:
    with connect(serve().port) as client:
        client.sendall(b"GET /" + b"a" * 200_000)
        assert read_all(client).startswith(b"HTTP/1.1 431 ")


def test_who_stays_after_the_reply_is_not_waited_for(serve: Serve) -> None:
    with connect(serve(deadline_s=0.6).port) as client:
        client.sendall(GET)
        assert read_all(client).endswith(b"small\n")
        ends(lambda: client.send(b"x"))


def test_who_asks_and_ends_its_half_gets_the_whole_reply(serve: Serve) -> None:
    with connect(serve().port, timeout_s=30) as client:
        client.sendall(b"GET /large HTTP/1.0\r\n\r\n")
        client.shutdown(socket.SHUT_WR)
        assert read_all(client).endswith(b"\r\n\r\n" + LARGE)


def test_no_more_connections_are_open_than_allowed_and_the_newest_stay(serve: Serve) -> None:
    port = serve().port
    clients = [connect(port) for _ in range(MAX_CONNECTIONS + 20)]

    wait_until(lambda: not any(is_open(each) for each in clients[:20]))
    assert all(is_open(each) for each in clients[20:])

    for each in clients:
        each.close()


def test_one_with_many_connections_does_not_close_that_of_somebody_else(serve: Serve) -> None:
    port = serve().port
    with connect(port, source="127.0.0.9") as client:
        client.sendall(GET[:10])

        with Strangers(port, 200) as strangers:
            for _ in range(5):
                strangers.annoy()
                assert ask(port, source="127.0.0.1")[0] == "HTTP/1.1 200 OK"
            client.sendall(GET[10:])
            assert read_all(client).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.thorough
@pytest.mark.parametrize("addresses", [1, 300])
def test_honest_requests_are_answered_whoever_holds_connections(
    serve: Serve, addresses: int
) -> None:
    port = serve().port
    with Strangers(port, 300, addresses=addresses) as strangers:
        for _ in range(5):
            strangers.annoy()
            assert ask(port, "/large")[0] == "HTTP/1.1 200 OK"
            assert ask(port, source="127.0.9.9")[0] == "HTTP/1.1 200 OK"


def test_a_forked_child_has_no_copy_and_the_connections_of_its_parent_go_on(
    serve: Serve,
) -> None:
    server = serve()
    with connect(server.port) as client:
        client.sendall(GET[:10])
        wait_until(lambda: len(server._table) == 1)
        (held,) = server._table

        def has_none() -> bool:
            sockets = (held.socket, server._listener, server._wake, server._wakes)
            return all(each.fileno() == -1 for each in sockets) and server._reserve is None

        assert status_of_child(has_none) == 0

        client.sendall(GET[10:])
        assert read_all(client).endswith(b"small\n")


def test_resets_leave_no_trace(
    serve: Serve, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    port = serve().port
    for words in (b"", b"GET", GET, b"GET /large HTTP/1.1\r\n\r\n"):
        for _ in range(20):
            client = connect(port)
            client.sendall(words)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()

    assert ask(port)[0] == "HTTP/1.1 200 OK"
    assert (capfd.readouterr().err, caplog.text) == ("", "")


def test_a_default_timeout_that_a_handler_sets_changes_nothing(serve: Serve) -> None:
    port = serve().port
    socket.setdefaulttimeout(0.05)
    try:
        with connect(port, source="127.0.0.1") as client:
            client.settimeout(30)
            wait_until(lambda: ask(port)[0] == "HTTP/1.1 200 OK")
            client.sendall(GET)
            assert read_all(client).startswith(b"HTTP/1.1 200 OK")
    finally:
        socket.setdefaulttimeout(None)


def test_a_pass_that_fails_is_told_once_and_the_next_one_answers(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    port, left = serve().port, [3]
    real = Table.drop_ended

    def fail(table: Table, now_s: float) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise MemoryError
        real(table, now_s)

    monkeypatch.setattr(Table, "drop_ended", fail)

    wait_until(lambda: ask(port)[0] == "HTTP/1.1 200 OK" and left[0] < 0)
    assert caplog.text.count("a request for metrics or health failed") == 1


def test_a_stop_ends_open_connections_and_is_quick(serve: Serve) -> None:
    server = serve(deadline_s=300.0)
    clients = [connect(server.port) for _ in range(10)]
    assert ask(server.port)[0] == "HTTP/1.1 200 OK"
    began_s = monotonic()

    server.stop()
    server.stop()

    assert monotonic() - began_s < 60.0  # far from the deadline of the connections
    assert [read_all(each) for each in clients] == [b""] * 10
    for each in clients:
        each.close()
    HttpServer(answer, host="127.0.0.1", port=server.port).stop()


def test_two_threads_may_stop_it_at_once(serve: Serve) -> None:
    server = serve()
    others = [threading.Thread(target=server.stop) for _ in range(4)]
    for each in others:
        each.start()
    for each in others:
        each.join(30)

    assert ask(server.port)[0] == ""


WITHOUT_DESCRIPTORS = """
import logging, os, resource, socket, sys
from queuepool.telemetry.http.messages import Reply
from queuepool.telemetry.http.server import HttpServer
logging.basicConfig(format="%(message)s")
server = HttpServer(lambda request: Reply(status=200, body=b"ok"), host="127.0.0.1", port=0)
server.start()
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
taken = []
if sys.argv[1] == "exhaust":
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass
print(server.port, flush=True)
for line in sys.stdin:
    if line == "close all\\n":
        os.closerange(3, 64)
        print("closed", flush=True)
    if line == "free\\n":
        for each in taken:
            os.close(each)
        print("freed", flush=True)
"""


@pytest.fixture
def other(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """A process with a server and 64 descriptors."""
    command = [sys.executable, "-c", WITHOUT_DESCRIPTORS, str(request.param)]
    pipe = subprocess.PIPE
    with running(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        yield process
        process.kill()


def tell(process: subprocess.Popen[str], text: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    if text:
        process.stdin.write(f"{text}\n")
        process.stdin.flush()
    return process.stdout.readline().strip()


@pytest.mark.serial
@pytest.mark.parametrize("other", ["exhaust"], indirect=True)
def test_a_process_that_has_opened_all_it_may_answers_in_spite_of_strangers(
    other: subprocess.Popen[str],
) -> None:
    port, waits_s = int(tell(other, "")), list[float]()
    used_s, since_s = cpu_s(other.pid), monotonic()

    with Strangers(port, 300) as strangers:
        for _ in range(20):
            strangers.annoy()
            status, took_s = ask(port)
            assert status == "HTTP/1.1 200 OK"
            waits_s.append(took_s)
        share = (cpu_s(other.pid) - used_s) / (monotonic() - since_s)

    assert median(waits_s) < 1.0
    assert share < 0.5
    assert tell(other, "free") == "freed"
    assert ask(port)[0] == "HTTP/1.1 200 OK"


@pytest.mark.serial
@pytest.mark.parametrize("other", ["plain"], indirect=True)
def test_a_flood_of_bytes_leaves_the_processor_to_the_jobs(other: subprocess.Popen[str]) -> None:
    port = int(tell(other, ""))

    def pour() -> None:
        with contextlib.suppress(OSError), connect(port) as client:
            while True:
                client.send(bytes(65_536))

    floods = [threading.Thread(target=pour) for _ in range(4)]
    for each in floods:
        each.start()
    used_s, since_s = cpu_s(other.pid), monotonic()
    wait_until(lambda: ask(port)[0] != "HTTP/1.1 200 OK" or monotonic() - since_s > 2.0)
    share = (cpu_s(other.pid) - used_s) / (monotonic() - since_s)
    other.kill()
    for each in floods:
        each.join(10)

    assert share < 0.4


@pytest.mark.serial
@pytest.mark.parametrize("other", ["plain"], indirect=True)
def test_a_server_whose_descriptors_somebody_closed_ends_with_one_line(
    other: subprocess.Popen[str],
) -> None:
    port = int(tell(other, ""))
    assert tell(other, "close all") == "closed"
    assert ask(port)[0] == ""
    used_s, since_s = cpu_s(other.pid), monotonic()
    wait_until(lambda: monotonic() - since_s > 1.0)

    assert cpu_s(other.pid) - used_s < 0.3
    other.kill()
    _, said = other.communicate(timeout=10)
    assert said.count("no longer served") == 1
    assert "Traceback" not in said


def test_nothing_is_logged_by_an_ordinary_life(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "queuepool.telemetry.http"):
        server = serve()
        ask(server.port)
        server.stop()

    assert caplog.text == ""
