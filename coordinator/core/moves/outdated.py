"""Which consumers are too old for slots of their partition to be copied. Pure.

Scripts of earlier releases do not know that jobs stay as they are while they are copied (`closed`
in docs/protocol.md): they may end one in the partition that it leaves, and it comes again, or
counts twice. So nothing is copied from or to their partition until they are replaced.
"""

from __future__ import annotations

from collections.abc import Iterable

from queuepool.errors.escaping import shown
from queuepool.models import PartitionState

CLOSED = 1  # the protocol from which owners know of it
# A lease that has ended is kept as long as nobody takes the partition: after an outage of its
# server, an owner is back within its lease.
SILENT_MS = 60_000
_NAMED = 3


def is_outdated(state: PartitionState) -> bool:
    """Return whether the owner of a partition, or a former one that drains, is too old."""
    if state.protocol is None or state.protocol >= CLOSED:
        return False
    owner = state.owner
    return bool(state.draining) or (owner is not None and owner.lease_ms > -SILENT_MS)


def told(outdated: Iterable[tuple[str, PartitionState]]) -> str:
    """Return what is waited for. outdated: names of places, with their states."""
    found = [_named(name, state) for name, state in sorted(outdated, key=lambda each: each[0])]
    rest = f" and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
    return (
        "consumers of an earlier release to be replaced, as they may end jobs that are being "
        f"copied: partition {', '.join(found[:_NAMED])}{rest}"
    )


def _named(name: str, state: PartitionState) -> str:
    owner = state.owner
    if owner is None:
        return f"{name} (a former owner, which drains)"
    return f"{name} ({shown(owner.host)[:60]})"
