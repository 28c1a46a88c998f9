"""What a leader remembers of a partition between cycles. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.policy import PolicyState
from coordinator.policy.demand import Demand


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCommand:
    """The last command to a partition that its consumer has not applied yet."""

    target: int
    at_s: float
    command_id: str
    owner_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMemory:
    """What a leader remembers of one partition between cycles.

    policy is None until the partition was observed. reason: why the target last changed. noted: the
    kind of the last decision that was recorded, so that a lasting one is recorded once; held: kinds
    of holds that were recorded lately, and when, so that those that alternate fill no record.
    demand: what was measured of its jobs, kept while an overlay needs it and the policy does not
    measure it. last: the server's ms and the ended executions of the last observation.
    """

    policy: PolicyState | None = None
    target: int = 0
    reason: str = ""
    seen_s: float = 0.0
    manual: bool = False
    sequence: int = 0
    pending: PendingCommand | None = None
    noted: tuple[object, ...] = ()
    held: tuple[tuple[tuple[object, ...], float], ...] = ()
    demand: Demand | None = None
    last: tuple[int, int] = (0, 0)
