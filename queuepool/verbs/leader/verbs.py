"""Verbs of coordinators: leadership, commands, checkpoints, scaling record, decisions. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import stored_text
from queuepool.models import Leader, ScalingRecord
from queuepool.protocol.unreadable import UNREADABLE
from queuepool.verbs import Argument, Verb, number

MAX_RECORD_BYTES = 65_536


class _StoredRecord(msgspec.Struct):
    values: dict[str, str]
    reason: str = ""


_record_decoder = msgspec.json.Decoder(_StoredRecord)


def lead(nonce: str, *, lease_ms: int, address: str) -> Verb[Leader]:
    """Become or stay the leader; an empty nonce only reads. Sent to the system key."""
    return Verb("lead", [nonce, lease_ms, address], _read_leader)


def who_leads() -> Verb[Leader]:
    """Return who leads, also from a server that refuses writes. Sent to the system key."""
    return Verb("who_leads", [], _read_leader)


def _read_leader(r: Any) -> Leader:
    leading, epoch, now_ms, left, leader_address, flat = r
    manual = {}
    for i in range(0, len(flat), 2):
        workers, _, until = flat[i + 1].partition(b":")
        count = (number(flat[i], -1), number(workers, -1), number(until, -1))
        if min(count) >= 0 and count[2] > now_ms:  # a damaged one is ignored
            manual[count[0]] = count[1:]
    return Leader(
        leading=bool(leading),
        epoch=number(epoch),
        now_ms=now_ms,
        lease_ms=left,
        address=stored_text(leader_address),
        manual=manual,
    )


def resign(nonce: str) -> Verb[bool]:
    """Give up leadership; returns whether this process led."""
    return Verb("resign", [nonce], bool)


def command(
    epoch: int,
    sequence: int,
    *,
    type: str,
    partition: int,
    target_workers: int,
    reason: str,
    expires_ms: int,
) -> Verb[tuple[bool, str]]:
    """Append a command for the owner; returns (accepted, its id or the newest one).

    expires_ms: a duration from now.
    """
    args: list[Argument] = [
        epoch,
        sequence,
        type,
        target_workers,
        reason[:256],
        expires_ms,
        partition,
    ]
    return Verb("command", args, lambda r: (bool(r[0]), r[1].decode()))


def checkpoint(epoch: int, target_workers: int) -> Verb[bool]:
    """Record a partition's worker count; returns False if a newer leader did before."""
    return Verb("checkpoint", [epoch, target_workers], bool)


def set_manual(partition: int, workers: int, *, ttl_ms: int) -> Verb[int]:
    """Set workers manually for a limited time; returns when it ends, in ms. For the system key."""
    return Verb("manual", [partition, workers, ttl_ms], int)


def clear_manual(partition: int) -> Verb[int]:
    """Return a partition to automatic scaling. Sent to the system key."""
    return Verb("manual", [partition, "", 0], int)


def read_policy(known: ScalingRecord | None = None) -> Verb[ScalingRecord]:
    """Read the scaling record, `known` if it is still that one. Sent to the system key."""

    def read(r: Any) -> ScalingRecord:
        version, nonce, raw, by, at_ms = r
        if raw == 0 and known is not None:
            return known
        values, reason, problem = _values(raw) if nonce or raw else ({}, "", "")
        return ScalingRecord(
            version=version,
            nonce=stored_text(nonce),
            values=values,
            by=stored_text(by),
            reason=reason,
            at_ms=at_ms,
            problem=problem,
        )

    args: list[Argument] = [0, ""] if known is None else [known.version, known.nonce]
    return Verb("read_policy", args, read)


def _values(raw: Any) -> tuple[dict[str, str], str, str]:
    """Return the values of a stored record, its reason, and why it cannot be read."""
    if isinstance(raw, int):
        return {}, "", f"it has {raw:,} bytes; at most {MAX_RECORD_BYTES:,} are read"
    try:
        stored = _record_decoder.decode(raw)
    except UNREADABLE as error:
        return {}, "", f"it cannot be read ({error})"
    return stored.values, stored.reason, ""


def set_policy(
    version: int, nonce: str, values: Mapping[str, str], *, by: str, reason: str
) -> Verb[tuple[bool, int]]:
    """Replace the scaling record that has this version; returns (done, the version there is).

    Raises InvalidInputError if it would be too large. Sent to the system key.
    """
    text = msgspec.json.encode(_StoredRecord(dict(values), reason))
    if len(text) > MAX_RECORD_BYTES:
        raise InvalidInputError(
            f"all values together take {len(text):,} bytes; at most {MAX_RECORD_BYTES:,} are "
            "possible: remove some (`queuepool policy set NAME=`)"
        )
    return Verb("set_policy", [version, nonce, text, by[:200]], lambda r: (bool(r[0]), r[1]))


def record(epoch: int, decisions: Sequence[tuple[int, bytes]], *, keep: int) -> Verb[int]:
    """Store decisions, as (partition, text); returns how many, 0 if another leads by now.

    keep: how many of a partition, about.
    """
    args: list[Argument] = [epoch, keep]
    for partition, text in decisions:
        args += (partition, text)
    return Verb("record", args, int)


def decisions(
    newest: str, count: int, partition: int | None = None
) -> Verb[list[tuple[str, bytes]]]:
    """Read decisions, latest first: [(id, text)]; newest is "+", or "(" + id for older ones.

    partition: None for those of all partitions together, as earlier releases kept them.
    """
    args: list[Argument] = [newest, count, "" if partition is None else partition]
    return Verb("decisions", args, lambda r: [(i.decode(), bytes(d)) for i, d in r])


def turn_away(
    version: int,
    *,
    moves: bool | None = None,
    told: int | None = None,
    since: int | None = None,
    closing: Iterable[int] = (),
) -> Verb[int]:
    """Make a partition's pool accept only calls that route by this version or a later one.

    Returns the least version that it accepts. moves: whether slots move from now on; None: as
    before. told: jobs may be added by earlier versions too, to slots that have not closed since;
    the version that the caller told last, 0 if none. since: from which version on no slot of the
    partition has closed, if another one was told last; None: from this one. closing: slots that
    close by this version, 0-4095. Sent to the base key of each pool.
    """
    args: list[int | str] = [version, "" if moves is None else int(moves)]
    if told is not None:
        args += [told, version if since is None else since]
        args += [f"{slot:03x}" for slot in closing]
    return Verb("turn_away", args, int)
