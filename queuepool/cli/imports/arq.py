"""arq, with a job_serializer that writes JSON. Checked with arq 0.28.

    <queue>        ZSET    ids by the ms at which they are due; arq:queue by default
    arq:job:<id>   STRING  {t: tries, f: function, a: args, k: kwargs, et: enqueued ms}
    arq:in-progress:<id>   while it runs

arq pickles unless it is told otherwise: queues that use its default serializer cannot be imported.
"""

from __future__ import annotations

from collections.abc import Iterator

from queuepool.cli.imports.foreign import (
    Entry,
    Foreign,
    Reason,
    RefusedError,
    arguments_of,
    job_id_of,
    read_json,
    text_of,
)
from queuepool.cli.imports.source import Source, Walk

KIND = "arq"
QUEUE = "arq:queue"
KNOWN = b"*:health-check"  # a key of each queue that has workers


def places(queue: str) -> dict[bytes, str]:
    """Return where jobs of a queue wait, and the type of each place."""
    return {queue.encode(): "zset"}


def others(_queue: str) -> dict[str, bytes]:
    """Return places of jobs that are not moved: arq has none that are not in its queue."""
    return {}


def walks(source: Source, queue: str) -> Iterator[Walk]:
    """Yield the only place."""
    yield Walk(source, queue.encode(), kind="zset")


def entries(source: Source, queue: str, _walk: Walk, page: list[tuple[bytes, int]]) -> list[Entry]:
    """Return what the members of a page mean."""
    stored = source.do([("GET", b"arq:job:%s" % member) for member, _ in page])
    running = source.do([("EXISTS", _guard(member)) for member, _ in page])
    return [
        _entry(queue, member, due_ms, stored[i], runs=bool(running[i]))
        for i, (member, due_ms) in enumerate(page)
    ]


def _guard(member: bytes) -> bytes:
    return b"arq:in-progress:%s" % member


def _entry(queue: str, member: bytes, due_ms: int, stored: bytes | None, *, runs: bool) -> Entry:
    found: Foreign | RefusedError
    try:
        if runs:
            raise RefusedError(Reason.RUNNING)
        found = read(stored or b"", due_ms)
    except RefusedError as error:
        found = error
    # A worker that has marked a job as in progress, and not read it yet, must not find it.
    keys = (b"arq:job:%s" % member, b"arq:retry:%s" % member)
    job_id = job_id_of(KIND, queue, member, stored or b"")
    return Entry(member=member, job_id=job_id, found=found, guard=_guard(member), keys=keys)


def read(stored: bytes, due_ms: int) -> Foreign:
    """Return the job of a stored value. Raises RefusedError."""
    call = read_json(stored)
    if not isinstance(call, dict):
        raise RefusedError(Reason.DAMAGED)
    args, kwargs = arguments_of(call.get("a"), call.get("k"))
    return Foreign(task=text_of(call.get("f")), args=args, kwargs=kwargs, due_ms=due_ms)
