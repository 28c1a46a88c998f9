"""Verbs of coordinators: leadership, commands, checkpoints, recorded decisions. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queuepool.errors.escaping import stored_text
from queuepool.models import Leader
from queuepool.verbs import Argument, Verb, number


def lead(nonce: str, *, lease_ms: int, address: str) -> Verb[Leader]:
    """Become or stay the leader; an empty nonce only reads. Sent to the system key."""

    def read(r: Any) -> Leader:
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

    return Verb("lead", [nonce, lease_ms, address], read)


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


def record(epoch: int, decisions: Sequence[bytes], *, keep: int) -> Verb[int]:
    """Store decisions (JSON); returns how many were written, 0 if another leads by now."""
    return Verb("record", [epoch, keep, *decisions], int)


def decisions(newest: str, count: int) -> Verb[list[tuple[str, bytes]]]:
    """Read decisions, latest first: [(id, JSON)]; newest is "+", or "(" + id for older ones."""
    return Verb("decisions", [newest, count], lambda r: [(i.decode(), bytes(d)) for i, d in r])
