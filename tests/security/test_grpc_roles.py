"""Viewers look, operators act, and each act leaves a line; on real coordinator processes."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from coordinator.api import calls
from coordinator.api.service import StatusService
from coordinator.settings import load
from coordinator.snapshots.store import SnapshotStore
from queuepool import cli
from queuepool.cli.exits import Exit
from queuepool.errors import ConfigurationError, InvalidInputError
from queuepool.rpc.auth import Access, ApiRole, role_for
from queuepool.rpc.client import QueuePoolClient, connect
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.rpc.v1.job_pb2 import JobFilter
from queuepool.rpc.v1.limit_pb2 import LimitDefinition
from queuepool.rpc.v1.schedule_pb2 import ScheduleDefinition
from tests.integration.coordinator.cluster import Process
from tests.security.certificates import HAVE_OPENSSL, Authority
from tests.waiting import wait_until

OPERATOR, NEXT, VIEWER = "token-of-operators", "next-token-of-operators", "token-of-viewers"
SERVICE = api.DESCRIPTOR.services_by_name["QueuePool"]
needs_openssl = pytest.mark.skipif(not HAVE_OPENSSL, reason="openssl is not installed here")

Call = Callable[[QueuePoolClient], object]
LOOKS: dict[str, Call] = {
    "GetCluster": lambda c: c.GetCluster(api.GetClusterRequest()),
    "Doctor": lambda c: c.Doctor(api.DoctorRequest()),
    "Log": lambda c: c.Log(api.LogRequest()),
    "ListPartitions": lambda c: c.ListPartitions(api.ListPartitionsRequest()),
    "GetPartition": lambda c: c.GetPartition(api.GetPartitionRequest(partition=1)),
    "ListDecisions": lambda c: c.ListDecisions(api.ListDecisionsRequest()),
    "WatchPartitions": lambda c: next(
        iter(c.WatchPartitions(api.WatchPartitionsRequest(), timeout=30))
    ),
    "GetGroup": lambda c: c.GetGroup(api.GetGroupRequest(partition_key=b"none")),
    "GetTenant": lambda c: c.GetTenant(api.GetTenantRequest(tenant="none")),
    "ListTenants": lambda c: c.ListTenants(api.ListTenantsRequest(most=5)),
    "ListLimits": lambda c: c.ListLimits(api.ListLimitsRequest()),
    "Explain": lambda c: c.Explain(api.ExplainRequest(partition=1)),
    "Record": lambda c: next(iter(c.Record(api.RecordRequest(), timeout=30))),
    "GetPolicy": lambda c: c.GetPolicy(api.GetPolicyRequest()),
    "ListGroups": lambda c: c.ListGroups(api.ListGroupsRequest()),
    "FindJobs": lambda c: c.FindJobs(api.FindJobsRequest()),
    "CountJobs": lambda c: c.CountJobs(api.CountJobsRequest()),
    "ListRunning": lambda c: c.ListRunning(api.ListRunningRequest()),
    "GetDigest": lambda c: c.GetDigest(api.GetDigestRequest()),
    "GetHistory": lambda c: c.GetHistory(api.GetHistoryRequest(job_id="none")),
    "ListErrors": lambda c: c.ListErrors(api.ListErrorsRequest()),
    "ListBatches": lambda c: c.ListBatches(api.ListBatchesRequest()),
    "GetBatch": lambda c: c.GetBatch(api.GetBatchRequest(batch="AAAAAAAAAAAAAA")),
    "ListSchedules": lambda c: c.ListSchedules(api.ListSchedulesRequest()),
    "ListMoves": lambda c: c.ListMoves(api.ListMovesRequest()),
    "Advise": lambda c: c.Advise(api.AdviseRequest()),
}
ACTS: dict[str, Call] = {
    "SetWorkers": lambda c: c.SetWorkers(
        api.SetWorkersRequest(partition=1, workers=9, ttl_s=5, reason="why")
    ),
    "ClearWorkers": lambda c: c.ClearWorkers(api.ClearWorkersRequest(partition=1)),
    "Hold": lambda c: c.Hold(api.HoldRequest(partition=1, reason="why")),
    "Release": lambda c: c.Release(api.ReleaseRequest(all=True)),
    "ConfigureGroup": lambda c: c.ConfigureGroup(
        api.ConfigureGroupRequest(partition_key=b"none", max_running=2)
    ),
    "ConfigureTenant": lambda c: c.ConfigureTenant(
        api.ConfigureTenantRequest(tenant="none", max_running=2)
    ),
    "SetLimit": lambda c: c.SetLimit(
        api.SetLimitRequest(limit="roles", definition=LimitDefinition(rate=9))
    ),
    "PauseLimit": lambda c: c.PauseLimit(api.PauseLimitRequest(limit="roles", paused=True)),
    "RemoveLimit": lambda c: c.RemoveLimit(api.RemoveLimitRequest(limit="roles")),
    "SetPolicy": lambda c: c.SetPolicy(api.SetPolicyRequest(changes={"budget": "900"})),
    "SetSchedule": lambda c: c.SetSchedule(
        api.SetScheduleRequest(
            schedule="roles", definition=ScheduleDefinition(task="t", every_s=86_400)
        )
    ),
    "ReplayJobs": lambda c: c.ReplayJobs(api.ReplayJobsRequest(filter=JobFilter())),
    "DiscardJobs": lambda c: c.DiscardJobs(api.DiscardJobsRequest(filter=JobFilter())),
    "RunJob": lambda c: c.RunJob(api.RunJobRequest(job_id="none")),
    "EditJob": lambda c: c.EditJob(api.EditJobRequest(job_id="none")),
    "CancelBatch": lambda c: c.CancelBatch(api.CancelBatchRequest(batch="AAAAAAAAAAAAAA")),
    "PauseSchedule": lambda c: c.PauseSchedule(
        api.PauseScheduleRequest(schedule="roles", paused=True)
    ),
    "RunSchedule": lambda c: c.RunSchedule(api.RunScheduleRequest(schedule="roles")),
    "RemoveSchedule": lambda c: c.RemoveSchedule(api.RemoveScheduleRequest(schedule="roles")),
}


@contextmanager
def running(url: str, stage: str, **settings: Any) -> Iterator[Process]:
    process = Process(url, stage, log_format="json", **settings)
    try:
        yield process
    finally:
        process.kill()


@pytest.fixture(scope="module")
def by_token(redis_url: str) -> Iterator[Process]:
    with running(
        redis_url, "by-token", grpc_token=f"{OPERATOR}, {NEXT}", grpc_viewer_token=VIEWER
    ) as process:
        with connect(process.grpc, VIEWER, deadline_s=30) as client:
            wait_until(lambda: outcome(client, LOOKS["GetCluster"]) == "OK", 60.0, "it answers")
        yield process


def outcome(client: QueuePoolClient, call: Call) -> str:
    """Return the status code of a call."""
    try:
        call(client)
    except grpc.RpcError as error:
        return str(error.code().name)
    return "OK"


def audited(process: Process, since: int) -> list[dict[str, Any]]:
    """Return the audit's lines after so many lines of the log."""
    lines = [json.loads(line) for line in process.log[since:] if line.startswith("{")]
    return [line for line in lines if line["logger"] == "coordinator.audit"]


