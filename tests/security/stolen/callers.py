"""The rows of docs/security.md about the coordinator's API and its metrics: who may do what.

No one has a credential at `/metrics`; the API knows tokens.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from queuepool.rpc.client import QueuePoolClient, connect
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.rpc.v1.job_pb2 import JobFilter
from queuepool.rpc.v1.limit_pb2 import LimitDefinition
from queuepool.rpc.v1.schedule_pb2 import ScheduleDefinition

OPERATOR, VIEWER = "token-of-operators", "token-of-viewers"
METRICS = "reaches `/metrics`"
TOKENS: dict[str, str | None] = {"no token": None, "viewer": VIEWER, "operator": OPERATOR}
CALLERS = (METRICS, *TOKENS)
LOOKING = frozenset(("viewer", "operator"))
# What someone may want to know of a partition.
LIMIT, SEEN, PAUSED = "limit-of-scene", "limit-in-use", "limit paused: True"
PAYLOAD, ERROR, JOB, GROUP = "secret-payload", "secret-error", "secret-job", "secret-group"
WORKERS, CAP = 9, 7
HELD, CAPPED = "held: True", f"capped: {CAP}"
SCHEDULE, SCHEDULED = "schedule-of-scene", "schedule paused: True"
LATER, RAN = "job-of-later", "job ran: True"
BATCH, CANCELLED = "AAAAAAAAAAAAAA", "batch cancelled: True"
BUDGET = "900"
DECIDED = f"decided: {BUDGET}"
BY_HAND = f"by hand: {WORKERS}"
HOST, REASON = "fake:1", "reason-of-decision"

Call = Callable[[QueuePoolClient], Any]
LOOKS: dict[str, Call] = {
    "GetCluster": lambda c: c.GetCluster(api.GetClusterRequest()),
    "ListPartitions": lambda c: c.ListPartitions(api.ListPartitionsRequest()),
    "GetPartition": lambda c: c.GetPartition(api.GetPartitionRequest(partition=1)),
    "WatchPartitions": lambda c: next(
        iter(c.WatchPartitions(api.WatchPartitionsRequest(), timeout=30))
    ),
    "ListDecisions": lambda c: c.ListDecisions(api.ListDecisionsRequest()),
    "GetGroup": lambda c: c.GetGroup(api.GetGroupRequest(partition_key=GROUP.encode())),
    "ListLimits": lambda c: c.ListLimits(api.ListLimitsRequest()),
    "Explain": lambda c: c.Explain(api.ExplainRequest(partition=1)),
    "Record": lambda c: next(iter(c.Record(api.RecordRequest(), timeout=30))),
    "GetPolicy": lambda c: c.GetPolicy(api.GetPolicyRequest()),
    "FindJobs": lambda c: c.FindJobs(api.FindJobsRequest()),
    "ListErrors": lambda c: c.ListErrors(api.ListErrorsRequest()),
    "ListGroups": lambda c: c.ListGroups(api.ListGroupsRequest()),
    "ListBatches": lambda c: c.ListBatches(api.ListBatchesRequest()),
    "GetBatch": lambda c: c.GetBatch(api.GetBatchRequest(batch=BATCH)),
    "CountJobs": lambda c: c.CountJobs(api.CountJobsRequest()),
    "ListRunning": lambda c: c.ListRunning(api.ListRunningRequest()),
    "GetDigest": lambda c: c.GetDigest(api.GetDigestRequest()),
    "GetHistory": lambda c: c.GetHistory(api.GetHistoryRequest(job_id=JOB)),
    "ListSchedules": lambda c: c.ListSchedules(api.ListSchedulesRequest()),
    "ListMoves": lambda c: c.ListMoves(api.ListMovesRequest()),
    "Advise": lambda c: c.Advise(api.AdviseRequest()),
}
ACTS: dict[str, Call] = {
    "SetWorkers": lambda c: c.SetWorkers(
        api.SetWorkersRequest(partition=1, workers=WORKERS, ttl_s=60, reason=REASON)
    ),
    "ClearWorkers": lambda c: c.ClearWorkers(api.ClearWorkersRequest(partition=0)),
    "Hold": lambda c: c.Hold(api.HoldRequest(partition_key=GROUP.encode())),
    "ConfigureGroup": lambda c: c.ConfigureGroup(
        api.ConfigureGroupRequest(partition_key=GROUP.encode(), max_running=CAP)
    ),
    "ConfigureTenant": lambda c: c.ConfigureTenant(
        api.ConfigureTenantRequest(tenant="stolen", max_running=CAP)
    ),
    "SetLimit": lambda c: c.SetLimit(
        api.SetLimitRequest(limit=LIMIT, definition=LimitDefinition(rate=9))
    ),
    "PauseLimit": lambda c: c.PauseLimit(api.PauseLimitRequest(limit=LIMIT, paused=True)),
    "SetPolicy": lambda c: c.SetPolicy(api.SetPolicyRequest(changes={"budget": BUDGET})),
    "SetSchedule": lambda c: c.SetSchedule(
        api.SetScheduleRequest(
            schedule=SCHEDULE,
            definition=ScheduleDefinition(task="t", every_s=86_400),
            payload=json.dumps({"x": PAYLOAD}),
        )
    ),
    "PauseSchedule": lambda c: c.PauseSchedule(
        api.PauseScheduleRequest(schedule=SCHEDULE, paused=True)
    ),
    "RunSchedule": lambda c: c.RunSchedule(api.RunScheduleRequest(schedule=SCHEDULE)),
    "ReplayJobs": lambda c: c.ReplayJobs(api.ReplayJobsRequest(filter=JobFilter(task="nobody's"))),
    "DiscardJobs": lambda c: c.DiscardJobs(
        api.DiscardJobsRequest(filter=JobFilter(task="nobody's"))
    ),
    "RunJob": lambda c: c.RunJob(api.RunJobRequest(job_id=LATER)),
    "EditJob": lambda c: c.EditJob(
        api.EditJobRequest(job_id=JOB, payload=json.dumps({"x": PAYLOAD}))
    ),
    "CancelBatch": lambda c: c.CancelBatch(api.CancelBatchRequest(batch=BATCH)),
}
AFTERWARDS: dict[str, Call] = {
    "Release": lambda c: c.Release(api.ReleaseRequest(partition_key=GROUP.encode())),
    "RemoveLimit": lambda c: c.RemoveLimit(api.RemoveLimitRequest(limit=LIMIT)),
    "RemoveSchedule": lambda c: c.RemoveSchedule(api.RemoveScheduleRequest(schedule=SCHEDULE)),
}


@dataclass(frozen=True, slots=True)
class Wish:
    """Something that a caller may want. shown: whether all that it was answered shows it."""

    name: str
    may: frozenset[str]
    shown: Callable[[Mapping[str, str]], bool]


def _shows(*texts: str) -> Callable[[Mapping[str, str]], bool]:
    return lambda replies: any(text in reply for reply in replies.values() for text in texts)


WISHES = (
    Wish("ask whether the coordinator is well", frozenset(CALLERS), _shows("200\nok", "SERVING")),
    Wish("see counts of jobs and workers", LOOKING | {METRICS}, _shows("backlog")),
    Wish("see the host that owns a partition", LOOKING, _shows(HOST)),
    Wish("see the totals of a group whose key one knows", LOOKING, _shows("total: 2")),
    Wish("see decisions with their reasons", LOOKING, _shows(REASON)),
    Wish("set workers by hand", frozenset(("operator",)), _shows(BY_HAND)),
    Wish("change how worker counts are decided", frozenset(("operator",)), _shows(DECIDED)),
    Wish("hold groups, partitions, everything", frozenset(("operator",)), _shows(HELD)),
    Wish("say how many jobs of a group may run", frozenset(("operator",)), _shows(CAPPED)),
    Wish("set, pause and remove limits", frozenset(("operator",)), _shows(PAUSED)),
    Wish("see the names of limits, and how far they are used", LOOKING | {METRICS}, _shows(SEEN)),
    Wish("set, pause, run and remove schedules", frozenset(("operator",)), _shows(SCHEDULED)),
    Wish("replay, discard, edit and run jobs", frozenset(("operator",)), _shows(RAN)),
    Wish("cancel batches and flows", frozenset(("operator",)), _shows(CANCELLED)),
    Wish("see ids of jobs, names of groups, and the types of errors", LOOKING, _shows(JOB)),
    Wish("see payloads, results or the texts of errors", frozenset(), _shows(PAYLOAD, ERROR)),
    Wish(
        "have the methods listed (`COORDINATOR_GRPC_REFLECTION`)", frozenset(), _shows("QueuePool")
    ),
)


def by_token(address: str, token: str | None, calls: Mapping[str, Call]) -> dict[str, str]:
    """Return each call's reply as text, or the name of the status code of its refusal."""
    replies = {}
    with connect(address, token, deadline_s=30) as client:
        for name, call in calls.items():
            try:
                replies[name] = str(call(client))
            except grpc.RpcError as error:
                replies[name] = error.code().name
    return replies


