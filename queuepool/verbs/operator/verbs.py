"""Verbs of operators and of the observing coordinator. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from queuepool.errors import UndecodableError
from queuepool.errors.escaping import id_bytes, id_text, stored_text
from queuepool.models import (
    AuditReport,
    DeadJob,
    ErrorRecord,
    JobId,
    Owner,
    PartitionState,
    Replayed,
)
from queuepool.models.cluster import JOB_EVENTS
from queuepool.models.log import LogKind
from queuepool.protocol import codec
from queuepool.verbs import Argument, Verb, fields, number
from queuepool.verbs.owner.limit_uses import read_limit_uses, read_work

_COUNTERS = frozenset((*JOB_EVENTS, "admitted", "dead_bytes"))  # the latter falls as well
_READY = ("r0", "r1", "r2", "r3")  # by tier
_MOST_ABOUT = 200  # bytes


def observe(partition: int) -> Verb[PartitionState]:
    """Return everything that is known about a partition, in constant time."""

    def read(r: Any) -> PartitionState:
        now_ms, counters, owner, jobs, delayed, in_flight, dead = r[:7]
        lanes, oldest_ms, books, draining, checkpoint, last = r[7:13]
        aside, tasks, untold, waiting = r[13:17]
        c, ck, held_tasks = fields(counters), fields(checkpoint), _read_held(r[17])
        ready, held_ms = _ready(c), number(c.get("hold")) or None
        held = max(0, number(c.get("held"))) + (sum(ready) if held_ms else 0) + waiting
        return PartitionState(
            partition=partition,
            observed_ms=now_ms,
            ready=(0, 0, 0, 0) if held_ms else ready,
            lanes=tuple(lanes),
            jobs=jobs,
            bytes=number(c.get("bytes")),
            delayed=delayed - waiting,
            in_flight=in_flight,
            dead=dead,
            oldest_ms=0 if held_ms else oldest_ms,
            books=books,
            draining=draining,
            counters={k: number(v) for k, v in c.items() if k in _COUNTERS},
            owner=_read_owner(owner, now_ms),
            checkpoint=_number_or_none(ck.get("target")),
            checkpoint_ms=_number_or_none(ck.get("at")),
            last_command=stored_text(last),
            aside=max(0, aside - waiting),
            aside_tasks=tuple(sorted({*map(stored_text, tasks)} - {*held_tasks})),
            held=held,
            held_tasks=held_tasks,
            parked=max(0, number(c.get("parked"))),
            capped=max(0, number(c.get("capped"))),
            held_ms=held_ms,
            untold=untold,
            protocol=_read_protocol(owner, draining),
        )

    return Verb("observe", (), read)


def drain(epoch: int) -> Verb[bool]:
    """Ask an owner to end; returns False if it is not the owner, or not any more."""
    return Verb("drain", [epoch], bool)


def _read_held(flat: Sequence[bytes]) -> dict[str, int]:
    """Return since when each held task is held, in ms."""
    return {stored_text(flat[i]): number(flat[i + 1]) for i in range(0, len(flat), 2)}


def _ready(c: dict[str, bytes]) -> tuple[int, int, int, int]:
    return tuple([max(0, number(c.get(name))) for name in _READY])  # type: ignore[return-value]  # four


def _read_owner(told: Sequence[bytes | None], now_ms: int) -> Owner | None:
    nonce, epoch, host, expires, heartbeat, workers, busy, target, applied, *about = told
    if not nonce:
        return None
    load, life, limits, drain, _ = about
    cpu, _, memory = _of_epoch(epoch, load).partition(b":")
    version, dead_keep = _read_about(_of_epoch(epoch, life)[:_MOST_ABOUT])
    used = _of_epoch(epoch, limits)
    return Owner(
        host=stored_text(host or b""),
        epoch=number(epoch),
        lease_ms=number(expires) - now_ms,
        heartbeat_ms=number(heartbeat),
        workers=number(workers),
        busy=number(busy),
        target=number(target),
        applied=stored_text(applied or b"0-0"),
        cpu=_percent(cpu),
        memory=_percent(memory),
        version=version,
        dead_keep=dead_keep,
        limits=read_limit_uses(used),
        work=read_work(used),
        to_end=drain is not None and drain == epoch,
    )


def _read_protocol(told: Sequence[bytes | None], draining: int) -> int | None:
    """Return the least protocol of the owner and of those that drain; 0: not known."""
    nonce, epoch, *_, text = told
    if not draining and not nonce:
        return None
    protocol, _, least = _of_epoch(epoch, text).partition(b":")
    return number(least if draining else protocol)


def _of_epoch(epoch: bytes | None, told: bytes | None) -> bytes:
    """Return what this owner told, not an earlier one."""
    if told is None:
        return b""
    whose, _, text = told.partition(b":")
    return text if whose == epoch else b""


@lru_cache(maxsize=1000)  # the same for as long as a consumer lives
def _read_about(text: bytes) -> tuple[str, tuple[int, int] | None]:
    """Return the release of an owner, and the bounds of the dead jobs that it keeps."""
    version, _, keep = text.partition(b":")
    return stored_text(version[:32]), _keep(keep)


def _keep(text: bytes) -> tuple[int, int] | None:
    jobs, _, size = text.partition(b":")
    bounds = number(jobs, -1), number(size, -1)
    return bounds if min(bounds) >= 0 else None


def _percent(raw: bytes) -> float | None:
    found = number(raw, -1)
    return float(found) if 0 <= found <= 100 else None


def _number_or_none(raw: bytes | None) -> int | None:
    found = number(raw, -1)
    return found if found >= 0 else None


def dead(partition: int, offset: int, count: int) -> Verb[list[DeadJob]]:
    r"""List dead jobs, the oldest first; count 1 to 200.

    Damaged ones are included: an invalid id has \xHH in it, which every verb accepts.
    """
    return Verb("dead", [offset, count], lambda r: [_read_dead(partition, entry) for entry in r])


def _read_dead(partition: int, entry: Any) -> DeadJob:
    job_id, died_ms, body, attempts, crashes, error = entry
    task, payload, key = "", None, None
    try:
        envelope = codec.decode_envelope(body)
        task, payload, key = envelope.task, envelope.payload, envelope.options.key
    except UndecodableError:
        pass
    return DeadJob(
        job_id=JobId(id_text(job_id)),
        partition=partition,
        died_ms=died_ms,
        task=task,
        group=codec.read_group(body),
        long_key=key,
        attempts=attempts,
        crashes=crashes,
        error=codec.decode_error(error) if error else ErrorRecord(reason="unknown"),
        payload=payload,
        body=body,
    )


def replay(ids: Sequence[str]) -> Verb[Replayed]:
    """Send at most 200 dead jobs back to their lanes, as new."""

    def read(r: Any) -> Replayed:
        return Replayed(r[0], tuple(JobId(id_text(job_id)) for job_id in r[1:]))

    return Verb("replay", list(map(id_bytes, ids)), read)


def discard(ids: Sequence[str]) -> Verb[int]:
    """Delete dead jobs permanently; at most 200. Returns how many were dead."""
    return Verb("discard", list(map(id_bytes, ids)), int)


def audit(cursor: bytes, *, repair: bool) -> Verb[tuple[bytes, AuditReport]]:
    """Check a bounded part of a partition. Returns (next cursor, report); b"0" ends the round."""

    def read(r: Any) -> tuple[bytes, AuditReport]:
        found = {r[1][i].decode(): r[1][i + 1] for i in range(0, len(r[1]), 2)}
        return bytes(r[0]), AuditReport(unbalanced=r[2], **found)

    return Verb("audit", [cursor, int(repair)], read)


def audit_system(partitions: int, *, repair: bool) -> Verb[list[str]]:
    """Find keys of the queue itself with a value of the wrong type. Sent to the system key.

    Returns their names without the base; a repair deletes them, except for the route.
    """
    args: list[Argument] = [int(repair), partitions, *LogKind]
    return Verb("audit_system", args, lambda r: [name.decode() for name in r])


def change_route(version: int, nonce: str, changes: Mapping[str, str]) -> Verb[tuple[bool, int]]:
    """Change fields of the route record if it still has this version. Sent to the system key.

    Returns whether it was changed, and its version. nonce: of this change, also if it is repeated.
    """
    args: list[Argument] = [version, nonce]
    for name, value in changes.items():
        args += (name, value)
    return Verb("change_route", args, lambda r: (r[0] == 1, number(r[1])))
