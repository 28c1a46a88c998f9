"""The operators' API of a real coordinator: any request has an answer or the right status code.

Nothing of the inside reaches a caller, and the process neither grows nor stalls.
"""

import contextlib
import re
import struct
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from coordinator.core.overlays.values import known_names
from queuepool.client.pages import token_of
from queuepool.rpc.client import AUTHORIZATION, QueuePoolClient, connect
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.rpc.v1.job_pb2 import JobFilter
from queuepool.rpc.v1.limit_pb2 import LimitDefinition
from queuepool.rpc.v1.schedule_pb2 import ScheduleDefinition
from tests.integration.coordinator.cluster import Process
from tests.security.http2 import RawConnection
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("bad-grpc")

SERVICE = api.DESCRIPTOR.services_by_name["QueuePool"]
METHODS = [method.name for method in SERVICE.methods]
TOKEN = "a-token-for-tests"
Code = grpc.StatusCode
REFUSALS = {Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.ABORTED}
REAL = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def running(redis_url: str) -> Iterator[Process]:
    made = Process(redis_url, f"test-{uuid.uuid4().hex[:16]}", grpc_token=TOKEN)
    yield made
    made.kill()


@pytest.fixture(scope="module")
def client(running: Process) -> Iterator[QueuePoolClient]:
    with connect(running.grpc, TOKEN, deadline_s=30) as made:
        wait_until(lambda: outcome(made, "GetCluster", api.GetClusterRequest())[0] is Code.OK, 60.0)
        yield made


@pytest.fixture(scope="module")
def channel(running: Process) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(running.grpc) as made:
        yield made


def outcome(client: Any, method: str, request: Any) -> tuple[Code, str]:
    """Return code and details of one call; of a stream, up to its first message."""
    call = getattr(client, method)
    try:
        if method in ("WatchPartitions", "Record"):
            stream = call(request, timeout=30)
            next(stream)
            stream.cancel()
        else:
            call(request, timeout=30)
    except grpc.RpcError as error:
        return error.code(), error.details() or ""
    return Code.OK, ""


def raw_outcome(
    channel: grpc.Channel, method: str, request: bytes, token: Any = f"Bearer {TOKEN}"
) -> tuple[Code, str]:
    """Return code and details of a call with these bytes as its request."""
    name = f"/{SERVICE.full_name}/{method}"
    call: Any = channel.unary_stream(name)
    stream = call(request, timeout=30, metadata=((AUTHORIZATION, token),) if token else ())
    try:
        next(stream)
        stream.cancel()
    except StopIteration:
        pass
    except grpc.RpcError as error:
        return error.code(), error.details() or ""
    return Code.OK, ""


HEALTH = "grpc.health.v1.Health"
EVERY = [
    *(f"{SERVICE.full_name}/{name}" for name in METHODS),
    f"{HEALTH}/Check",
    f"{HEALTH}/Watch",
    "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    f"{SERVICE.full_name}/OfTomorrow",
]
BYTES = st.binary(max_size=300) | st.integers(1, 200_000).map(lambda size: b"\x0a" * size)
METADATA = st.lists(
    st.tuples(
        st.from_regex(r"[a-z0-9_.-]{1,20}", fullmatch=True)
        .map(lambda name: f"x{name}".encode())
        .filter(lambda name: not name.endswith(b"-bin")),
        st.binary(max_size=200) | st.integers(1, 60_000).map(lambda size: b"v" * size),
    ),
    max_size=3,
)


