"""What every life of an id has in common: its group and its body."""

from __future__ import annotations

from queuepool.protocol import codec
from queuepool.routing.slots import group_of as _named

TENANT = b"t"
TASKS = ("t", "t", "t", 'say "hi"', "t2")
GROUPS = (b"a", b"bb", b"c:{x}*", b"\x00\xff", _named(b"d", TENANT), _named(b"e", TENANT))


def group_of(job_id: bytes) -> bytes:
    """Return the group of an id: every life of an id is in one group."""
    return GROUPS[sum(job_id) % len(GROUPS)]


def slot_of(group: bytes) -> int:
    """Return the slot of a group's key: two groups have it."""
    return 7 + GROUPS.index(group) // 2


def task_of(job_id: bytes) -> str:
    """Return the task of an id, in every life."""
    return TASKS[sum(job_id) % len(TASKS)]


def tail_of(job_id: bytes) -> bytes:
    """Return what a producer sends of a job's body; the same in every life of an id."""
    payload = b"[" + b"0," * (sum(job_id) % 7) + b"0]"
    begins = codec.beginning_of(task_of(job_id))
    return codec.encode_tail(slot_of(group_of(job_id)), group_of(job_id)) + begins + payload + b"]"


def size_of(job_id: bytes) -> int:
    """Return the size of a job's whole body: the script stamps 13 bytes in front."""
    return 13 + len(tail_of(job_id))
