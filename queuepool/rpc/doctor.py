"""Verdicts as messages of the API, and back. Pure."""

from __future__ import annotations

from typing import Any

from queuepool.models.doctor import Finding, Severity, Unjudged, Verdict
from queuepool.rpc.v1 import doctor_pb2

_NUMBERS = {
    Severity.CRITICAL: doctor_pb2.SEVERITY_CRITICAL,
    Severity.WARNING: doctor_pb2.SEVERITY_WARNING,
    Severity.NOTICE: doctor_pb2.SEVERITY_NOTICE,
}
_SEVERITIES = {number: severity for severity, number in _NUMBERS.items()}
_INT64_MAX = 2**63 - 1


def message_of(verdict: Verdict) -> doctor_pb2.Verdict:
    """Return a verdict as a message."""
    return doctor_pb2.Verdict(
        at_ms=_int64(verdict.at_ms),
        findings=[_finding(one) for one in verdict.findings],
        unjudged=[doctor_pb2.Unjudged(kind=one.kind, why=one.why) for one in verdict.unjudged],
    )


def _finding(one: Finding) -> doctor_pb2.Finding:
    return doctor_pb2.Finding(
        kind=one.kind,
        severity=_NUMBERS[one.severity],
        subject=one.subject,
        since_ms=None if one.since_ms is None else _int64(one.since_ms),
        what=one.what,
        meaning=one.meaning,
        remedy=one.remedy,
    )


def verdict_of(message: Any) -> Verdict:
    """Return a verdict as a coordinator sent it; a later release may know other severities."""
    return Verdict(
        at_ms=message.at_ms,
        findings=tuple(
            Finding(
                kind=one.kind,
                severity=_SEVERITIES.get(one.severity, Severity.WARNING),
                subject=one.subject,
                since_ms=one.since_ms if one.HasField("since_ms") else None,
                what=one.what,
                meaning=one.meaning,
                remedy=one.remedy,
            )
            for one in message.findings
        ),
        unjudged=tuple(Unjudged(one.kind, one.why) for one in message.unjudged),
    )


def _int64(value: int) -> int:
    # An absurd time of a damaged record must not break the reply about all others.
    return min(max(value, -_INT64_MAX), _INT64_MAX)
