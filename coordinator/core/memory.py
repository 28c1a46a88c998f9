"""What a leader remembers of a partition between cycles. Pure."""

from __future__ import annotations

from msgspec import Struct

from coordinator.policy import PolicyState
from coordinator.policy.demand import Demand
from queuepool.models import Owner


class PendingCommand(Struct, frozen=True, kw_only=True):
    """The last command to a partition that its consumer has not applied yet.

    before: the target that the consumer reported when it was sent.
    """

    target: int
    before: int
    at_s: float
    command_id: str
    owner_epoch: int


class OwnBound(Struct, frozen=True, kw_only=True):
    """A bound of a consumer itself: it was told to have more workers, or fewer, and has so many.

    until_s: when it is told so again, since it may have refused the command for another reason.
    """

    owner_epoch: int
    is_most: bool
    workers: int
    until_s: float

    def bounded(self, workers: int) -> int:
        """Return the workers that the consumer has when it is told to have so many."""
        return min(workers, self.workers) if self.is_most else max(workers, self.workers)


class PartitionMemory(Struct, frozen=True, kw_only=True):
    """What a leader remembers of one partition between cycles; thousands are made in each.

    policy is None until the partition was observed. reason: why the target last changed. noted: the
    kind of the last decision that was recorded, so that a lasting one is recorded once; held: kinds
    of holds that were recorded lately, and when, so that those that alternate fill no record.
    demand: what was measured of its jobs, kept while an overlay needs it and the policy does not
    measure it. last: the server's ms and the ended executions of the last observation. own: the
    bound of the consumer itself that its last command met.
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
    own: OwnBound | None = None


def own_bound(memory: PartitionMemory, owner: Owner, now_s: float) -> OwnBound | None:
    """Return what is known of this owner's own bounds."""
    own = memory.own
    return own if own and own.owner_epoch == owner.epoch and now_s < own.until_s else None