def over_http(address: str) -> dict[str, str]:
    """Return what the metrics' port answers to whoever reaches it."""
    replies = {}
    host, _, port = address.removeprefix("http://").partition("/")[0].rpartition(":")
    for method, path in (
        *(("GET", path) for path in ("/metrics", "/healthz", "/", "/../etc/passwd", "/debug")),
        *((method, "/metrics") for method in ("POST", "PUT", "DELETE", "PATCH")),
    ):
        connection = http.client.HTTPConnection(host, int(port), timeout=30)
        connection.request(method, path)
        answer = connection.getresponse()
        replies[f"{method} {path}"] = f"{answer.status}\n{answer.read().decode()}"
        connection.close()
    return replies


def health_and_methods(address: str, token: str | None) -> dict[str, str]:
    """Return what the API says of its health, and which services it names."""
    metadata = [("authorization", f"Bearer {token}")] if token else []
    with grpc.insecure_channel(address) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        names: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
        ask = reflection_pb2.ServerReflectionRequest(list_services="")
        try:
            listed = str(
                list(names.ServerReflectionInfo(iter([ask]), metadata=metadata, timeout=30))
            )
        except grpc.RpcError as error:
            listed = error.code().name
        return {
            "health": str(health.Check(health_pb2.HealthCheckRequest(), timeout=30)),
            "reflection": listed,
        }
