"""What callers without a token can do to the coordinator's API: nothing that others notice.

On real processes, over connections that speak HTTP/2 by hand where a library would be too polite.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import resource
import signal
import socket
import struct
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from coordinator.api import health
from coordinator.api.methods import TAKEN_OUT
from coordinator.api.refusals import LINES
from queuepool.process.endings import FAILED
from queuepool.rpc.client import connect
from queuepool.rpc.v1 import queue_pool_pb2 as api
from tests.integration.coordinator.cluster import Process
from tests.paths import ROOT
from tests.security.http2 import RawConnection
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("grpc-strangers")

TOKEN, VIEWER = "token-of-operators", "token-of-viewers"
WATCH, CHECK = b"/grpc.health.v1.Health/Watch", b"/grpc.health.v1.Health/Check"
OURS = b"/queuepool.rpc.v1.QueuePool/"
REFUSED = b"\x0216"  # UNAUTHENTICATED, as the header has it
TOO_LARGE = b"\x018"  # RESOURCE_EXHAUSTED
SOFT_LIMIT = 16 * 1024  # bytes of headers that grpc always takes
SERVING = health_pb2.HealthCheckResponse.SERVING


@contextmanager
def started(url: str, stage: str) -> Iterator[Process]:
    """A coordinator that serves."""
    made = Process(url, stage, grpc_token=TOKEN, grpc_viewer_token=VIEWER, log_format="json")
    try:
        with grpc.insecure_channel(made.grpc) as channel:
            wait_until(lambda: serves(channel), 30.0, "it serves")
        yield made
    finally:
        made.kill()


@pytest.fixture(scope="module")
def process(redis_url: str) -> Iterator[Process]:
    """One for all tests that leave it as they found it."""
    with started(redis_url, "grpc-strangers") as made:
        yield made


@pytest.fixture
def fresh(redis_url: str, stage: str) -> Iterator[Process]:
    """One whose log, memory and counters are this test's own."""
    with started(redis_url, stage) as made:
        yield made


def serves(channel: grpc.Channel) -> bool:
    """Return whether a probe is answered now; a connection may still be closed unheard."""
    stub: Any = health_pb2_grpc.HealthStub(channel)
    try:
        return bool(stub.Check(health_pb2.HealthCheckRequest(), timeout=60).status == SERVING)
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.UNAVAILABLE:
            raise
        return False


def everybody_is_served(process: Process) -> None:
    """Try, on new connections, what probes, operators and viewers ask for."""
    with grpc.insecure_channel(process.grpc) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        for _ in range(20):
            answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=60)
            assert answer.status == SERVING
        stream = stub.Watch(health_pb2.HealthCheckRequest(), timeout=60)
        assert next(stream).status == SERVING
        stream.cancel()
    with connect(process.grpc, TOKEN, deadline_s=60) as client:
        for _ in range(20):
            client.GetCluster(api.GetClusterRequest())
            client.SetWorkers(api.SetWorkersRequest(partition=0, workers=9, ttl_s=5))
        stream = client.WatchPartitions(api.WatchPartitionsRequest(), timeout=60)
        assert next(stream).partitions
        stream.cancel()
    with connect(process.grpc, VIEWER, deadline_s=60) as client:
        client.GetCluster(api.GetClusterRequest())


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (WATCH, b""),
        (WATCH, None),
        (CHECK, None),
        (OURS + b"GetCluster", None),
        (OURS + b"SetWorkers", None),
        (b"/no.such.Service/Call", None),
    ],
    ids=["streams", "half-sent-streams", "half-sent-probes", "looks", "acts", "unknown"],
)
def test_calls_that_strangers_leave_open_keep_nobody_out(
    process: Process, path: bytes, message: bytes | None
) -> None:
    with ExitStack() as held:
        opened = [held.enter_context(RawConnection(process.grpc)) for _ in range(10)]
        for connection in opened:
            for _ in range(100):
                connection.call(path, message, end=False)

        everybody_is_served(process)


def test_connections_without_a_call_keep_nobody_out_and_are_closed(process: Process) -> None:
    with ExitStack() as held:
        idle = [
            held.enter_context(RawConnection(process.grpc, greet=number % 2 == 0, agree=False))
            for number in range(500)
        ]

        everybody_is_served(process)

        assert all(connection.closed(60.0) for connection in idle)