@REAL
@given(
    method=st.sampled_from(EVERY),
    body=BYTES,
    metadata=METADATA,
    has_token=st.booleans(),
    cut=st.booleans(),
)
def test_no_bytes_metadata_or_half_of_a_request_end_in_anything_but_a_code(
    running: Process,
    client: QueuePoolClient,
    method: str,
    body: bytes,
    metadata: list[tuple[bytes, bytes]],
    has_token: bool,
    cut: bool,
) -> None:
    """By hand, since a library sends neither half of a request nor bytes that are no text."""
    header = [(b"authorization", f"Bearer {TOKEN}".encode())] if has_token else []
    is_open = method.startswith(HEALTH)
    answered = {Code.OK, Code.UNIMPLEMENTED, *REFUSALS} if has_token or is_open else set()
    wanted = answered or {Code.UNAUTHENTICATED}
    # What is refused need not be read to its end, and what is too large never is.
    with RawConnection(running.grpc) as connection, contextlib.suppress(ConnectionError):
        stream = connection.call(f"/{method}".encode(), None, [*header, *metadata])
        connection.send(b"\0" + struct.pack(">I", len(body)) + body, end=not cut)
        if not cut or not answered:
            end = connection.answer(stream, 30.0, most=1)
            codes = {int(number) for number in re.findall(rb"grpc-status.(\d+)", end)}
            assert codes <= {c.value[0] for c in (*wanted, Code.RESOURCE_EXHAUSTED)}, end
            assert codes or answered
            assert is_told_nothing(end.decode("latin-1")), end

    assert outcome(client, "GetCluster", api.GetClusterRequest())[0] is Code.OK


def is_told_nothing(details: str) -> bool:
    inside = ("Traceback", ".py", "File ", "Error(", "redis", TOKEN)
    return len(details) <= 1_000 and not any(word in details for word in inside)


