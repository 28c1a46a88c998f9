"""Verbs that look for jobs, a bounded part at a time. Pure."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from msgspec import Struct

from queuepool.errors import UndecodableError
from queuepool.errors.escaping import id_bytes, id_text
from queuepool.models import ErrorRecord, JobId, JobState, JobStatus, Tier
from queuepool.models.finding import ErrorCount, JobFilter, fingerprint, piece_of
from queuepool.models.history import PastRun
from queuepool.protocol import codec
from queuepool.protocol.history import begins, decode_runs
from queuepool.verbs import Argument, Verb

LOOK = 200  # jobs that one call looks at
BRIEF_BYTES = 256  # of a body, for its task
WHOLE_BYTES = 32 * 1024**2
ERRORS_LOOK = 300
_PART = re.compile(r'"(reason|type)":"((?:[^"\\]|\\.)*)"')
_MESSAGE = re.compile(r'"message":"(.*?)"?\}?$', re.DOTALL)
_STATE_KINDS = {JobState.DEAD: "dead", JobState.DELAYED: "delayed", JobState.IN_FLIGHT: "in-flight"}


class Page(Struct, frozen=True):
    """A part of what was looked at. cursor: b"" at the end. bodies: in the order of the jobs."""

    cursor: bytes
    looked: int
    matching: int
    now_ms: int
    jobs: list[JobStatus]
    bodies: list[bytes]


def kind_of(where: JobFilter) -> str:
    """Return where to look for jobs: in their own set, in lanes, or among all."""
    if where.state is JobState.READY and where.group is not None:
        return "waiting"
    return "any" if where.state is None else _STATE_KINDS.get(where.state, "any")


def find(
    partition: int,
    where: JobFilter,
    cursor: bytes = b"",
    *,
    most: int = 200,
    look: int = LOOK,
    whole: bool = False,
) -> Verb[Page]:
    """List matching jobs; begin with the cursor b"", go on until it is b"" again.

    most: jobs to return, 0 to only count. whole: with whole bodies and tracebacks; otherwise
    just what is needed to tell the task.
    """
    return _find(partition, where, kind_of(where), cursor, most, look, whole)


def find_one(partition: int, where: JobFilter, job_id: str, *, whole: bool = False) -> Verb[Page]:
    """Return the one job with this id, if it matches; looks at no other."""
    return _find(partition, where, "id", id_bytes(job_id), 1, 1, whole)


def _find(
    partition: int,
    where: JobFilter,
    kind: str,
    cursor: bytes,
    most: int,
    look: int,
    whole: bool,
) -> Verb[Page]:

    def read(r: Any) -> Page:
        rows = [(_job(partition, row), bytes(row[3])) for row in r[4:]]
        return Page(bytes(r[0]), r[1], r[2], r[3], [job for job, _ in rows], [b for _, b in rows])

    begins = b"" if where.task is None else codec.beginning_of(where.task)
    error = "" if where.error is None else piece_of(where.error)
    args: list[Argument] = [
        kind, str(where.state or ""), cursor, look if kind != "any" else min(look, 200), most,
        int(where.newest), where.since_ms or 0, where.until_ms or 0, begins, where.group or b"",
        error, WHOLE_BYTES if whole else BRIEF_BYTES,
    ]  # fmt: skip
    return Verb("find", args, read)


def _job(partition: int, row: Any) -> JobStatus:
    job_id, state, ms, body, attempts, crashes, error = row
    known: dict[str, Any] = {}
    try:
        tier, enqueued_ms, slot, group, end = codec.read_header(body)
        known = {"tier": Tier(tier), "group": group, "slot": slot, "enqueued_ms": enqueued_ms}
        known["task"] = task_in(body[end:])
    except UndecodableError:  # the place of a damaged job is known nevertheless
        pass
    return JobStatus(
        job_id=JobId(id_text(job_id)),
        state=JobState(state.decode()),
        partition=partition,
        at_ms=ms or None,
        attempts=attempts,
        crashes=crashes,
        error=error_in(error) if error else None,
        **known,
    )


def task_in(envelope: bytes) -> str:
    """Return the task of an envelope that may be cut off; "" if that cannot be read."""
    text = envelope.decode("utf-8", "replace")
    try:
        found = json.JSONDecoder().raw_decode(text, 1)[0] if text.startswith("[") else ""
    except ValueError:
        return ""
    return found if isinstance(found, str) else ""


def error_in(raw: bytes) -> ErrorRecord:
    """Return an error record from its stored form, which may be cut off after the message."""
    if raw.endswith(b"}"):
        return codec.decode_error(raw)
    closed = codec.decode_error(raw + b"}")
    if closed.reason != "unknown":
        return closed
    text = raw.decode("utf-8", "replace")
    parts, message = dict(_PART.findall(text)), _MESSAGE.search(text)
    return ErrorRecord(
        reason=parts.get("reason", "unknown"),
        type=parts.get("type", ""),
        message=message[1] if message else "",
    )


def errors(
    kind: str, rank: int, step: int, look: int = ERRORS_LOOK
) -> Verb[tuple[int, int, list[ErrorCount]]]:
    """Count errors of a part of the "dead" or "delayed" jobs.

    Returns (rank to go on with, -1 at the end; jobs of the kind; counts, as if each job that was
    looked at stood for `step`).
    """

    def read(r: Any) -> tuple[int, int, list[ErrorCount]]:
        return r[0], r[1], [_count(kind == "dead", step, row) for row in r[2:]]

    return Verb("errors", [kind, rank, step, look], read)


def _count(dead: bool, step: int, row: Any) -> ErrorCount:
    begins, raw, n, first_ms, last_ms, example = row
    task, error, mark = _cause(begins, raw)
    return ErrorCount(
        fingerprint=mark,
        task=task,
        reason=error.reason,
        type=error.type,
        message=error.message,
        dead=n * step if dead else 0,
        retrying=0 if dead else n * step,
        first_ms=first_ms if dead else None,
        last_ms=last_ms if dead else None,
        example=JobId(id_text(example)),
        is_exact=step == 1,
    )


@lru_cache(maxsize=1024)
def _cause(begins: bytes, raw: bytes) -> tuple[str, ErrorRecord, str]:
    """Return the task, the error and its fingerprint."""
    task = task_in(begins)
    error = error_in(raw) if raw else ErrorRecord(reason="unknown")
    return task, error, fingerprint(task, error)


def history(job_id: str | None, skip: int = 0, look: int = 20) -> Verb[tuple[int, list[PastRun]]]:
    """Return (entries to skip next, -1 at the end; executions that ended, the latest first)."""

    def read(r: Any) -> tuple[int, list[PastRun]]:
        runs = [run for ms, lines in r[1:] for run in list(decode_runs(lines, ms))[::-1]]
        return r[0], runs

    return Verb("history", [b"" if job_id is None else begins(job_id), skip, look], read)