def test_every_call_of_the_api_is_for_viewers_or_for_operators() -> None:
    wanted = {m.name: role_for(f"/{SERVICE.full_name}/{m.name}") for m in SERVICE.methods}

    assert {name for name, role in wanted.items() if role is ApiRole.VIEWER} == set(LOOKS)
    assert {name for name, role in wanted.items() if role is ApiRole.OPERATOR} == set(ACTS)
    assert role_for(f"/{SERVICE.full_name}/OfTomorrow") is ApiRole.OPERATOR
    assert role_for("/other.Service/Call") is ApiRole.OPERATOR


def test_no_message_of_the_api_has_room_for_a_payload() -> None:
    """There is no role for reading payloads, because nothing shows any."""
    names = {
        field.name for method in SERVICE.methods for field in fields_of(method.output_type, set())
    }

    assert {"backlog", "reason", "partition_key"} <= names  # the walk finds what there is
    assert not {n for n in names if re.search("payload|result|body|message|unique|traceback", n)}


def fields_of(message: Any, seen: set[str]) -> Iterator[Any]:
    """Yield the fields of a message and of those within."""
    if message.full_name in seen:
        return
    seen.add(message.full_name)
    for field in message.fields:
        yield field
        if field.message_type is not None:
            yield from fields_of(field.message_type, seen)


