"""How an owner handles the commands it receives. Pure.

A leader appends commands to the partition's stream; the owner receives those above the last one
that it applied, with every renewal. Targets are absolute, so only the newest counts, and a
lost, repeated or late command is harmless.

    SCALE_UP, SCALE_DOWN   set the worker count; the name is for people, the target decides
    NOOP                   a new leader's first command: older leaders are rejected from now on
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from queuepool.models.places import partition_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuepool.models import Command

SCALES = frozenset(("SCALE_UP", "SCALE_DOWN"))
MAX_WORKERS = 4096


class Refused(Struct, frozen=True):
    """A rejected command, and why."""

    command: Command
    why: str


class Resolution(Struct, frozen=True):
    """The result of a batch of commands. target: None if nothing changes."""

    target: int | None
    applied: str
    obeyed: Command | None
    refused: tuple[Refused, ...]


def resolve(
    commands: Sequence[Command],
    *,
    partition: int,
    now_ms: int,
    min_workers: int,
    max_workers: int,
    applied: str,
) -> Resolution:
    """Return the newest valid target, clamped, and the id up to which commands are handled."""
    target, obeyed, refused = None, None, []
    for command in commands:
        applied = command.id
        if command.type == "NOOP":
            continue
        why = _objection(command, partition, now_ms)
        if why is not None:
            refused.append(Refused(command, why))
            continue
        target, obeyed = min(max(command.target_workers, min_workers), max_workers), command
    return Resolution(target, applied, obeyed, tuple(refused))


def _objection(command: Command, partition: int, now_ms: int) -> str | None:
    if command.type not in SCALES:
        return "unknown type"
    if partition_at(command.partition) != partition_at(partition):  # it may own the new place of it
        return "addressed to another partition"
    if command.expires_ms <= now_ms:
        return "expired"
    if not 0 < command.target_workers <= MAX_WORKERS:
        return "target out of range"
    return None
