"""Numbers that fit the fields of messages.

Absurd ones, as of a damaged record, must not break the reply about all others. Pure.
"""

from __future__ import annotations

_INT32_MAX, _UINT32_MAX, _INT64_MAX = 2**31 - 1, 2**32 - 1, 2**63 - 1


def int32(value: int) -> int:
    """Return the nearest number that an int32 holds."""
    return min(max(value, -_INT32_MAX), _INT32_MAX)


def int64(value: int) -> int:
    """Return the nearest number that an int64 holds."""
    return min(max(value, -_INT64_MAX), _INT64_MAX)


def uint32(value: int) -> int:
    """Return the nearest number that a uint32 holds."""
    return min(max(value, 0), _UINT32_MAX)
