"""A job of another queue, read; or the reason why it cannot be. Pure.

What is refused stays where it is. Reasons are few and fixed, since they are counted.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Any

import msgspec

from queuepool.protocol.lossless import is_deeper

MOST_BYTES = 16 * 1024**2
_DEEPEST = 200
_PICKLE = 0x80  # the first byte of every pickle since protocol 2
_PLAIN = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"  # of ids
)


class Reason(StrEnum):
    """Why a job is refused."""

    PICKLED = "pickled: it could run any code, so it is not read"
    DAMAGED = "not readable: truncated, or written by something else"
    SERIALIZED = "not JSON: only messages of a JSON serializer can be imported"
    COMPRESSED = "compressed in another way than zlib"
    LARGE = "larger than 16 MiB"
    LINKED = "part of a chain, chord or flow, or has dependents: use docs/flows.md"
    REPEATING = "repeats: make it a schedule, see docs/schedules.md"
    CALLBACK = "has callbacks: call them in the task, or use docs/hooks.md"
    RUNNING = "is running: stop the workers first"
    EXPIRED = "expired"
    UNNAMED = "its task is not mapped: use --task NAME=TASK, or --same-names"
    POSITIONAL = "has arguments without names: use --task 'NAME=TASK(first,second)'"
    INVALID = "its arguments or options are beyond what a job can have"


class RefusedError(Exception):
    """A job that cannot be moved. detail: what else there is to say, such as its task."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """A job as the other queue has it. priority: 0 is what has none; the higher, the later."""

    task: str
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    due_ms: int | None = None
    expires_ms: int | None = None
    priority: int = 0
    max_attempts: int | None = None
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One place in a queue: the member of a list or a sorted set, and what it means.

    found: the job, or why it is refused. guard: a key that exists while a worker runs the job.
    keys: what belongs to the job alone, and goes with it. owned: a key that goes if it has this
    value.
    """

    member: bytes
    job_id: str
    found: Foreign | RefusedError
    guard: bytes = b""
    keys: tuple[bytes, ...] = ()
    owned: tuple[bytes, bytes] = (b"", b"")


def job_id_of(kind: str, queue: str, name: bytes, *contents: bytes) -> str:
    """Return the id that a job gets here: the same whenever it is read.

    Its own id alone would not do: BullMQ counts from 1 in every queue of every server.
    """
    whole = blake2b(digest_size=8)
    for part in (queue.encode("utf-8", "surrogatepass"), name, *contents):
        whole.update(b"%d:%s" % (len(part), part))
    own = "".join(c if c in _PLAIN else "_" for c in name[:36].decode("latin-1"))
    return f"{kind}:{own}:{whole.hexdigest()}"


def read_json(raw: bytes) -> Any:
    """Return the value of JSON. Raises RefusedError."""
    if len(raw) > MOST_BYTES:
        raise RefusedError(Reason.LARGE)
    if raw[:1] == bytes((_PICKLE,)):
        raise RefusedError(Reason.PICKLED)
    if is_deeper(raw, _DEEPEST):
        raise RefusedError(Reason.INVALID)
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise RefusedError(Reason.DAMAGED) from None


def inflated(raw: bytes) -> bytes:
    """Return what zlib compressed, if it is not too large. Raises RefusedError."""
    reader = zlib.decompressobj()
    try:
        whole = reader.decompress(raw, MOST_BYTES + 1)
    except zlib.error:
        raise RefusedError(Reason.DAMAGED) from None
    if len(whole) > MOST_BYTES:
        raise RefusedError(Reason.LARGE)
    if not reader.eof:
        raise RefusedError(Reason.DAMAGED)
    return whole


def arguments_of(args: Any, kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments if they are such. Raises RefusedError."""
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        raise RefusedError(Reason.DAMAGED)
    return args, kwargs


def text_of(value: Any) -> str:
    """Return a name if it is one. Raises RefusedError."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str) or not value:
        raise RefusedError(Reason.DAMAGED)
    return value


def moment_of(value: Any) -> int | None:
    """Return the ms of an ISO time, UTC unless it says otherwise. Raises RefusedError."""
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(text_of(value))
        if found.tzinfo is None:
            found = found.replace(tzinfo=UTC)
        return int(found.timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise RefusedError(Reason.DAMAGED) from None


def whole_of(value: Any, least: int = 0) -> int:
    """Return a whole number, also of its text; `least` for what is none, or is below it."""
    try:
        found = int(float(value))
    except (TypeError, ValueError, OverflowError):
        return least
    return min(max(found, least), 2**53)
