"""Verbs of schedules: set, pause, remove and read them; fire, and note what was fired. Pure.

All but `fire` are sent to the system key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from queuepool.errors import InvalidInputError, QueuePoolError
from queuepool.errors.escaping import stored_text
from queuepool.models import Schedule, ScheduleStatus
from queuepool.models.schedules import MAX_SCHEDULES, Fired
from queuepool.protocol.models import plain_model
from queuepool.protocol.unreadable import UNREADABLE
from queuepool.verbs import Verb, number
from queuepool.verbs.producer.verbs import Full, Settled, read_enqueue

MAX_BYTES = 4096  # of a schedule as stored
_LONGEST_NAME = 100
REMEMBERED_MS = 32 * 86_400_000  # a firing; older times are never due
_encoder = msgspec.json.Encoder(enc_hook=plain_model, order="deterministic")
_STORED = re.compile(rb"(\d{1,15}):(\d{1,15}):(\d{1,15}):([^\n]*)\n(.*)", re.DOTALL)
_FIRED = re.compile(rb"(\d{1,15}(?::\d{1,15}){6})(?::.*)?", re.DOTALL)  # a newer version may add


class _Stored(msgspec.Struct, omit_defaults=True):
    name: str
    task: str
    payload: dict[str, Any]
    partition_key: str
    cron: str | None = None
    every: float | None = None
    timezone: str = "UTC"
    missed: Literal["skip", "one", "all"] = "skip"
    catch_up: int = 100
    grace_s: float = 60.0
    overlap: Literal["allow", "skip"] = "allow"
    tenant: str | None = None
    tier: str | None = None
    pool: str | None = None
    max_attempts: int | None = None
    timeout_s: float | None = None
    expires_s: float | None = None
    limit: tuple[str, ...] | None = None
    unique: bytes | None = None
    unique_until: str | None = None


_decoder = msgspec.json.Decoder(_Stored)


class NotFired(Struct, frozen=True):
    """Nothing was enqueued. why: FENCED (of), LATER (due ms), BUSY (the job that has not ended)."""

    why: str
    of: str


class Schedules(Struct, frozen=True):
    """All schedules, as of a version. unchanged: the caller knew that version."""

    now_ms: int
    version: int
    found: tuple[ScheduleStatus, ...]
    unchanged: bool = False


def set_schedule(schedule: Schedule, *, by: str = "") -> Verb[int]:
    """Define a schedule; returns 1, 0 if it was so before, -1 if there are too many."""
    text = encode(schedule)
    return Verb("set_schedule", [schedule.name, text, _line(by), MAX_SCHEDULES], int)


def pause_schedule(name: str, *, on: bool, by: str = "") -> Verb[int]:
    """Pause or resume a schedule; returns 1, 0 if it was so before, -1 if there is none."""
    return Verb("pause_schedule", [name, int(on), _line(by)], int)


def remove_schedule(name: str) -> Verb[bool]:
    """Forget a schedule; returns whether there was one."""
    return Verb("remove_schedule", [name], bool)


def schedules(known: int = 0, name: str = "") -> Verb[Schedules]:
    """Read all schedules, or one of that name; nothing of any if `known` is still the version."""

    def read(reply: Any) -> Schedules:
        now_ms, version, texts, done = reply
        if known and known == version and not name:
            return Schedules(now_ms, version, (), unchanged=True)
        states = dict(zip(done[::2], done[1::2], strict=True))
        found = [
            _status(raw, text, states.get(raw, b""))
            for raw, text in zip(texts[::2], texts[1::2], strict=True)
            if raw
        ]
        return Schedules(now_ms, version, tuple(sorted(found, key=lambda each: each.name)))

    return Verb("schedules", [known, name], read)


def fire(
    name: str,
    due_ms: int,
    epoch: int,
    enqueue: Verb[Settled | Full],
    *,
    overlap: bool,
    last_id: str = "",
) -> Verb[Settled | Full | NotFired]:
    """Enqueue the job of a schedule's time by this call, once. overlap: also beside its last job.

    Sent to the partition of the job. last_id: of its last job, if there was one: the partition
    knows only what it fired itself, and the slot of the schedule may have come there since.
    """

    def read(reply: Any) -> Settled | Full | NotFired:
        if isinstance(reply, list) and reply[0] in (b"FENCED", b"LATER", b"BUSY"):
            of = reply[1] if isinstance(reply[1], int) else stored_text(reply[1])
            return NotFired(reply[0].decode(), str(of))
        return read_enqueue(reply)

    own = (name, due_ms, epoch, int(not overlap), REMEMBERED_MS, last_id)
    return Verb("fire", [*own, *enqueue.args], read)


def note_fired(epoch: int, done: Mapping[str, Fired]) -> Verb[int]:
    """Store what was done; returns of how many schedules, -1 if another process leads by now."""
    args: list[str | int | bytes] = [epoch]
    for name, state in done.items():
        times = (state.through_ms, state.last_due_ms, state.last_at_ms)
        counts = (state.fired, state.missed, state.overlapped)
        args += (name, ":".join(map(str, (state.version, *times, *counts))))
    return Verb("note_fired", args, int)


def encode(schedule: Schedule) -> bytes:
    """Return a schedule as stored. Raises InvalidInputError if it would be too large."""
    values = {name: getattr(schedule, name) for name in _Stored.__struct_fields__}
    values["payload"] = dict(schedule.payload)
    if isinstance(schedule.limit, str):
        values["limit"] = (schedule.limit,)
    if isinstance(schedule.unique, str):
        values["unique"] = schedule.unique.encode(errors="surrogatepass")
    try:
        text = _encoder.encode(_Stored(**values))
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise InvalidInputError(f"schedule {schedule.name!r}: its payload: {error}") from None
    if len(text) > MAX_BYTES:
        raise InvalidInputError(
            f"schedule {schedule.name!r} takes {len(text):,} bytes; at most {MAX_BYTES:,} are "
            "possible: let its task look up the data instead"
        )
    return text


def _line(by: str) -> str:
    return " ".join(by.split())[:200]


def _status(raw: bytes, text: bytes, done: bytes) -> ScheduleStatus:
    name = stored_text(raw)[:_LONGEST_NAME]  # others may have written one of any length
    match = _STORED.fullmatch(text)
    if match is None:
        return ScheduleStatus(name=name, schedule=None, version=0, since_ms=0, problem="damaged")
    schedule, problem = None, ""
    try:
        stored = _decoder.decode(match[5])
        if stored.unique is None:  # earlier versions stored when no key is free again
            stored.unique_until = None
        schedule = Schedule(**msgspec.structs.asdict(stored))
        if schedule.name != name:
            schedule, problem = None, "it has the name of another schedule"
    except (*UNREADABLE, QueuePoolError) as error:
        problem = f"it cannot be read ({error})"[:300]
    noted = _FIRED.fullmatch(done)
    counts = map(number, noted[1].split(b":")) if noted else ()
    return ScheduleStatus(
        name=name,
        schedule=schedule,
        version=int(match[1]),
        since_ms=int(match[2]),
        paused_ms=int(match[3]),
        by=stored_text(match[4]),
        state=Fired(*counts),
        problem=problem,
    )
