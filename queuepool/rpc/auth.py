"""Who calls the operators' API, and what they may do. Pure.

    token of operators ------> operator       certificate named as an operator --> operator
    token of viewers --------> viewer         any other certificate -------------> viewer
    no or another token -----> no one         (none: TLS itself refuses)

With both, the lesser role counts. Without either, everyone who reaches the API is an operator.
No call shows payloads, so there is no role for reading them.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Any, Final

from queuepool.rpc.client import AUTHORIZATION, bearer

# Load balancers and kubelets probe health without secrets, and it reveals nothing else.
# KEDA's calls bring their token in the request (see coordinator.api.keda).
OPEN_SERVICES: Final = ("/grpc.health.v1.Health/", "/externalscaler.ExternalScaler/")
_SERVICE: Final = "/queuepool.rpc.v1.QueuePool/"
_FOR_VIEWERS: Final = frozenset((
    *(_SERVICE + name for name in (
        "GetCluster", "ListPartitions", "GetPartition", "GetGroup", "GetTenant", "ListTenants",
        "ListDecisions", "WatchPartitions", "ListLimits", "GetPolicy", "Explain",
        "Record", "Doctor", "Log", "ListGroups", "FindJobs", "GetHistory", "ListErrors",
        "ListBatches", "GetBatch", "ListSchedules", "ListMoves",
        "Advise", "CountJobs", "ListRunning", "GetDigest",
    )),
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
))  # fmt: skip
_FOR_OPERATORS: Final = frozenset(
    _SERVICE + name for name in (
        "SetWorkers", "ClearWorkers", "Hold", "Release", "ConfigureGroup",
        "ConfigureTenant",
        "SetLimit", "PauseLimit", "RemoveLimit", "SetPolicy", "CancelBatch", "SetSchedule",
        "PauseSchedule", "RunSchedule", "RemoveSchedule", "ReplayJobs", "DiscardJobs", "RunJob",
        "EditJob",
    )
)  # fmt: skip
UNKNOWN: Final = "unknown"


class ApiRole(StrEnum):
    """What a caller may do: read, or also set worker counts, hold and configure."""

    VIEWER = "viewer"
    OPERATOR = "operator"


def role_for(method: str) -> ApiRole | None:
    """Return the minimum role for a method, /SERVICE/NAME; None: it is open to all."""
    if method.startswith(OPEN_SERVICES):
        return None
    return ApiRole.VIEWER if method in _FOR_VIEWERS else ApiRole.OPERATOR


def name_of(method: str) -> str:
    """Return a method's name for logs and metrics: ours without the service, else UNKNOWN.

    A name comes from the caller, and may contain anything.
    """
    known = method in _FOR_VIEWERS or method in _FOR_OPERATORS
    return method.rpartition("/")[2] if known else UNKNOWN


class Access:
    """Tokens and names of operators. Several tokens are accepted while callers change to a new one.

    operators: names in operators' certificates; None: certificates do not define roles.
    Raises ConfigurationError for a token that no header can carry.
    """

    def __init__(
        self,
        operator_tokens: Iterable[str] = (),
        viewer_tokens: Iterable[str] = (),
        operators: Collection[str] | None = None,
    ) -> None:
        self._known = [(bearer(t)[1].encode(), ApiRole.OPERATOR) for t in operator_tokens]
        self._known += [(bearer(t)[1].encode(), ApiRole.VIEWER) for t in viewer_tokens]
        self._operators = None if operators is None else frozenset(operators)

    def by_token(self, metadata: Any) -> ApiRole | None:
        """Return the role of a call's metadata; None: it may not call.

        The comparison takes the same time wherever a wrong token differs. Without TLS the token
        can be intercepted; it then prevents mistakes, not attacks.
        """
        if not self._known:
            return ApiRole.OPERATOR
        given = [value for key, value in metadata or () if key == AUTHORIZATION]
        # More than one is refused, since a proxy may have checked any of them.
        if len(given) != 1:
            return None
        # All are compared: the time must not reveal which of them was nearly right.
        text = _as_bytes(given[0])
        matches = [role for known, role in self._known if hmac.compare_digest(text, known)]
        return matches[0] if matches else None

    def by_names(self, names: Iterable[str]) -> ApiRole:
        """Return the role of the names in a caller's certificate."""
        if self._operators is None or not self._operators.isdisjoint(names):
            return ApiRole.OPERATOR
        return ApiRole.VIEWER


def _as_bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()
