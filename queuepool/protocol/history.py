"""The lines of the history, one an execution: a JSON list that begins with the job's id. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from queuepool.models import JobId
from queuepool.models.history import PastRun
from queuepool.models.runs import RunEnd
from queuepool.protocol.unreadable import UNREADABLE

_TEXT = 200  # characters of a message


class _Line(msgspec.Struct, array_like=True, frozen=True, gc=False):
    job_id: str
    task: str
    group: str
    attempt: int
    end: str
    ago_ms: int  # before the entry was kept
    waited_ms: int
    ran_ms: int
    reason: str = ""
    type: str = ""
    message: str = ""


_decoder = msgspec.json.Decoder(_Line)


def encode_run(run: PastRun, ago_ms: int) -> bytes:
    """Return the line of an execution. ago_ms: how long ago it ended when its entry is kept."""
    error = (run.reason, run.type[:80], run.message[:_TEXT]) if run.reason else ()
    return msgspec.json.encode((
        run.job_id, run.task, run.group, run.attempt, str(run.end), ago_ms,
        int(run.waited_s * 1000), int(run.ran_s * 1000), *error,
    ))  # fmt: skip


def begins(job_id: str) -> bytes:
    """Return how the lines of a job begin."""
    return b"[%s," % msgspec.json.encode(job_id)


def decode_runs(lines: bytes, kept_ms: int) -> Iterator[PastRun]:
    """Yield the executions of an entry; lines that cannot be read are left out."""
    for line in lines.split(b"\n"):
        try:
            known = _decoder.decode(line)
            end = RunEnd(known.end)
        except (*UNREADABLE, ValueError):
            continue
        yield PastRun(
            job_id=JobId(known.job_id), task=known.task, group=known.group, attempt=known.attempt,
            end=end, ended_ms=kept_ms - known.ago_ms, waited_s=known.waited_ms / 1000,
            ran_s=known.ran_ms / 1000, reason=known.reason, type=known.type, message=known.message,
        )  # fmt: skip
