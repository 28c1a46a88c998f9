"""What a coordinator sent, as the library's own records. Pure."""

from __future__ import annotations

from typing import Any

from queuepool.models import Eta, GroupStatus, TenantStatus, Tier


def eta_of_message(m: Any) -> Eta | None:
    """Return when the jobs of a message will have ended, None if it does not say."""
    if not m.HasField("eta"):
        return None
    names = ("low_s", "likely_s", "high_s", "confidence")
    return Eta(**{name: getattr(m.eta, name) for name in names})


def group_of_message(m: Any) -> GroupStatus:
    """Return the totals of a group as a coordinator sent them."""
    names = ("total", "ready", "delayed", "in_flight", "done", "dead", "cancelled", "evicted")
    found = {
        name: getattr(m, name)
        for name in (*names, "discarded", "expired", "serial", "weight", "parked")
    }
    for name in ("created_ms", "finished_ms", "max_running"):
        found[name] = getattr(m, name) if m.HasField(name) else None
    found["held_ms"] = m.held_since_ms if m.HasField("held_since_ms") else None
    found["tier"] = Tier[m.tier.upper()] if m.HasField("tier") else None
    return GroupStatus(**found)


def tenant_of_message(m: Any) -> TenantStatus:
    """Return what a tenant has as a coordinator sent it."""
    names = ("ready", "groups", "done", "died", "cancelled", "expired", "weight")
    return TenantStatus(
        **{name: getattr(m, name) for name in names},
        running=m.in_flight,
        held_ms=m.held_since_ms if m.HasField("held_since_ms") else None,
        max_running=m.max_running if m.HasField("max_running") else None,
    )
