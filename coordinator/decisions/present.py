"""Why a partition has its workers now: what the leader decides, not what it stored. Pure.

A hold is stored once, however long it lasts, so the last stored one may be hours old.
"""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.core.model import PartitionView, Snapshot
from coordinator.decisions.ledger import Found
from coordinator.decisions.stored import DecisionRecord, record_of


def with_present(snapshot: Snapshot, partition: int, stored: Sequence[Found]) -> list[Found]:
    """Return what explains a partition now. stored: the last decision, and the last change.

    The decision of the last cycle comes first, without an id, unless that is the one stored last.
    """
    view = view_of(snapshot, partition)
    made = None if view is None else _decision(snapshot, view)
    if made is None or (stored and stored[0][1].at_ms >= made.at_ms):
        return list(stored)
    return [("", made), *(one for one in stored if one[1].previous != one[1].target)]


def view_of(snapshot: Snapshot, partition: int) -> PartitionView | None:
    """Return a partition as last observed, None if it never was."""
    return next((view for view in snapshot.partitions if view.partition == partition), None)


def _decision(snapshot: Snapshot, view: PartitionView) -> DecisionRecord | None:
    held, state = snapshot.in_force, view.state
    if not snapshot.leading or view.decision is None or held is None or state is None:
        return None
    return record_of(
        view.decision,
        at_ms=state.observed_ms,
        epoch=snapshot.leader_epoch,
        cycle=0,
        policy=held.policy,
        version=held.version,
        finished_per_s=view.finished_per_s,
        record_version=held.record.version,
        unsent=view.unsent,
    )
