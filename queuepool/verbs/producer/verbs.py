"""Verbs of applications: enqueue jobs, ask for and cancel jobs and groups. Pure.

version: that of the route by which the caller chose the partition; see docs/protocol.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct

from queuepool.errors import (
    InvalidInputError,
    MovedError,
    PayloadTooLargeError,
    UndecodableError,
)
from queuepool.errors.escaping import id_bytes, shown, stored_text
from queuepool.models import GroupStatus, JobId, JobState, JobStatus, Tier
from queuepool.protocol import codec
from queuepool.verbs import Argument, Verb, number
from queuepool.verbs.routed import here

OWN_TIERS = -1  # of a group: each job has the turns of its own tier
MAX_HELD_TASKS = 100  # held, or released with jobs that are not due yet


class Full(Struct, frozen=True):
    """The whole call was refused: the partition has this many jobs and bytes, without dead ones."""

    depth: int
    size_bytes: int


class Conflicts(Struct, frozen=True):
    """Others hold unique keys: b"2" in status, or b"3" where a waiting one was replaced.

    by: those others, in order.
    """

    status: bytes
    by: tuple[bytes, ...]


Settled = bytes | Conflicts
ANY_VERSION = 10**15  # of a caller that means this partition, whatever the route says


def _refusal(what: str, size: int, most: int) -> InvalidInputError:
    """Return the error of a call that exceeds the protocol's limits: nothing was written."""
    if what == "body":
        return PayloadTooLargeError(size=size, limit=codec.MAX_PAYLOAD_BYTES)
    unit = "jobs" if what == "jobs" else "bytes"
    named = {
        "jobs": "a call of",
        "id": "a job id of",
        "group": "a task group of",
        "unique": "a unique key of",
    }.get(what)
    said = f"{named} {size:,} {unit}; at most {most}, and at least one," if named else "the call"
    return InvalidInputError(
        f"the server rejected {said} as invalid; nothing was enqueued. Enqueue through "
        "queuepool.QueuePool, which checks this before any I/O."
    )


def enqueue(
    runs: Sequence[Argument],
    wishes: Sequence[Argument] = (),
    /,
    *,
    jobs: int,
    size_bytes: int,
    max_depth: int,
    max_bytes: int,
    version: int = 1,
    behind: int = 0,
) -> Verb[Settled | Full]:
    """Accept jobs laid out as runs (see enqueue.lua); at most 200.

    wishes: n * (place of a job in the call, from 1; until when it holds its unique key, and what it
    does to a waiting one; the key; ms in which it is to start; its gate). An id that is there, or
    that ended in the last minutes, is a duplicate. Returns one byte a job, b"1" accepted or b"0"
    duplicate; Conflicts when others hold unique keys; or Full. Raises InvalidInputError beyond the
    protocol's bounds, MovedError when the version of the route is too low. behind: how many calls,
    not answered yet, have slots that this one has not; then it is too low for them as well.
    """
    routed = f"+{version}" if behind else version
    limits = (max_depth, max_bytes, jobs, size_bytes, len(wishes), routed)
    return Verb("enqueue", [*limits, *runs, *wishes], read_enqueue)


def read_enqueue(reply: Any) -> Settled | Full:
    """Return the reply of `enqueue` as a typed value."""
    if isinstance(reply, list):
        if reply[0] == b"CONFLICT":
            return Conflicts(bytes(reply[1]), tuple(reply[2:]))
        if reply[0] == b"MOVED":
            raise MovedError(number(reply[1]))
        if reply[0] == b"REFUSED":
            raise _refusal(reply[1].decode(), int(reply[2]), int(reply[3]))
        return Full(int(reply[1]), int(reply[2]))
    return bytes(reply)


def status(job_id: str, partition: int, version: int = 1) -> Verb[JobStatus]:
    """Return where one job is."""

    def read(reply: Any) -> JobStatus:
        state, body, at_ms, attempts, crashes, error, progress, result, asked = here(reply)
        known: dict[str, Any] = {}
        with suppress(UndecodableError):  # the location of a damaged job is known nevertheless
            tier, enqueued_ms, slot, group, _end = codec.read_header(body)
            known = {
                "tier": Tier(tier),
                "group": group,
                "slot": slot,
                "enqueued_ms": enqueued_ms,
                "task": _task_of(body),
            }
        return JobStatus(
            job_id=JobId(job_id),
            state=JobState(state.decode()),
            partition=partition,
            at_ms=at_ms or None,
            attempts=attempts,
            crashes=crashes,
            error=codec.decode_error(error) if error else None,
            progress=stored_text(progress) if progress else None,
            result=codec.decode_result(result),
            cancel_requested=bool(asked),
            **known,
        )

    return Verb("status", [id_bytes(job_id), version], read)


