"""What the overlays look at besides the count that a policy wants. Pure."""

from __future__ import annotations

from msgspec import Struct

from coordinator.core.doubts import doubt
from coordinator.core.memory import OwnBound, PartitionMemory, own_bound
from coordinator.policy import Decision, PolicyState, Reading
from coordinator.policy.demand import Demand
from queuepool.models import Owner, PartitionState


class Situation(Struct, frozen=True, kw_only=True):
    """What overlays look at. before: the count so far; ready: waiting jobs by tier.

    demand: what was measured of the jobs, None if nothing was. free: whether the policy is free to
    grow: no gain check stands against it, and the workers of the last step have started. ceiling:
    above which more workers finished no more, 0 for none. doubt: why the observation is hardly
    true. own: the bound of the consumer itself, as far as it is known.
    """

    before: int
    ready: tuple[int, int, int, int] = (0, 0, 0, 0)
    owner: Owner | None = None
    demand: Demand | None = None
    free: bool = True
    ceiling: int = 0
    doubt: str = ""
    own: OwnBound | None = None


def situation_of(
    memory: PartitionMemory,
    state: PartitionState,
    owner: Owner,
    reading: Reading,
    chosen: Decision,
    demand: Demand | None,
) -> Situation:
    """Return the situation of an observed partition. demand: `demand_beside` its policy."""
    return Situation(
        before=memory.target,
        ready=state.ready,
        owner=owner,
        demand=demand if chosen.state.measured is None else chosen.state.measured,
        free="gain_check" not in chosen.clamps and reading.workers >= memory.target,
        ceiling=chosen.state.useless_above,
        doubt=doubt(state, owner, reading.finished_total, memory.last),
        own=own_bound(memory, owner, reading.at_s),
    )


def demand_beside(
    policy: PolicyState, last: Demand | None, reading: Reading, cycle_s: float
) -> Demand | None:
    """Return what is measured of the jobs for overlays, None if the policy measures it."""
    if policy.measured is not None:
        return None
    before = last or Demand()
    if before.problem(reading):
        return before.restart(reading)
    return before.observe(reading, cycle_s)
