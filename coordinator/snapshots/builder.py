"""Builds snapshots from observations: the last state stays visible while a server is down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from coordinator.core.model import (
    InForce,
    LeaseStatus,
    Observation,
    PartitionDecision,
    PartitionView,
    Snapshot,
)
from coordinator.core.planner import PartitionMemory
from queuepool.models.eta import Pace
from queuepool.models.places import DEFAULT_POOL
from queuepool.routing.topology import Topology

_UNKNOWN = Pace()


class SnapshotBuilder:
    """Keeps the last view of each partition. Used by the loop's thread alone."""

    def __init__(self, topology: Topology, pool: str = DEFAULT_POOL) -> None:
        self._topology, self._pool = topology, pool
        self._last: dict[int, PartitionView] = {}

    def snapshot(
        self,
        *,
        cycle: int,
        at_s: float,
        leading: bool,
        lease: LeaseStatus,
        observations: Sequence[Observation],
        memories: Mapping[int, PartitionMemory],
        decisions: Mapping[int, PartitionDecision] = MappingProxyType({}),
        unsent: Mapping[int, str] = MappingProxyType({}),
        finished_per_s: Mapping[int, float],
        paces: Mapping[int, Pace] = MappingProxyType({}),
        reached: Mapping[str, bool],
        in_force: InForce | None = None,
    ) -> Snapshot:
        """Return everything known after a cycle. memories, decisions, unsent: of the leader.

        finished_per_s, paces: by partition; reached: whether each server answered.
        """
        self._forget_retired(observations)
        leader = lease.leader
        manual = leader.manual if leader is not None else {}
        for seen in observations:
            number, until = seen.partition, manual.get(seen.partition)
            ended, pace = finished_per_s.get(number, 0.0), paces.get(number, _UNKNOWN)
            decided = memories.get(number), decisions.get(number), unsent.get(number, "")
            self._last[number] = self._view(seen, *decided, ended, until, pace)
        return Snapshot(
            cycle=cycle,
            at_s=at_s,
            leading=leading,
            leader_known=lease.answered,
            leader_epoch=leader.epoch if leader is not None else 0,
            leader_address=leader.address if leader is not None else "",
            leader_lease_ms=leader.lease_ms if leader is not None else 0,
            partitions=tuple(self._last[n] for n in sorted(self._last)),
            servers=dict(reached),
            in_force=in_force,
        )

    def _forget_retired(self, observations: Sequence[Observation]) -> None:
        for retired in self._last.keys() - {seen.partition for seen in observations}:
            del self._last[retired]

    def _view(
        self,
        seen: Observation,
        memory: PartitionMemory | None,
        decision: PartitionDecision | None,
        unsent: str,
        per_s: float,
        manual: tuple[int, int] | None,
        pace: Pace,
    ) -> PartitionView:
        last = self._last.get(seen.partition)
        fresh = seen.state is not None
        state = seen.state if fresh else last.state if last is not None else None
        return PartitionView(
            partition=seen.partition,
            server=self._server_of(seen.partition),
            state=state,
            seen_s=seen.at_s if fresh else last.seen_s if last is not None else None,
            problem=seen.problem,
            finished_per_s=per_s if fresh else 0.0,
            target=_target(seen, memory, last),
            decision=decision,
            unsent=unsent,
            manual_until_ms=None if manual is None else manual[1],
            pace=pace,
            pool=self._pool,
        )

    def _server_of(self, partition: int) -> str:
        placement = self._topology.view.placement
        return placement[partition] if partition < len(placement) else ""  # retired just now


def _target(seen: Observation, memory: PartitionMemory | None, last: PartitionView | None) -> int:
    if memory is not None and memory.policy is not None:
        return memory.target
    if seen.state is None:
        return last.target if last is not None else 0
    if seen.state.owner is not None and seen.state.owner.target > 0:
        return seen.state.owner.target
    return seen.state.checkpoint or 0
