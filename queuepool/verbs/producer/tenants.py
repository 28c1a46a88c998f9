"""Verbs about tenants: how they may run, and what they have in a partition. Pure."""

from __future__ import annotations

from typing import Any

from queuepool.errors.escaping import stored_text
from queuepool.models import TenantLoad, TenantStatus
from queuepool.verbs import Argument, Verb
from queuepool.verbs.routed import here


def configure(
    tenant: bytes,
    *,
    hold: bool | None = None,
    max_running: int | None = None,
    weight: int | None = None,
    version: int = 1,
) -> Verb[bool]:
    """Set how a tenant may run; hold it, or release it. Returns whether that changed anything.

    What is None stays as it is; max_running 0: any number; weight 1: as others.
    """
    args: list[Argument] = [tenant, version]
    if hold is not None:
        args += ["hold", b"1" if hold else b""]
    if max_running is not None:
        args += ["max", max_running or b""]
    if weight is not None:
        args += ["weight", b"" if weight == 1 else weight]
    return Verb("configure_tenant", args, lambda r: here(r) == 1)


def find(name: bytes) -> Verb[TenantStatus]:
    """Return what a tenant has in a partition."""

    def read(reply: Any) -> TenantStatus:
        ready, groups, held_ms, weight, most, running, done, died, cancelled, expired = reply
        return TenantStatus(
            ready=ready,
            running=running,
            groups=groups,
            done=done,
            died=died,
            cancelled=cancelled,
            expired=expired,
            held_ms=held_ms or None,
            max_running=most or None,
            weight=weight or 1,
        )

    return Verb("tenant", [name], read)


def largest(most: int) -> Verb[tuple[TenantLoad, ...]]:
    """Return the tenants of a partition that have the most ready jobs, of those next in turn."""

    def read(reply: Any) -> tuple[TenantLoad, ...]:
        return tuple(
            TenantLoad(stored_text(name), ready, running, held_ms or None)
            for name, ready, running, held_ms in reply
        )

    return Verb("tenants", [most], read)
