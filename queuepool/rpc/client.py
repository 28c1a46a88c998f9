"""A typed, blocking client of the operators' API.

    with connect("127.0.0.1:7070", token="...") as pool:
        print(pool.GetCluster(GetClusterRequest()).cluster.leader.id)

Unary calls get a deadline when the caller gives none; streams run until they are cancelled.
"""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import grpc

from queuepool.errors import ConfigurationError
from queuepool.errors.escaping import shown
from queuepool.rpc import acting
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.rpc.v1.queue_pool_pb2_grpc import QueuePoolStub

if TYPE_CHECKING:
    Unary = grpc.UnaryUnaryMultiCallable

AUTHORIZATION: Final = "authorization"
DEADLINE_S: Final = 5.0
_LAST_PORT: Final = 65_535
# Not of other kinds of addresses that gRPC knows, such as unix:PATH and dns:///NAME.
_HOST_AND_PORT: Final = re.compile(r"(?!(?:unix|unix-abstract|dns|ipv4|ipv6|vsock):)[^:/]+:[^:/]*")


def bearer(token: str) -> tuple[str, str]:
    """Return the metadata entry with a token. Raises ConfigurationError if it is unusable."""
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigurationError(
            "the gRPC token must be printable ASCII without spaces, since it is sent in a "
            "header; generate one with: python -c 'import secrets; "
            "print(secrets.token_urlsafe(32))'"
        )
    return AUTHORIZATION, f"Bearer {token}"


def connect(
    address: str,
    token: str | None = None,
    tls_ca: str | Path | None = None,
    *,
    tls_cert: str | Path | None = None,
    tls_key: str | Path | None = None,
    deadline_s: float = DEADLINE_S,
) -> QueuePoolClient:
    """Return a client of the coordinator at `address`, host:port. Close it, or use `with`.

    `tls_ca` is a PEM file with the authority that signed the server's certificate; without it
    the connection is unencrypted, and a token can be intercepted. `tls_cert` and `tls_key`
    are for a server that requires client certificates. Nothing is sent before the first call, which
    raises grpc.RpcError (UNAVAILABLE) if no server answers. Thread-safe. Raises ConfigurationError.
    """
    if (tls_cert is None) != (tls_key is None) or (tls_cert is not None and tls_ca is None):
        raise ConfigurationError(
            "a client certificate needs its key and the server's CA: set QUEUEPOOL_GRPC_CERT, "
            "QUEUEPOOL_GRPC_KEY and QUEUEPOOL_GRPC_CA, or no certificate"
        )
    if _HOST_AND_PORT.fullmatch(address) and not 0 < _port(address) <= _LAST_PORT:
        raise ConfigurationError(
            f"the coordinator's address {shown(address)} has no port from 1 to {_LAST_PORT}: "
            "use HOST:PORT"
        )
    if tls_ca is None:
        plain = grpc.insecure_channel(address)
    else:
        files = [None if path is None else _pem(path) for path in (tls_ca, tls_key, tls_cert)]
        plain = grpc.secure_channel(address, grpc.ssl_channel_credentials(*files))
    header = bearer(token) if token is not None else None
    return QueuePoolClient(grpc.intercept_channel(plain, _Defaults(header, deadline_s)), plain)


def _port(address: str) -> int:
    port = address.rpartition(":")[2]
    return int(port) if port.isascii() and port.isdigit() and len(port) <= 5 else 0


def _pem(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"cannot read the certificate, authority or key {path}: {error.strerror}. Set it to "
            "a PEM file, or unset it for an unencrypted connection."
        ) from error


