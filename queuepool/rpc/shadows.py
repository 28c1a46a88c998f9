"""The message about a shadow as plain data. Pure."""

from __future__ import annotations

from typing import Any

from queuepool.rpc.v1 import shadow_pb2

_SIDE = ("worker_s", "wait_mean_s", "wait_p50_s", "wait_p99_s", "changes")


def plain(message: shadow_pb2.Shadow) -> dict[str, Any]:
    """Return a comparison with its two sides, `live` and `candidate`."""
    names = ("policy", "policy_version", "since_ms", "until_ms", "seconds", "jobs", "missed")
    return {
        "candidate_text": message.candidate,
        **{name: getattr(message, name) for name in names},
        "problem": message.problem,
        "live": _side(message.live_side),
        "candidate": _side(message.candidate_side),
    }


def _side(message: shadow_pb2.ShadowSide) -> dict[str, Any]:
    return {name: getattr(message, name) for name in _SIDE}