@pytest.mark.parametrize(
    ("token", "allowed"), [(OPERATOR, "OK"), (NEXT, "OK"), (VIEWER, "PERMISSION_DENIED")]
)
def test_a_token_has_its_role(by_token: Process, token: str, allowed: str) -> None:
    with connect(by_token.grpc, token, deadline_s=30) as client:
        looks = {name: outcome(client, call) for name, call in LOOKS.items()}
        acts = {name: outcome(client, call) for name, call in ACTS.items()}

    assert looks == dict.fromkeys(LOOKS, "OK") | dict.fromkeys(
        ("GetGroup", "GetBatch"), "NOT_FOUND"
    )
    nobodys = ("ConfigureGroup", "CancelBatch", "RunJob", "EditJob") if allowed == "OK" else ()
    unknown = dict.fromkeys(nobodys, "NOT_FOUND")
    assert acts == dict.fromkeys(ACTS, allowed) | unknown


@pytest.mark.parametrize("token", [None, "wrong", VIEWER[:-1], f"{OPERATOR}, {NEXT}"])
def test_no_other_token_is_let_in(by_token: Process, token: str | None) -> None:
    if token is not None and " " in token:
        token = token.replace(" ", "")
    with connect(by_token.grpc, token, deadline_s=30) as client:
        outcomes = {outcome(client, call) for call in (LOOKS | ACTS).values()}

    assert outcomes == {"UNAUTHENTICATED"}


_marks = itertools.count(9000)


def mark(process: Process) -> int:
    """Return where the log stands once the lines of all earlier calls are in it.

    A line is written when its call has been answered, so a line of the test before may be late.
    """
    mark = next(_marks)  # a partition that no one else asks for
    with connect(process.grpc, OPERATOR, deadline_s=30) as client:
        request = api.SetWorkersRequest(partition=mark, workers=9, ttl_s=5)
        outcome(client, lambda c: c.SetWorkers(request))
    wait_until(lambda: any(line["partition"] == mark for line in audited(process, 0)))
    return len(process.log)


@pytest.mark.parametrize(
    ("token", "role", "result"),
    [
        (OPERATOR, "operator", "OK"),
        (VIEWER, "viewer", "PERMISSION_DENIED"),
        ("wrong", "nobody", "UNAUTHENTICATED"),
    ],
)
def test_each_call_of_operators_is_audited_and_no_look_is(
    by_token: Process, token: str, role: str, result: str
) -> None:
    before = mark(by_token)
    with connect(by_token.grpc, token, deadline_s=30) as client:
        outcome(client, LOOKS["GetCluster"])
        outcome(client, ACTS["SetWorkers"])
    wait_until(lambda: audited(by_token, before))

    (line,) = audited(by_token, before)
    partition = None if role == "nobody" else 1
    found = {name: line[name] for name in ("role", "method", "partition", "result")}
    assert found == {"role": role, "method": "SetWorkers", "partition": partition, "result": result}
    assert "127.0.0.1" in line["actor"]
    assert token not in json.dumps(line)


def test_an_act_that_fails_is_audited_as_failed(by_token: Process) -> None:
    before = mark(by_token)
    with connect(by_token.grpc, OPERATOR, deadline_s=30) as client:
        request = api.SetWorkersRequest(partition=7, workers=9, ttl_s=5)
        assert outcome(client, lambda c: c.SetWorkers(request)) == "NOT_FOUND"
    wait_until(lambda: audited(by_token, before))

    (line,) = audited(by_token, before)
    assert (line["partition"], line["result"]) == (7, "NOT_FOUND")