def test_more_connections_than_the_process_may_open_keep_nobody_out(
    redis_url: str, stage: str
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        process = Process(redis_url, stage, grpc_token=TOKEN, grpc_viewer_token=VIEWER)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    try:
        with ExitStack() as held:
            idle = [held.enter_context(RawConnection(process.grpc)) for _ in range(100)]
            assert idle[0].closed(60.0)
            idle += [
                held.enter_context(RawConnection(process.grpc, greet=False)) for _ in range(400)
            ]
            assert idle[100].closed(60.0)

            with grpc.insecure_channel(process.grpc) as channel:
                wait_until(lambda: serves(channel), 30.0)
            everybody_is_served(process)
        assert not any("Too many open files" in line for line in process.log)
    finally:
        process.kill()


@pytest.mark.skipif(not hasattr(socket, "TCP_INFO"), reason="this system does not count")
def test_headers_without_an_end_never_become_much_memory(fresh: Process) -> None:
    before_kb = resident_kb(fresh)

    with ExitStack() as held:
        for _ in range(30):
            connection = held.enter_context(RawConnection(fresh.grpc, agree=False))
            connection.socket.settimeout(2)
            with contextlib.suppress(OSError):  # closed, or no longer read
                connection.headers_without_end(10_000_000)

        assert resident_kb(fresh) - before_kb < 200_000  # of 300 MB that were sent, at once
        everybody_is_served(fresh)


def test_of_one_address_the_newest_streams_are_kept_and_the_oldest_told_why(
    fresh: Process,
) -> None:
    with grpc.insecure_channel(fresh.grpc) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        streams = []
        for _ in range(health.MAX_STREAMS_EACH + 1):
            streams.append(stub.Watch(health_pb2.HealthCheckRequest(), timeout=60))
            assert next(streams[-1]).status == SERVING
        with pytest.raises(grpc.RpcError) as caught:
            list(streams[0])

        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "call again" in (caught.value.details() or "")
        fresh.popen.terminate()
        assert [next(stream).status for stream in streams[1:]] == [2] * health.MAX_STREAMS_EACH


@pytest.mark.parametrize("token", [TOKEN, VIEWER])
def test_half_sent_requests_of_those_who_may_call_keep_nobody_out_either(
    process: Process, token: str
) -> None:
    header = [(b"authorization", f"Bearer {token}".encode())]
    with ExitStack() as held:
        for _ in range(10):
            connection = held.enter_context(RawConnection(process.grpc))
            for number in range(100):
                path = OURS + (b"SetWorkers" if number % 2 else b"GetCluster")
                connection.call(path, None, header)

        everybody_is_served(process)


def test_one_viewers_streams_and_calls_leave_places_for_other_viewers_and_operators(
    process: Process,
) -> None:
    with connect(process.grpc, VIEWER, deadline_s=60) as greedy, ExitStack() as held:
        streams = [greedy.WatchPartitions(api.WatchPartitionsRequest()) for _ in range(40)]
        codes = [first(stream) for stream in streams]
        for _ in range(2):
            connection = held.enter_context(RawConnection(process.grpc))
            for _ in range(90):
                connection.call(
                    OURS + b"GetGroup", None, [(b"authorization", f"Bearer {VIEWER}".encode())]
                )

        assert Counter(codes) == {"OK": 32, "RESOURCE_EXHAUSTED": 8}
        with connect(process.grpc, TOKEN, deadline_s=60) as client:
            client.GetCluster(api.GetClusterRequest())
            client.SetWorkers(api.SetWorkersRequest(partition=0, workers=9, ttl_s=5))
            stream = client.WatchPartitions(api.WatchPartitionsRequest(), timeout=60)
            assert first(stream) == "OK"
            stream.cancel()


def first(stream: Any) -> str:
    """Return the code with which a stream begins."""
    try:
        next(stream)
    except grpc.RpcError as error:
        return str(error.code().name)
    return "OK"


NAMES = [
    b"/\xff\xfe",
    b"/a\xc3(",
    b"/\nforged line",
    b"/x\r\n2026-01-01 INFO coordinator.audit: SetWorkers by operator: OK",
    b"/\x1b]0;title\x07\x1b[31m",
    OURS + b"SetWorkers\n",
    OURS + b"\xe2\x80\xaeSetWorkers",
    b"/grpc.health.v1.Health/Check\n",
    b"/grpc.health.v1.Health/\xff",
    b"",
    b"/" + b"x" * 100_000,
]
if not TAKEN_OUT:  # this grpcio answers a name that is no text by itself, with a code of its own
    NAMES = [name for name in NAMES if name == name.decode("utf-8", "ignore").encode()]


def test_no_name_of_a_method_ends_the_api_or_reaches_a_log(fresh: Process) -> None:
    for headers in ([], [(b"k", b"\xff\xfe")], [(b"authorization", b"\xff")]):
        for name in NAMES:
            with RawConnection(fresh.grpc, agree=False) as connection:
                answer = connection.answer(connection.call(name, b"", headers))
                # grpc refuses some headers that are larger than it likes, at random
                assert REFUSED in answer or (len(name) > SOFT_LIMIT and TOO_LARGE in answer)

    everybody_is_served(fresh)
    stop_and_read(fresh)
    text = "".join(fresh.log)
    assert all(json.loads(line) for line in fresh.log)  # one object a line, and no line between
    for trace in ("forged", "title", "\\u001b", "202e", "xxxx", "Traceback"):
        assert trace not in text
    named = {line["method"] for line in audited(fresh) if line.get("role") == "nobody"}
    assert named == {"unknown"}


@pytest.mark.skipif(not TAKEN_OUT, reason="such a call ends itself alone in this grpcio")
def test_a_process_whose_api_breaks_down_all_the_same_ends_for_its_supervisor(
    redis_url: str, stage: str, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import coordinator.api.methods\ncoordinator.api.methods.TAKEN_OUT = False\n"
    )
    unprotected = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    process = Process(redis_url, stage, environment=unprotected)
    try:
        with RawConnection(process.grpc) as holder, RawConnection(process.grpc) as stranger:
            holder.call(WATCH, b"")
            stranger.call(b"/\xff", b"")

            code = process.popen.wait(60)
        process.kill()
        # grpc's core may use what its broken loop has freed, about once in 400 times, before
        # anyone can see that the loop ended. A supervisor restarts the process then, too.
        assert code in (FAILED, -signal.SIGSEGV)
        assert code != FAILED or any("API stopped unexpectedly" in line for line in process.log)
    finally:
        process.kill()


def test_an_unknown_method_is_unimplemented_to_whoever_has_a_token(process: Process) -> None:
    header = [(b"authorization", f"Bearer {VIEWER}".encode())]
    for name in (b"/no.such.Service/Call", NAMES[0], OURS + b"OfTomorrow"):
        with RawConnection(process.grpc) as connection:
            assert b"\x0212" in connection.answer(connection.call(name, b"", header))


@pytest.mark.parametrize(
    ("path", "token", "result"),
    [
        (b"/no.such.Service/Call", None, "UNAUTHENTICATED"),
        (OURS + b"SetWorkers", None, "UNAUTHENTICATED"),
        (OURS + b"SetWorkers", VIEWER, "PERMISSION_DENIED"),
    ],
    ids=["unknown", "no-token", "viewer"],
)
def test_refused_calls_have_few_lines_and_are_counted_and_allowed_ones_a_line_each(
    fresh: Process, path: bytes, token: str | None, result: str
) -> None:
    header = [(b"authorization", f"Bearer {token}".encode())] if token else []
    with RawConnection(fresh.grpc) as connection:
        for _ in range(300):
            assert b"token" in connection.answer(connection.call(path, b"", header))  # its remedy
    with connect(fresh.grpc, TOKEN, deadline_s=60) as client:
        for _ in range(LINES + 10):
            client.ClearWorkers(api.ClearWorkersRequest(partition=0))
    with urllib.request.urlopen(fresh.metrics, timeout=60) as answer:
        metrics = answer.read().decode()

    assert f'calls_refused_total{{result="{result}"}} 300.0' in metrics
    stop_and_read(fresh)
    lines = audited(fresh)
    refused = [line for line in lines if line.get("role") in ("nobody", "viewer")]
    left_out = [line["left_out"] for line in lines if "left_out" in line]
    assert (len(refused), left_out) == (LINES, [300 - LINES])
    assert len([line for line in lines if line.get("result") == "OK"]) == LINES + 10


def stop_and_read(process: Process) -> None:
    process.stop()
    process.kill()  # its last lines are read once its reader has come to their end


def audited(process: Process) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in process.log]
    return [line for line in lines if line["logger"] == "coordinator.audit"]


