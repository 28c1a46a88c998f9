"""Tenants: whom a group belongs to, which is in the group's name. Pure.

    FF FF acme FF 42     the group of key 42 of tenant acme

UTF-8 has no byte FF, so no text is such a name; a key of bytes that looks like one is replaced by
its digest (queuepool.routing.slots).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models.spread import is_marked, unmarked

MAX_TENANT_BYTES = 40
SEPARATOR = ":"  # between tenant and key, for routing
_OF_TENANT = re.compile(rb"\xff\xff([^\xff]+)\xff(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantStatus:
    """What a tenant has, and how it may run.

    ready: jobs that its groups let run; running: jobs in flight; groups: those that have a turn,
    counted once a tier. done, died, cancelled, expired: jobs that ended so, forgotten when none
    ended for a day. held_ms: since when it is held, None: it is not. max_running: how many of its
    jobs may run at once in a partition, None: any number. weight: its share of turns beside 1 of
    others.
    """

    ready: int
    groups: int
    running: int = 0
    done: int = 0
    died: int = 0
    cancelled: int = 0
    expired: int = 0
    held_ms: int | None = None
    max_running: int | None = None
    weight: int = 1


@dataclass(frozen=True, slots=True)
class TenantLoad:
    """A tenant with ready jobs. running: in flight; held_ms: since when it is held, if it is."""

    name: str
    ready: int
    running: int
    held_ms: int | None = None


def largest(found: Iterable[TenantLoad], most: int) -> list[TenantLoad]:
    """Return the tenants that have the most ready jobs in all partitions together."""
    sums: dict[str, TenantLoad] = {}
    for one in found:
        known = sums.get(one.name, TenantLoad(one.name, 0, 0))
        held = [ms for ms in (one.held_ms, known.held_ms) if ms]
        sums[one.name] = TenantLoad(
            one.name, known.ready + one.ready, known.running + one.running, min(held, default=None)
        )
    return sorted(sums.values(), key=lambda one: (-one.ready, one.name))[:most]


def tenant_of(group: bytes) -> bytes | None:
    """Return the tenant of a group, None of a plain one."""
    found = _OF_TENANT.match(group)
    return found and found[1]


def key_in(group: bytes) -> bytes:
    """Return what a group is called within its tenant; of a plain one its name.

    A part of a spread group is called as the group.
    """
    found = _OF_TENANT.match(group)
    return unmarked(found[2] if found else group)


def is_part(group: bytes) -> bool:
    """Return whether a group is a part of one that is spread over slots, but for the first."""
    found = _OF_TENANT.match(group)
    return is_marked(found[2] if found else group)


def tenant_text(group: bytes) -> str | None:
    """Return the tenant of a group as text, None of a plain one."""
    tenant = tenant_of(group)
    return None if tenant is None else tenant.decode("utf-8", "backslashreplace")


def prefix_of(tenant: bytes) -> bytes:
    """Return what the groups of a tenant begin with."""
    return b"\xff\xff%s\xff" % tenant


def tenant_bytes(tenant: object) -> bytes:
    """Return the name of a tenant as bytes. Raises InvalidInputError."""
    if isinstance(tenant, str) and tenant.isprintable() and tenant == tenant.strip():
        raw = tenant.encode()
        if 1 <= len(raw) <= MAX_TENANT_BYTES:
            return raw
    raise InvalidInputError(
        f"tenant={shown(tenant)}: use 1 to {MAX_TENANT_BYTES} bytes of visible text (UTF-8)"
    )


def split(key: bytes, separator: str) -> tuple[bytes, bytes] | None:
    """Return the tenant that a key names, and the rest of the key; None when it names none.

    That is a key without something on both sides of the separator. Raises InvalidInputError for a
    part that no tenant can be called.
    """
    tenant, found, rest = key.partition(separator.encode())
    if not (tenant and found and rest):
        return None
    try:
        return tenant_bytes(tenant.decode()), rest
    except (UnicodeDecodeError, InvalidInputError):
        raise InvalidInputError(
            f"partition_key={shown(key)}: the part before {separator!r} is the tenant "
            "(QUEUEPOOL_TENANT_SEPARATOR), which has 1 to "
            f"{MAX_TENANT_BYTES} bytes of visible text (UTF-8)"
        ) from None
