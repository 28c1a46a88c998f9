"""Checkpoints: the worker count that each partition runs with, kept fresh. Pure.

A starting consumer resumes at the checkpoint, reduced by its age (see consumer.core.restore). A
command writes one; in quiet times the leader rewrites it, so that the age measures how long no one
has run the partition, not how long no one has changed it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from coordinator.core.model import Observation


def due(
    observations: Sequence[Observation],
    commanded: Collection[int],
    written: Collection[int],
    *,
    interval_s: float,
) -> list[tuple[int, int]]:
    """Return (partition, workers) of the checkpoints to write now.

    commanded: partitions that get a command in this cycle, which writes its own. written: those
    whose checkpoint bears this leader's epoch; any other is due at once, since only that
    keeps a leader that was replaced from writing it. A partition that runs under no one is left
    out: its checkpoint is meant to age.
    """
    found = []
    for seen in observations:
        state = seen.state
        if state is None or state.owner is None or seen.partition in commanded:
            continue
        noted_ms = state.checkpoint_ms if state.checkpoint is not None else None
        fresh = noted_ms is not None and 0 <= state.observed_ms - noted_ms < interval_s * 1000
        if (not fresh or seen.partition not in written) and not seen.unusable_reason:
            found.append((seen.partition, state.owner.target))
    return found