def resident_kb(process: Process) -> int:
    status = Path(f"/proc/{process.popen.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


@REAL
@given(method=st.sampled_from(METHODS), request_=st.binary(max_size=200))
@example("GetPartition", b"\xff\xff\xff\xff")
@example("GetGroup", b"\x0a\x00")
@example("ListPartitions", b"\x12\x02\xff\xfe")
def test_random_bytes_have_an_answer_or_a_code(
    client: QueuePoolClient, channel: grpc.Channel, method: str, request_: bytes
) -> None:
    code, details = raw_outcome(channel, method, request_)

    assert code in {Code.OK, *REFUSALS}
    assert is_told_nothing(details), details
    if request_ == b"\xff\xff\xff\xff":
        assert code is Code.INVALID_ARGUMENT


SIZES = st.integers(0, 2**32 - 1) | st.sampled_from([0, 1, 10**9])
NUMBERS = st.integers(0, 3) | st.integers(0, 2**32 - 1)
TOKENS = st.text(max_size=50) | st.sampled_from(
    ["1", "99999", "1-1", "-1", "-", "٣-٣", "9" * 20 + "-1", "18446744073709551616-0", "+", "(1-1"]
)
REASONS = st.text(max_size=20) | st.sampled_from(["a\r\nb", "\x1b[31m", "x" * 60_000])
KEYS = st.binary(max_size=80)
MOMENTS = st.integers(-(2**63), 2**63 - 1)
PAGES = st.builds(
    token_of, st.tuples(st.integers(0, 3), st.sampled_from(["default", "none"])), st.binary()
)
NAMES = st.text(max_size=80) | st.sampled_from(["a", "a:b", "x" * 64])
ODD_JSON = st.sampled_from(["{}", "[]", "[" * 50_000, '{"a":1e999}'])
FILTERS = st.builds(
    JobFilter,
    task=NAMES,
    partition_key=KEYS,
    tenant=NAMES,
    fingerprint=NAMES | st.just("ValueError-3fa2c1"),
    since_ms=st.none() | MOMENTS,
    until_ms=st.none() | MOMENTS,
    partition=st.none() | NUMBERS,
    pool=NAMES,
)
REQUESTS = st.one_of(
    st.builds(api.ListPartitionsRequest, page_size=SIZES, page_token=TOKENS),
    st.builds(api.ListDecisionsRequest, partition=NUMBERS, page_size=SIZES, page_token=TOKENS),
    st.builds(api.ListDecisionsRequest, page_size=SIZES, page_token=TOKENS),
    st.builds(api.GetPartitionRequest, partition=NUMBERS),
    st.builds(api.GetGroupRequest, partition_key=KEYS),
    st.builds(
        api.WatchPartitionsRequest,
        partitions=st.lists(NUMBERS, max_size=20),
        min_interval_ms=NUMBERS,
    ),
    st.builds(
        api.SetWorkersRequest, partition=NUMBERS, workers=SIZES, ttl_s=st.floats(), reason=REASONS
    ),
    st.builds(api.ClearWorkersRequest, partition=NUMBERS, reason=REASONS),
    *(
        st.builds(message, reason=REASONS, **{what: value})
        for message in (api.HoldRequest, api.ReleaseRequest)
        for what, value in (("partition", NUMBERS), ("partition_key", KEYS), ("all", st.booleans()))
    ),
    st.builds(api.ListLimitsRequest, name=NAMES, page_size=SIZES, page_token=TOKENS),
    st.builds(
        api.SetLimitRequest,
        limit=NAMES,
        definition=st.builds(
            LimitDefinition,
            rate=st.none() | SIZES,
            per_s=st.floats(),
            burst=st.none() | SIZES,
            concurrency=st.none() | SIZES,
            adaptive=st.booleans(),
            least=st.none() | SIZES,
            most=st.none() | SIZES,
        ),
        reason=REASONS,
    ),
    st.builds(api.PauseLimitRequest, limit=NAMES, paused=st.booleans(), reason=REASONS),
    st.builds(api.RemoveLimitRequest, limit=NAMES, reason=REASONS),
    st.builds(
        api.ExplainRequest,
        partition=NUMBERS,
        at_ms=st.none() | st.integers(-(2**63), 2**63 - 1),
    ),
    st.builds(
        api.SetPolicyRequest,
        changes=st.dictionaries(NAMES | st.sampled_from(known_names()), NAMES, max_size=3),
        version=st.none() | st.integers(-(2**63), 2**63 - 1),
        replace=st.booleans(),
        reason=REASONS,
    ),
    st.builds(
        api.ConfigureTenantRequest,
        tenant=NAMES,
        max_running=st.none() | SIZES,
        weight=st.none() | SIZES,
        reason=REASONS,
    ),
    st.builds(api.GetTenantRequest, tenant=NAMES),
    st.builds(
        api.ListGroupsRequest,
        order=SIZES.filter(lambda n: n < 2**31),
        partition=st.none() | NUMBERS,
        pool=NAMES,
        page_size=SIZES,
        page_token=TOKENS,
    ),
    st.builds(
        api.FindJobsRequest,
        state=st.integers(0, 9),
        task=NAMES,
        partition_key=KEYS,
        tenant=NAMES,
        fingerprint=NAMES | st.just("ValueError-3fa2c1"),
        since_ms=st.none() | MOMENTS,
        until_ms=st.none() | MOMENTS,
        page_size=SIZES,
        page_token=TOKENS | PAGES,
    ),
    st.builds(api.CountJobsRequest, state=st.integers(0, 9), filter=st.none() | FILTERS),
    st.builds(api.ListRunningRequest, partition=st.none() | NUMBERS, page_size=SIZES),
    st.builds(api.GetDigestRequest, partition=st.none() | NUMBERS),
    *(
        st.builds(
            request,
            filter=st.none() | FILTERS,
            most=st.none() | SIZES,
            rate=st.none() | st.floats(),
            newest_first=st.booleans(),
            dry_run=st.booleans(),
            reason=REASONS,
        )
        for request in (api.ReplayJobsRequest, api.DiscardJobsRequest)
    ),
    st.builds(api.RunJobRequest, job_id=NAMES, partition_key=KEYS, tenant=NAMES, reason=REASONS),
    st.builds(
        api.EditJobRequest,
        job_id=NAMES,
        partition_key=KEYS,
        tenant=NAMES,
        payload=NAMES | ODD_JSON,
        reason=REASONS,
    ),
    st.builds(api.GetHistoryRequest, job_id=NAMES, partition_key=KEYS, tenant=NAMES),
    st.builds(api.ListErrorsRequest, page_size=SIZES, page_token=TOKENS),
    st.builds(api.ListBatchesRequest, page_size=SIZES, page_token=TOKENS | PAGES),
    st.builds(api.GetBatchRequest, batch=NAMES),
    st.builds(api.CancelBatchRequest, batch=NAMES, reason=REASONS),
    st.builds(api.ListSchedulesRequest, name=NAMES, page_size=SIZES, page_token=TOKENS),
    st.builds(api.ListMovesRequest),
    st.builds(api.AdviseRequest),
    st.builds(
        api.SetScheduleRequest,
        schedule=NAMES,
        payload=NAMES | ODD_JSON,
        unique=NAMES,
        definition=st.builds(
            ScheduleDefinition,
            task=NAMES,
            cron=NAMES | st.just("0 3 * * *"),
            every_s=st.floats() | st.just(0.0),
            timezone=NAMES | st.just(""),
            catch_up=SIZES,
            grace_s=st.floats(),
            limits=st.lists(NAMES, max_size=6),
            timeout_s=st.none() | st.floats(),
            expires_s=st.none() | st.floats(),
        ),
        reason=REASONS,
    ),
    st.builds(api.PauseScheduleRequest, schedule=NAMES, paused=st.booleans(), reason=REASONS),
    st.builds(api.RunScheduleRequest, schedule=NAMES, reason=REASONS),
    st.builds(api.RemoveScheduleRequest, schedule=NAMES, reason=REASONS),
    st.builds(api.ListTenantsRequest, most=NUMBERS),
    st.builds(
        api.ConfigureGroupRequest,
        partition_key=KEYS,
        max_running=st.none() | SIZES,
        serial=st.none() | st.booleans(),
        weight=st.none() | SIZES,
        reason=REASONS,
    ),
)


@REAL
@given(REQUESTS)
@example(api.ListDecisionsRequest(page_token="٣-٣"))
@example(api.ListDecisionsRequest(page_token="18446744073709551616-0"))
@example(api.ListDecisionsRequest(page_token="9" * 20 + "-1"))
@example(api.ListPartitionsRequest(page_size=10**9))
@example(api.SetWorkersRequest(partition=0, workers=1, ttl_s=float("nan")))
def test_any_values_are_answered_or_refused(client: QueuePoolClient, request_: Any) -> None:
    method = type(request_).__name__.removesuffix("Request")

    code, details = outcome(client, method, request_)

    assert code in {Code.OK, *REFUSALS}, (code, details)
    assert is_told_nothing(details), details


@REAL
@given(
    method=st.sampled_from(METHODS),
    token=st.none()
    | st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40)
    | st.sampled_from([TOKEN, f"bearer {TOKEN}", f"Bearer  {TOKEN}", f"Bearer {TOKEN}x", "Bearer "])
    | st.just("Bearer " + "x" * 4_000),
)
def test_without_the_token_every_call_is_refused(
    client: QueuePoolClient, channel: grpc.Channel, method: str, token: str | None
) -> None:
    code, details = raw_outcome(channel, method, b"", token)

    assert code is Code.UNAUTHENTICATED
    assert TOKEN not in details