def test_metadata_that_is_no_text_fills_no_log(fresh: Process) -> None:
    before = len(fresh.log)
    with RawConnection(fresh.grpc) as connection:
        for _ in range(200):
            connection.answer(connection.call(CHECK, b"", [(b"k", b"\xff" * 1000)]))

    stop_and_read(fresh)
    said = [line for line in fresh.log[before:] if "Invalid encoding" in line]
    assert len(said) <= LINES
    assert all(len(line) < 1000 for line in said)


def test_a_little_that_is_compressed_never_becomes_much_memory(fresh: Process) -> None:
    packed = gzip.compress(bytes(100_000_000), 9)
    assert len(packed) < 128 * 1024
    before_kb = resident_kb(fresh)

    for _ in range(5):
        with RawConnection(fresh.grpc) as connection:
            stream = connection.call(CHECK, None, [(b"grpc-encoding", b"gzip")])
            connection.send(b"\x01" + struct.pack(">I", len(packed)) + packed)
            assert b"\x0212" in connection.answer(stream)  # UNIMPLEMENTED

    assert resident_kb(fresh) - before_kb < 20_000
    everybody_is_served(fresh)


def resident_kb(process: Process) -> int:
    status = Path(f"/proc/{process.popen.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def test_a_malformed_probe_is_an_invalid_argument(fresh: Process) -> None:
    for body in (b"\xff\xff\xff", b"\x0a\x05abc", b"\x0a\x02\xff\xfe", b"x" * 257):
        for path in (CHECK, WATCH):
            with RawConnection(fresh.grpc) as connection:
                answer = connection.answer(connection.call(path, body))
                assert b"\x013" in answer, (body, path)  # INVALID_ARGUMENT
    stop_and_read(fresh)
    assert "Traceback" not in "".join(fresh.log)