def _task_of(body: bytes) -> str:
    try:
        return codec.decode_envelope(body).task
    except UndecodableError:
        return ""


def cancel(job_id: str, version: int = 1) -> Verb[JobState]:
    """Cancel one job; returns the state that it was in."""
    args: list[Argument] = [id_bytes(job_id), version]
    return Verb("cancel", args, lambda reply: JobState(here(reply).decode()))


def cancel_group(group: bytes, cursor: bytes, version: int = 1) -> Verb[tuple[bytes, int, int]]:
    """Cancel a bounded part of a group.

    Returns (next cursor, waiting jobs cancelled, running jobs asked to stop). Begin with b"start",
    go on until the cursor is b"".
    """

    def read(reply: Any) -> tuple[bytes, int, int]:
        cursor, cancelled, asked = here(reply)
        return bytes(cursor), cancelled, asked

    return Verb("cancel_group", [group, cursor, version], read)


def group(name: bytes, version: int = 1) -> Verb[GroupStatus]:
    """Count the jobs of a group by state."""

    def read(reply: Any) -> GroupStatus:
        reply = here(reply)
        total, left, dead, cancelled, delayed, ready, created_ms, finished_ms, _cut = reply[:9]
        done, evicted, discarded, held_ms, expired, max_running, serial = reply[9:16]
        weight, parked, tier, spread = reply[16:]
        return GroupStatus(
            total=total,
            ready=ready,
            delayed=delayed,
            in_flight=max(0, left - delayed - parked - ready),
            parked=parked,
            done=done,
            dead=dead,
            cancelled=cancelled,
            evicted=evicted,
            discarded=discarded,
            held_ms=held_ms or None,
            expired=expired,
            max_running=max_running or None,
            serial=bool(serial),
            weight=weight or 1,
            tier=Tier(tier - 1) if tier else None,
            spread=spread or 1,
            created_ms=created_ms or None,
            finished_ms=finished_ms or None,
        )

    return Verb("group", [name, version], read)


def configure(
    group: bytes | None,
    *,
    hold: bool | None = None,
    max_running: int | None = None,
    serial: bool | None = None,
    weight: int | None = None,
    tier: int | None = None,
    spread: int = 0,
    keep_ms: int = 0,
    slot: int | None = None,
    version: int = 1,
) -> Verb[bool | None]:
    """Set how a group may run; hold it, or the whole partition (None), or release it.

    What is None stays as it is; max_running 0: any number; weight 1: as other groups; tier
    OWN_TIERS: each job has the turns of its own. Parked jobs follow by `tier_at_gates`. spread:
    over how many slots it is spread at least; 0: as it was. keep_ms: how long its record stays
    without work; 0: as it was. slot: of its key, for a move when it has no jobs. Returns whether
    that changed anything; None for a group that is unknown or was forgotten, unless keep_ms makes
    its record.
    """
    args: list[Argument] = [group or b"", version]
    if slot is not None:
        args += ["slot", slot]
    ordinary = {"hold": 0, "max": 0, "serial": 0, "weight": 1, "tier": OWN_TIERS}
    settings = (hold, max_running, serial, weight, tier)
    for (name, usual), value in zip(ordinary.items(), settings, strict=True):
        if value is not None:
            args += [name, b"" if value == usual else int(value)]
    if spread:
        args += ["spread", spread]
    if keep_ms:
        args += ["keep", keep_ms]
    return Verb("configure", args, lambda r: None if here(r) < 0 else r == 1)


def hold_task(task: str, *, on: bool, version: int = 1) -> Verb[bool]:
    """Start no more jobs of a task, or let them start again; returns whether that changed anything.

    Raises InvalidInputError if too many tasks are held.
    """

    def read(reply: Any) -> bool:
        changed = here(reply)
        if changed < 0:
            raise InvalidInputError(
                f"task {shown(task)} cannot be held: {MAX_HELD_TASKS} others are, or were released "
                "and have jobs that wait for a consumer. Release some, or hold everything"
            )
        return bool(changed == 1)

    begins = codec.beginning_of(task) if on else b""
    return Verb("hold_task", [task.encode(), begins, version], read)


def tier_at_gates(group: bytes, cursor: bytes = b"", version: int = 1) -> Verb[bytes]:
    """Give parked jobs of a group their turns in the tier that it has; returns the next cursor.

    It is empty at the end.
    """
    return Verb("configure", [group, version, "gates", cursor], here)