class QueuePoolClient(QueuePoolStub, AbstractContextManager["QueuePoolClient"]):
    """The stub with its types, and the channel to close."""

    GetCluster: Unary[api.GetClusterRequest, api.GetClusterResponse]
    ListPartitions: Unary[api.ListPartitionsRequest, api.ListPartitionsResponse]
    GetPartition: Unary[api.GetPartitionRequest, api.GetPartitionResponse]
    GetGroup: Unary[api.GetGroupRequest, api.GetGroupResponse]
    GetTenant: Unary[api.GetTenantRequest, api.GetTenantResponse]
    ListTenants: Unary[api.ListTenantsRequest, api.ListTenantsResponse]
    Explain: Unary[api.ExplainRequest, api.ExplainResponse]
    ListDecisions: Unary[api.ListDecisionsRequest, api.ListDecisionsResponse]
    WatchPartitions: grpc.UnaryStreamMultiCallable[
        api.WatchPartitionsRequest, api.WatchPartitionsResponse
    ]
    Record: grpc.UnaryStreamMultiCallable[api.RecordRequest, api.RecordResponse]
    Log: Unary[api.LogRequest, api.LogResponse]
    SetWorkers: Unary[api.SetWorkersRequest, api.SetWorkersResponse]
    ClearWorkers: Unary[api.ClearWorkersRequest, api.ClearWorkersResponse]
    Hold: Unary[api.HoldRequest, api.HoldResponse]
    Release: Unary[api.ReleaseRequest, api.ReleaseResponse]
    ConfigureGroup: Unary[api.ConfigureGroupRequest, api.ConfigureGroupResponse]
    ConfigureTenant: Unary[api.ConfigureTenantRequest, api.ConfigureTenantResponse]
    ListLimits: Unary[api.ListLimitsRequest, api.ListLimitsResponse]
    SetLimit: Unary[api.SetLimitRequest, api.SetLimitResponse]
    PauseLimit: Unary[api.PauseLimitRequest, api.PauseLimitResponse]
    RemoveLimit: Unary[api.RemoveLimitRequest, api.RemoveLimitResponse]
    GetPolicy: Unary[api.GetPolicyRequest, api.GetPolicyResponse]
    SetPolicy: Unary[api.SetPolicyRequest, api.SetPolicyResponse]
    ListGroups: Unary[api.ListGroupsRequest, api.ListGroupsResponse]
    FindJobs: Unary[api.FindJobsRequest, api.FindJobsResponse]
    CountJobs: Unary[api.CountJobsRequest, api.CountJobsResponse]
    ListRunning: Unary[api.ListRunningRequest, api.ListRunningResponse]
    GetDigest: Unary[api.GetDigestRequest, api.GetDigestResponse]
    ReplayJobs: Unary[api.ReplayJobsRequest, api.ReplayJobsResponse]
    DiscardJobs: Unary[api.DiscardJobsRequest, api.DiscardJobsResponse]
    RunJob: Unary[api.RunJobRequest, api.RunJobResponse]
    EditJob: Unary[api.EditJobRequest, api.EditJobResponse]
    GetHistory: Unary[api.GetHistoryRequest, api.GetHistoryResponse]
    ListErrors: Unary[api.ListErrorsRequest, api.ListErrorsResponse]
    ListBatches: Unary[api.ListBatchesRequest, api.ListBatchesResponse]
    GetBatch: Unary[api.GetBatchRequest, api.GetBatchResponse]
    CancelBatch: Unary[api.CancelBatchRequest, api.CancelBatchResponse]
    Advise: Unary[api.AdviseRequest, api.AdviseResponse]
    ListMoves: Unary[api.ListMovesRequest, api.ListMovesResponse]
    ListSchedules: Unary[api.ListSchedulesRequest, api.ListSchedulesResponse]
    SetSchedule: Unary[api.SetScheduleRequest, api.SetScheduleResponse]
    PauseSchedule: Unary[api.PauseScheduleRequest, api.PauseScheduleResponse]
    RunSchedule: Unary[api.RunScheduleRequest, api.RunScheduleResponse]
    RemoveSchedule: Unary[api.RemoveScheduleRequest, api.RemoveScheduleResponse]

    def __init__(self, channel: grpc.Channel, owned: grpc.Channel) -> None:
        super().__init__(channel)  # type: ignore[no-untyped-call]  # generated without types
        self._owned = owned

    def close(self) -> None:
        """Close the connection; running calls end as CANCELLED. Idempotent."""
        self._owned.close()

    def __exit__(self, *_error: object) -> None:
        self.close()


_Details = namedtuple(
    "_Details", ("method", "timeout", "metadata", "credentials", "wait_for_ready", "compression")
)


class _CallDetails(_Details, grpc.ClientCallDetails):
    """The details of a call; grpc requires exactly these attributes."""


def _trailing(answer: Any) -> Any:
    """Return what a server said at the end of a call, which may have failed before."""
    said = getattr(answer, "trailing_metadata", None)
    return (said() if said is not None else None) or ()


class _Defaults(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
    """Add the token and who acts to every call, and the deadline to unary ones that have none."""

    def __init__(self, header: tuple[str, str] | None, deadline_s: float) -> None:
        self._header, self._deadline_s = header, deadline_s

    def intercept_unary_unary(
        self, continuation: Callable[..., Any], details: grpc.ClientCallDetails, request: Any
    ) -> Any:
        timeout = self._deadline_s if details.timeout is None else details.timeout
        answer = continuation(self._filled(details, timeout), request)
        act = acting.current()
        if act is not None and any(key == acting.LOGGED for key, _ in _trailing(answer)):
            act.logged = True
        return answer

    def intercept_unary_stream(
        self, continuation: Callable[..., Any], details: grpc.ClientCallDetails, request: Any
    ) -> Any:
        return continuation(self._filled(details, details.timeout), request)

    def _filled(self, details: grpc.ClientCallDetails, timeout: float | None) -> _CallDetails:
        act = acting.current()
        metadata = [*(details.metadata or ()), *([self._header] if self._header else [])]
        metadata += [] if act is None else [act.entry]
        return _CallDetails(
            details.method,
            timeout,
            metadata,
            details.credentials,
            details.wait_for_ready,
            details.compression,
        )
