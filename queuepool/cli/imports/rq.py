"""RQ, with its JSONSerializer. Checked with RQ 3.0.

    rq:queue:<queue>      LIST    ids, pushed right and popped left
    rq:scheduled:<queue>  ZSET    ids by the seconds at which they are due
    rq:job:<id>           HASH    data: zlib of the serialized [function, instance, args, kwargs]

RQ pickles unless it is told otherwise: queues that use its default serializer cannot be imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from queuepool.cli.imports.foreign import (
    Entry,
    Foreign,
    Reason,
    RefusedError,
    arguments_of,
    inflated,
    job_id_of,
    moment_of,
    read_json,
    text_of,
    whole_of,
)
from queuepool.cli.imports.source import Source, Walk
from queuepool.verbs import fields

KIND = "rq"
QUEUE = "default"
KNOWN = b"rq:queue:*"  # a key of each queue
_EVENTS = ("success", "failure", "stopped")
_ZLIB = 0x78  # the first byte of what zlib wrote


def places(queue: str) -> dict[bytes, str]:
    """Return where jobs of a queue wait, and the type of each place."""
    return {b"rq:queue:%s" % queue.encode(): "list", b"rq:scheduled:%s" % queue.encode(): "zset"}


def others(queue: str) -> dict[str, bytes]:
    """Return places of jobs that are not moved."""
    names = {"running": "wip", "waiting for others": "deferred", "failed": "failed"}
    return {said: f"rq:{name}:{queue}".encode() for said, name in names.items()}


def walks(source: Source, queue: str) -> Iterator[Walk]:
    """Yield the places in order."""
    for place, kind in places(queue).items():
        yield Walk(source, place, kind=kind)


def entries(source: Source, queue: str, walk: Walk, page: list[tuple[bytes, int]]) -> list[Entry]:
    """Return what the members of a page mean."""
    keys = [b"rq:job:%s" % member for member, _ in page]
    asked = [("HGETALL", key) for key in keys] + [("EXISTS", key + b":dependents") for key in keys]
    replies = source.do(asked)
    return [
        _entry(queue, walk, member, score, fields(replies[i]), replies[len(page) + i])
        for i, (member, score) in enumerate(page)
    ]


def _entry(
    queue: str, walk: Walk, member: bytes, score: int, stored: Mapping[str, bytes], dependents: int
) -> Entry:
    found: Foreign | RefusedError
    try:
        if dependents or stored.get("dependency_ids", b"[]") not in (b"", b"[]"):
            raise RefusedError(Reason.LINKED)
        if not stored:  # RQ skips the ids of jobs that are not there any more
            raise RefusedError(Reason.EXPIRED)
        found = read(stored, None if walk.is_list else score * 1000)
    except RefusedError as error:
        found = error
    contents = (stored.get("data", b""), stored.get("created_at", b""))
    job_id = job_id_of(KIND, queue, member, *contents)
    return Entry(member=member, job_id=job_id, found=found, keys=(b"rq:job:%s" % member,))


def read(stored: Mapping[str, bytes], due_ms: int | None) -> Foreign:
    """Return the job of a hash. Raises RefusedError."""
    if stored.get("repeats_left"):
        raise RefusedError(Reason.REPEATING)
    if any(stored.get(f"{event}_callback_name") for event in _EVENTS):
        raise RefusedError(Reason.CALLBACK)
    data = stored.get("data", b"")
    if data[:1] == bytes((_ZLIB,)):
        data = inflated(data)
    call = read_json(data)
    if not isinstance(call, list) or len(call) != 4:
        raise RefusedError(Reason.DAMAGED)
    name, instance, *rest = call
    args, kwargs = arguments_of(*rest)
    if instance is not None:  # a method of an object
        raise RefusedError(Reason.INVALID)
    retries, timeout_s = stored.get("retries_left"), whole_of(stored.get("timeout", b"0"))
    return Foreign(
        task=text_of(name),
        args=args,
        kwargs=kwargs,
        due_ms=due_ms,
        expires_ms=_expiry(stored),
        max_attempts=None if retries is None else whole_of(retries) + 1,
        timeout_s=float(timeout_s) or None,
    )


def _expiry(stored: Mapping[str, bytes]) -> int | None:
    ttl_s = whole_of(stored.get("ttl"))
    if not ttl_s:
        return None
    since = moment_of(stored.get("enqueued_at") or stored.get("created_at"))
    return None if since is None else since + ttl_s * 1000
