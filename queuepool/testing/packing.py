"""What travels of a task group that moves to another partition: its record, and its jobs."""

from __future__ import annotations

from queuepool.protocol import codec
from queuepool.testing.data import PartitionData
from queuepool.testing.groups import TIERS, Group


def lined_up(p: PartitionData, name: bytes, group: Group) -> list[bytes]:
    """Return the jobs of a group in the order in which they wait."""
    lanes = [i for tier in TIERS for i in p.lanes.get((tier, name), ())]
    parked = [i for (_, lane), ids in p.gates.lanes.items() if lane[1] == name for i in ids]
    waiting = parked + lanes if group.serial else lanes + parked
    late = [i for _, i in p.delayed.entries() if codec.read_group(p.jobs[i]) == name]
    return waiting + late


def packed(p: PartitionData, job_id: bytes, body: bytes) -> list[bytes]:
    """Return the words that describe a job; times as ms that are left, below 0 for what is due.

    Of a job in a lane of which nothing else is known: its id, its body, and an empty word.
    """
    due, died = p.delayed.score(job_id), p.dead.score(job_id)
    by = p.wishes.expire_ms.get(job_id)
    place, ms = (b"d", int(due) - p.now) if due is not None else (b"l", 0)
    if died is not None:
        place, ms = b"x", max(0, p.now - int(died))
    attempts, crashes = p.attempts.get(job_id), p.crashes.get(job_id)
    words = [
        b"" if attempts is None else b"%d" % attempts,
        b"" if crashes is None else b"%d" % crashes,
        p.errors.get(job_id, b""),
        p.wishes.keys.get(job_id, b""),
        b"" if by is None else b"%d" % max(1, by - p.now),
        p.gates.limits.get(job_id, (b"", b""))[1],
        p.asides.get(job_id, b""),
    ]
    if place == b"l" and not any(words):
        return [job_id, body, b""]
    return [job_id, body, place, b"%d" % ms, *words]


FIELDS = {b"hold": "hold", b"max": "most", b"moved": "moved", b"keep": "keep", b"done": "done",
           b"spread": "spread",
           b"cancelled": "cancelled", b"evicted": "evicted", b"discarded": "discarded",
           b"expired": "expired", b"created": "created", b"finished": "finished"}  # fmt: skip


def record(group: Group) -> list[bytes]:
    """Return the fields of a group and their values."""
    said = {name: getattr(group, field) for name, field in FIELDS.items()}
    known = {name: b"%d" % n for name, n in said.items() if n}
    if group.serial:
        known[b"serial"] = b"1"
    if group.weight > 1:
        known[b"weight"] = b"%d" % group.weight
    if group.tier is not None:
        known[b"tier"] = b"%d" % group.tier
    if group.next_id is not None:
        known[b"rt"] = group.next_id
    if group.cancelled_at >= 0:
        known[b"cancelled_at"] = b"%d" % group.cancelled_at
    if group.slot >= 0:
        known[b"slot"] = b"%d" % group.slot
    if group.arrived:
        known[b"arrived"] = b"%d" % group.arrived
    return [word for pair in known.items() for word in pair]


def set_field(group: Group, name: bytes, value: bytes) -> None:
    """Set a field of a group to what `record` returned."""
    if name == b"rt":
        group.next_id = value
    elif name == b"serial":
        group.serial = True
    else:
        setattr(group, FIELDS.get(name, name.decode()), int(value))
