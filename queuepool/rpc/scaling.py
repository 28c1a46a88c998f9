"""The scaling record as a message of the API, and back. Pure."""

from __future__ import annotations

from typing import Any

from queuepool.models import ScalingRecord
from queuepool.rpc.v1 import policy_pb2


def message_of(record: ScalingRecord) -> policy_pb2.ScalingRecord:
    """Return a record as a message."""
    return policy_pb2.ScalingRecord(
        version=record.version,
        values=dict(record.values),
        by=record.by,
        reason=record.reason,
        at_ms=record.at_ms,
        problem=record.problem,
    )


def record_of(message: Any) -> ScalingRecord:
    """Return a record as a coordinator sent it."""
    return ScalingRecord(
        version=message.version,
        values=dict(message.values),
        by=message.by,
        reason=message.reason,
        at_ms=message.at_ms,
        problem=message.problem,
    )
