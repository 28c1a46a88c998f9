"""Limits as messages of the API, and back. Pure."""

from __future__ import annotations

from typing import Any

from queuepool.models import Limit, LimitStatus
from queuepool.rpc.v1 import limit_pb2

_INT64_MAX = 2**63 - 1
_COUNTS = ("burst", "concurrency", "least", "most")


def limit_of(request: Any) -> Limit:
    """Return what a SetLimitRequest defines. Raises InvalidInputError."""
    return _limit(request.limit, request.definition)


def definition_of(limit: Limit) -> limit_pb2.LimitDefinition:
    """Return what a limit allows as a message."""
    return limit_pb2.LimitDefinition(
        rate=None if limit.rate == "adaptive" else limit.rate,
        per_s=limit.per_s,
        adaptive=limit.adaptive,
        **{name: getattr(limit, name) for name in _COUNTS},
    )


def message_of(status: LimitStatus) -> limit_pb2.Limit:
    """Return a limit with its state as a message."""
    counts = ("granted", "granted_last_s", "wait_ms", "running", "waiting", "askers", "parked")
    return limit_pb2.Limit(
        name=status.name,
        set=None if status.set is None else definition_of(status.set),
        declared=None if status.declared is None else definition_of(status.declared),
        paused_since_ms=_int64(status.paused_ms) or None,
        pace=status.pace,
        refused_ms=_int64(status.refused_ms) or None,
        parked_known=status.parked_known,
        unused=status.unused,
        **{name: _int64(getattr(status, name)) for name in counts},
    )


def _int64(value: int) -> int:
    # An absurd number of a damaged record must not break the reply about all others.
    return min(max(value, -_INT64_MAX), _INT64_MAX)


def status_of(message: Any) -> LimitStatus:
    """Return a limit with its state as a coordinator sent it. Raises InvalidInputError."""
    return LimitStatus(
        name=message.name,
        set=_limit(message.name, message.set) if message.HasField("set") else None,
        declared=_limit(message.name, message.declared) if message.HasField("declared") else None,
        paused_ms=message.paused_since_ms,
        pace=message.pace if message.HasField("pace") else None,
        granted=message.granted,
        granted_last_s=message.granted_last_s,
        wait_ms=message.wait_ms,
        refused_ms=message.refused_ms,
        running=message.running,
        waiting=message.waiting,
        askers=message.askers,
        parked=message.parked,
        parked_known=message.parked_known,
        unused=message.unused,
    )


def _limit(name: str, message: Any) -> Limit:
    given = {field: getattr(message, field) for field in _COUNTS if message.HasField(field)}
    rate = message.rate if message.HasField("rate") else None
    per_s = message.per_s or 1.0
    return Limit(name, rate="adaptive" if message.adaptive else rate, per_s=per_s, **given)