def call_of(request: Any) -> Call:
    method = type(request).__name__.removesuffix("Request")
    return lambda client: getattr(client, method)(request)


@pytest.mark.parametrize(
    ("request_", "partition", "group"),
    [
        (api.HoldRequest(partition_key=b"of\nbob"), None, r"of\\x0abob"),
        (api.HoldRequest(partition=1), 1, None),
        (api.HoldRequest(tenant="acme"), None, None),
        (api.HoldRequest(all=True), "all", None),
        (api.ConfigureGroupRequest(partition_key=b"bulk-42", serial=True), None, "bulk-42"),
        (api.HoldRequest(), None, None),
    ],
    ids=str,
)
def test_the_audit_says_what_was_to_be_held_or_configured(
    by_token: Process, request_: Any, partition: object, group: str | None
) -> None:
    before = mark(by_token)
    method = type(request_).__name__.removesuffix("Request")
    with connect(by_token.grpc, OPERATOR, deadline_s=30) as client:
        assert outcome(client, call_of(request_)) != "PERMISSION_DENIED"
        client.Release(api.ReleaseRequest(all=True))
    wait_until(lambda: len(audited(by_token, before)) >= 2)

    (line,) = [line for line in audited(by_token, before) if line["method"] == method]
    assert line["role"] == "operator"
    assert (line["partition"], line.get("group")) == (partition, group)


def test_the_audit_says_what_a_viewer_may_not_hold(by_token: Process) -> None:
    before = mark(by_token)
    with connect(by_token.grpc, VIEWER, deadline_s=30) as client:
        assert outcome(client, call_of(api.HoldRequest(partition=1))) == "PERMISSION_DENIED"
    wait_until(lambda: audited(by_token, before))

    (line,) = audited(by_token, before)
    assert (line["role"], line["partition"]) == ("viewer", 1)


def test_health_needs_no_token(by_token: Process) -> None:
    with grpc.insecure_channel(by_token.grpc) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        asked = health_pb2.HealthCheckRequest()
        wait_until(lambda: stub.Check(asked, timeout=30).status == 1, 60.0, "it serves")


