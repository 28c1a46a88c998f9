"""BullMQ. Checked with BullMQ 6.7.

bull:<queue>:wait, paused  LIST  ids, pushed left and popped right
bull:<queue>:prioritized   ZSET  ids by priority (1 first), then in order
bull:<queue>:delayed       ZSET  ids by 4096 times the ms at which they are due
bull:<queue>:<id>          HASH  name, data (JSON), opts (JSON), priority, atm (attempts made)
bull:<queue>:<id>:processed, :failed, :unsuccessful, :dependencies    of a job that has children
bull:<queue>:de:<name>     STRING  the id of the job that keeps out others with this `deid`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from queuepool.cli.imports.foreign import (
    Entry,
    Foreign,
    Reason,
    RefusedError,
    job_id_of,
    read_json,
    text_of,
    whole_of,
)
from queuepool.cli.imports.source import Source, Walk
from queuepool.verbs import fields

KIND = "bullmq"
QUEUE = "default"
KNOWN = b"bull:*:meta"  # a key of each queue
_SHIFT = 4096
_CHILDREN = (b":processed", b":failed", b":unsuccessful", b":dependencies")


def places(queue: str) -> dict[bytes, str]:
    """Return where jobs of a queue wait, and the type of each place."""
    kinds = {"wait": "list", "paused": "list", "prioritized": "zset", "delayed": "zset"}
    return {f"bull:{queue}:{name}".encode(): kind for name, kind in kinds.items()}


def others(queue: str) -> dict[str, bytes]:
    """Return places of jobs that are not moved."""
    names = {"running": "active", "waiting for children": "waiting-children", "failed": "failed"}
    return {said: f"bull:{queue}:{name}".encode() for said, name in names.items()}


def walks(source: Source, queue: str) -> Iterator[Walk]:
    """Yield the places in order."""
    for place, kind in places(queue).items():
        yield Walk(source, place, kind=kind, from_tail=True)


def entries(source: Source, queue: str, walk: Walk, page: list[tuple[bytes, int]]) -> list[Entry]:
    """Return what the members of a page mean."""
    keys = [_key(queue, member) for member, _ in page]
    hashes = source.do([("HGETALL", key) for key in keys])
    children = source.do([("EXISTS", *(key + part for part in _CHILDREN)) for key in keys])
    return [
        _entry(queue, walk, member, score, fields(hashes[i]), children[i])
        for i, (member, score) in enumerate(page)
    ]


def _key(queue: str, name: bytes) -> bytes:
    return f"bull:{queue}:".encode() + name


def _entry(
    queue: str, walk: Walk, member: bytes, score: int, stored: Mapping[str, bytes], children: int
) -> Entry:
    found: Foreign | RefusedError
    try:
        if member.startswith(b"repeat:"):
            raise RefusedError(Reason.REPEATING)
        if children:
            raise RefusedError(Reason.LINKED)
        found = read(stored, score // _SHIFT if walk.place.endswith(b":delayed") else None)
    except RefusedError as error:
        found = error
    key, name = _key(queue, member), stored.get("deid")
    return Entry(
        member=member,
        job_id=job_id_of(
            KIND, queue, member, stored.get("data", b""), stored.get("timestamp", b"")
        ),
        found=found,
        keys=(key, key + b":logs"),
        owned=(_key(queue, b"de:" + name), member) if name else (b"", b""),
    )


def read(stored: Mapping[str, bytes], due_ms: int | None) -> Foreign:
    """Return the job of a hash. Raises RefusedError."""
    if "data" not in stored or "name" not in stored:
        raise RefusedError(Reason.DAMAGED)
    options = read_json(stored.get("opts", b"{}"))
    data: Any = read_json(stored["data"])
    if not isinstance(options, dict):
        raise RefusedError(Reason.DAMAGED)
    if stored.get("parentKey") or options.get("parent"):
        raise RefusedError(Reason.LINKED)
    if stored.get("rjk") or options.get("repeat"):
        raise RefusedError(Reason.REPEATING)
    allowed = whole_of(options.get("attempts"))
    made = whole_of(stored.get("atm", stored.get("attemptsMade")))
    return Foreign(
        task=text_of(stored["name"]),
        args=[] if isinstance(data, dict) else [data],
        kwargs=data if isinstance(data, dict) else {},
        due_ms=due_ms,
        priority=whole_of(stored.get("priority", options.get("priority"))),
        max_attempts=max(1, allowed - made) if allowed else None,
    )
