"""Records that the partition in memory is made of, and what the coordinators share.

Each field represents the Redis key of queuepool.protocol.keys that its comment names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

Lane = tuple[int, bytes]  # tier, group


class Seat(NamedTuple):
    """A lane's place in a ring, or a tenant's, with the ms at which it was last served."""

    tier: int
    served_ms: int
    group: bytes
    tenant: bytes = b""

    @property
    def lane(self) -> Lane:
        """Return the lane that sits here."""
        return self.tier, self.group


@dataclass(slots=True)
class OwnerRecord:
    """The owner of the partition. An empty nonce: none, since the last one left."""

    nonce: bytes
    epoch: int
    expires: int
    heartbeat: int
    host: bytes
    since: int
    beat: int = 0
    seq: int = 0
    workers: int = 0
    busy: int = 0
    target: int = 0
    applied: bytes | None = None
    load: bytes | None = None
    about: bytes | None = None
    limits: bytes = b""
    drain: int | None = None
    line: bytes = b""
    protocol: tuple[int, int] = (0, 0)  # its own, and the least of those that may drain
    past: int | None = None  # the epoch to recover whose latest start is known


@dataclass(slots=True)
class StoredCommand:
    """One entry of the command stream."""

    id: bytes
    fields: list[bytes]

    @property
    def order(self) -> tuple[int, int]:
        """Return (leader epoch, sequence)."""
        return command_order(self.id)


def command_order(command_id: bytes) -> tuple[int, int]:
    """Return the (leader epoch, sequence) of a command id."""
    epoch, _, sequence = command_id.partition(b"-")
    return int(epoch), int(sequence or 0)


@dataclass(slots=True)
class StoredPolicy:
    """The scaling record."""

    version: int
    nonce: bytes
    text: bytes
    by: bytes
    at: int


@dataclass(slots=True)
class SystemData:
    """What coordinators share. now: the time of the running verb."""

    now: int = 0
    leader: dict[str, Any] = field(default_factory=dict)  # leader
    manual: dict[bytes, tuple[bytes, int]] = field(default_factory=dict)  # manual
    policy: StoredPolicy | None = None  # policy
    # decisions, under b"", and why:<partition>
    decisions: dict[bytes, list[tuple[tuple[int, int], bytes]]] = field(default_factory=dict)
    route: dict[bytes, bytes] = field(default_factory=dict)  # route
    # schedules: name -> (version, since, paused since, by, JSON)
    schedules: dict[bytes, tuple[int, int, int, bytes, bytes]] = field(default_factory=dict)
    schedules_version: int = 0  # schedules, under ""
    fired: dict[bytes, bytes] = field(default_factory=dict)  # fired
    # log:<kind>: kind -> ((ms, sequence), text), the oldest first
    log: dict[bytes, list[tuple[tuple[int, int], bytes]]] = field(default_factory=dict)