def test_the_command_line_tells_a_viewer_what_to_do(
    by_token: Process, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QUEUEPOOL_GRPC_TOKEN", VIEWER)

    assert cli.main(["status", "--grpc", by_token.grpc]) == Exit.UNATTENDED  # shown: no consumer
    assert cli.main(["scale", "1", "9", "--grpc", by_token.grpc]) == 1
    assert "use a token of COORDINATOR_GRPC_TOKEN" in capsys.readouterr().err


@needs_openssl
def test_a_certificate_has_the_role_of_its_name(
    redis_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    authority = Authority(tmp_path)
    server = authority.issue("server")
    alice, bob = authority.issue("alice", "DNS:alice.test"), authority.issue("bob", "DNS:bob.test")
    settings = {
        "grpc_tls_cert": server[0],
        "grpc_tls_key": server[1],
        "grpc_tls_client_ca": authority.ca,
        "grpc_operators": "carol, alice.test",
        "grpc_token": OPERATOR,
        "grpc_viewer_token": VIEWER,
    }
    with running(redis_url, "by-name", **settings) as process:

        def roles(pair: tuple[Path, Path], token: str) -> tuple[str, str]:
            called = partial(connect, process.grpc, token, authority.ca, deadline_s=30)
            with called(tls_cert=pair[0], tls_key=pair[1]) as client:
                wait_until(lambda: outcome(client, LOOKS["GetCluster"]) != "UNAVAILABLE", 60.0)
                return outcome(client, LOOKS["GetCluster"]), outcome(client, ACTS["SetWorkers"])

        assert roles(alice, OPERATOR) == ("OK", "OK")
        # The lesser right counts: of the token, of the certificate.
        assert roles(alice, VIEWER) == ("OK", "PERMISSION_DENIED")
        assert roles(bob, OPERATOR) == ("OK", "PERMISSION_DENIED")
        assert roles(alice, "wrong") == ("UNAUTHENTICATED", "UNAUTHENTICATED")

        wait_until(lambda: len(audited(process, 0)) == 4)
        told = [(line["actor"].split()[0], line["result"]) for line in audited(process, 0)]
        assert told[0] == ("alice", "OK")
        assert told[2] == ("bob", "PERMISSION_DENIED")

        # The command line shows its certificate.
        names = ("TOKEN", "CA", "CERT", "KEY")
        for name, value in zip(names, (OPERATOR, authority.ca, *bob), strict=True):
            monkeypatch.setenv(f"QUEUEPOOL_GRPC_{name}", str(value))
        assert cli.main(["status", "--grpc", process.grpc]) == Exit.UNATTENDED
        assert cli.main(["scale", "1", "9", "--grpc", process.grpc]) == 1
        said = capsys.readouterr().err
        assert "the certificate of bob, bob.test is a viewer's" in said
        assert "COORDINATOR_GRPC_OPERATORS" in said


def test_a_certificate_of_ours_needs_its_key_and_the_authority() -> None:
    for cert, key, ca in (("c.pem", None, "ca.pem"), (None, "k.pem", "ca.pem"), ("c", "k", None)):
        with pytest.raises(ConfigurationError, match="QUEUEPOOL_GRPC_CA"):
            connect("127.0.0.1:1", tls_ca=ca, tls_cert=cert, tls_key=key)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"grpc_token": "a", "grpc_viewer_token": "b,a"}, "have a token in common"),
        ({"grpc_viewer_token": " , "}, "COORDINATOR_GRPC_VIEWER_TOKEN is empty"),
        ({"grpc_viewer_token": "two words"}, "COORDINATOR_GRPC_VIEWER_TOKEN: the gRPC token"),
        ({"grpc_operators": "alice"}, "needs COORDINATOR_GRPC_TLS_CLIENT_CA"),
        ({"grpc_operators": ","}, "COORDINATOR_GRPC_OPERATORS is empty"),
    ],
    ids=str,
)
def test_settings_that_contradict_each_other_are_refused(
    settings: dict[str, str], problem: str
) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        load(settings)


def test_only_with_neither_token_nor_authority_is_everybody_an_operator() -> None:
    assert load({}).grpc_is_open()
    assert load({}).access().by_token(()) is ApiRole.OPERATOR
    read_only = load({"grpc_viewer_token": VIEWER})
    assert not read_only.grpc_is_open()
    assert read_only.access().by_token(()) is None
    assert Access(operators=["alice"]).by_names(()) is ApiRole.VIEWER


class Hearing:
    """A call's context that only learns of its end."""

    code: grpc.StatusCode | None = None

    async def abort(self, code: grpc.StatusCode, _details: str) -> None:
        self.code = code
        raise grpc.aio.AbortError


def test_the_server_ends_a_call_whatever_deadline_its_caller_gave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calls, "_CALL_LIMIT_S", 0.01)

    @calls.with_status_codes
    async def never(_self: object, _request: object, _context: object) -> None:
        await asyncio.Event().wait()

    @calls.with_status_codes
    async def wrong(_self: object, _request: object, _context: object) -> None:
        raise InvalidInputError("no")

    async def end_of(call: Callable[..., Awaitable[None]]) -> grpc.StatusCode | None:
        context = Hearing()
        with pytest.raises(grpc.aio.AbortError):
            await call(None, None, context)
        return context.code

    assert asyncio.run(end_of(never)) is grpc.StatusCode.DEADLINE_EXCEEDED
    assert asyncio.run(end_of(wrong)) is grpc.StatusCode.INVALID_ARGUMENT


def test_a_stream_ends_after_its_time_so_that_the_right_to_it_is_looked_at_again() -> None:
    async def watch() -> list[object]:
        nothing: Any = None
        service = StatusService(nothing, SnapshotStore(), nothing, max_stream_s=0.05)
        stream = service.WatchPartitions(api.WatchPartitionsRequest(), nothing)
        return [message async for message in stream]

    assert asyncio.run(asyncio.wait_for(watch(), 10)) == []