def test_messages_of_ten_megabytes_are_refused_and_leave_no_memory_behind(
    running: Process, client: QueuePoolClient, channel: grpc.Channel
) -> None:
    large = b"\x0a" + b"\xff\xff\xff\x04" + b"x" * 10_000_000
    assert raw_outcome(channel, "GetGroup", large)[0] is Code.RESOURCE_EXHAUSTED
    before_kb = resident_kb(running)

    for method in METHODS * 2:
        assert raw_outcome(channel, method, large)[0] is Code.RESOURCE_EXHAUSTED

    # A thread that met one may keep the room of one; were all kept, it would be 400 MB.
    wait_until(lambda: resident_kb(running) - before_kb < 65_536, 30.0)
    assert outcome(client, "GetCluster", api.GetClusterRequest())[0] is Code.OK


def test_connections_of_every_kind_of_nonsense_leave_no_memory_behind(running: Process) -> None:
    def nonsense(count: int) -> None:
        for number in range(count):
            connected = RawConnection(running.grpc, greet=number % 3 > 0)
            with connected as connection, contextlib.suppress(ConnectionError):
                connection.socket.sendall(b"\xff\x00GET / HTTP/1.1\r\n\r\n" * (number % 50))
                for method in EVERY:
                    connection.call(f"/{method}".encode(), None, [(b"x", b"y" * 8_000)])

    nonsense(100)
    before_kb = resident_kb(running)
    nonsense(400)

    wait_until(lambda: resident_kb(running) - before_kb < 16_384, 30.0, "memory is given back")


def test_it_lives_and_its_log_holds_no_failure_of_its_own(
    running: Process, client: QueuePoolClient
) -> None:
    for request_ in (api.ListPartitionsRequest(page_token="\x00"), api.GetClusterRequest()):
        outcome(client, type(request_).__name__.removesuffix("Request"), request_)

    assert running.popen.poll() is None
    assert not [line for line in running.log if " failed" in line or "Traceback" in line]
    assert not any(TOKEN in line for line in running.log)
