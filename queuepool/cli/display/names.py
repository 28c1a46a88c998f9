r"""Job ids and partition keys as displayed and typed: \xHH for invisible bytes. Pure."""

from __future__ import annotations

from typing import overload

from queuepool.errors import escaping

_LONGEST_KEY = 200  # characters
_LONGEST = 300  # characters; valid ids are much shorter


def id_cell(job_id: str) -> str:
    """Return a job id for display; an absurdly long one is cut, but complete in --json."""
    if not job_id:
        return "''"
    return job_id if len(job_id) <= _LONGEST else f"{job_id[: _LONGEST - 1]}…"


def key_cell(key: str) -> str:
    """Return a partition key, as in `DeadJob.key`, for a table; a long one is cut."""
    return key if len(key) <= _LONGEST_KEY else f"{key[: _LONGEST_KEY - 1]}…"


@overload
def key_of(typed: str) -> str | bytes: ...
@overload
def key_of(typed: str | None) -> str | bytes | None: ...


def key_of(typed: str | None) -> str | bytes | None:
    r"""Return the partition key that an argument names: as typed, or the bytes that \xHH mean."""
    if typed is None:
        return None
    raw = escaping.key_bytes_of(typed)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw
