"""The names of parts of groups that are spread over slots (queuepool.routing.spreading). Pure."""

from __future__ import annotations

MARK = b"\xff\xff\xff"  # then the number of the part


def unmarked(key: bytes) -> bytes:
    """Return the name of the group that a name within a tenant, or without, is a part of."""
    return key[len(MARK) + 1 :] if is_marked(key) else key


def is_marked(key: bytes) -> bool:
    """Return whether a name within a tenant, or without, is that of a part."""
    return key.startswith(MARK) and len(key) > len(MARK) + 1
