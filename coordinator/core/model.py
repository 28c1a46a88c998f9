"""Data exchanged by the parts of a coordinator: frozen. Pure.

`at_s` is this process's monotonic clock; names that end in `_ms` are a server's clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

from coordinator.core.doubts import damage
from coordinator.core.overlays.rules import Rules
from coordinator.policy import Direction
from queuepool.models import Eta, Leader, PartitionState, ScalingRecord
from queuepool.models.eta import Pace, Part, foretell, part_of
from queuepool.models.places import DEFAULT_POOL, place_text


class Observation(Struct, frozen=True, kw_only=True):
    """One observation of one partition. state is None if it failed; problem says why."""

    partition: int
    at_s: float
    state: PartitionState | None = None
    problem: str = ""

    @property
    def unusable_reason(self) -> str:
        """Return why nothing can be concluded from this, or an empty string.

        A partition whose owner is gone, silent or new tells nothing about its workers: a decision
        based on that would shrink what no one has observed.
        """
        if self.state is None:
            return self.problem or "not observed"
        owner = self.state.owner
        if owner is None:
            return "no consumer owns it"
        if owner.lease_ms <= 0:
            return "its consumer's lease has expired"
        if owner.target < 1:
            return "its consumer has not reported yet"
        return damage(self.state, owner)


class Mode(StrEnum):
    """The origin of a target."""

    OBSERVE = "observe"  # first observation of a new leader, or after a long gap
    AUTOMATIC = "automatic"
    MANUAL = "manual"


class Inputs(Struct, frozen=True, kw_only=True):
    """The inputs of a decision."""

    backlog: int
    workers: int
    busy: int
    reported: int  # the target that the consumer works towards
    pwqd: float
    finished_total: int
    in_flight: int = 0


class ScaleCommand(Struct, frozen=True, kw_only=True):
    """A command to send: `sequence` orders it within the leader's epoch."""

    partition: int
    sequence: int
    type: str
    target: int
    reason: str


class Clamp(Struct, frozen=True, kw_only=True):
    """What moved a wanted count, from what to what, and why."""

    name: str
    before: int
    after: int
    why: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.before} -> {self.after}" + (f" ({self.why})" if self.why else "")


class Target(Struct, frozen=True, kw_only=True):
    """A wanted number of workers and why. inputs is None when the partition was not seen.

    clamps: the names of all that kept the policy from what it wanted. moved: those with their
    counts, in their order; the first one's `before` is the alternative that was rejected. figures:
    what the policy computed with, as its `figure_names` say.
    """

    partition: int
    mode: Mode
    previous: int
    target: int
    reason: str
    clamps: tuple[str, ...] = ()
    inputs: Inputs | None = None
    moved: tuple[Clamp, ...] = ()
    figures: tuple[float, ...] = ()


class PartitionDecision(Target, frozen=True, kw_only=True):
    """The decision for one partition in one cycle.

    doubt: why the observation is not, or hardly, believed; empty if it is.
    """

    doubt: str = ""
    command: ScaleCommand | None = None

    @property
    def direction(self) -> Direction:
        """Return whether the wanted number rose, fell or stayed."""
        return Direction.between(self.previous, self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """What this process decides by, or would. record: the last that was understood.

    budget: of the pool's partitions together, by its own rules or by the budget of all pools.
    problem: why a newer record is not obeyed, or the record cannot be read; empty if it is.
    """

    policy: str
    version: int
    rules: Rules
    budget: int | None = None
    record: ScalingRecord = field(default_factory=ScalingRecord)
    problem: str = ""


class PartitionView(Struct, frozen=True, kw_only=True):
    """One partition as last observed.

    state is the last one observed; problem says why the latest observation failed. target is what
    this process wants or, on a standby, the target that the consumer reports. pace: of late.
    decision: that of this leader in the last cycle; None on a standby. unsent: why the command of
    that decision is not known to have arrived; empty if it is, or if none was needed.
    """

    partition: int
    server: str
    state: PartitionState | None
    seen_s: float | None
    problem: str
    finished_per_s: float
    target: int
    manual_until_ms: int | None
    pace: Pace = Pace()
    pool: str = DEFAULT_POOL
    decision: PartitionDecision | None = None
    unsent: str = ""

    @property
    def clamps(self) -> tuple[str, ...]:
        """Return what keeps this leader's decision from what the policy wants."""
        return () if self.decision is None else self.decision.clamps

    @property
    def eta(self) -> Eta | None:
        """Return when the jobs that are there now have ended, None if that is unknown."""
        state = self.state
        if state is None or self.problem:
            return None
        left, owner = state.backlog + state.in_flight, state.owner
        if not left or (owner is not None and owner.lease_ms > 0):
            return foretell(left, self._workers, self.pace)
        return None  # nobody runs them

    @property
    def part(self) -> Part:
        """Return what this partition adds to when all have ended."""
        left = 0 if self.state is None else self.state.backlog + self.state.in_flight
        return part_of(self.eta, left, self._workers, self.pace.service_s or 0.0)

    @property
    def _workers(self) -> int:
        owner = None if self.state is None else self.state.owner
        return max(self.target, 0 if owner is None else owner.workers)

    @property
    def name(self) -> str:
        """Return its name for people: 3, or 3/video."""
        return place_text(self.partition, self.pool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything this process knows after a cycle. Immutable, so any thread may read it.

    leader_known: whether the last call for the lead was answered; if not, the rest is older.
    """

    cycle: int = 0
    at_s: float | None = None
    leading: bool = False
    leader_known: bool = False
    leader_epoch: int = 0
    leader_address: str = ""
    leader_lease_ms: int = 0
    partitions: tuple[PartitionView, ...] = ()
    servers: Mapping[str, bool] = field(default_factory=dict)  # name -> recently reached
    in_force: InForce | None = None


def finished_total(state: PartitionState) -> int:
    """Return how many executions have ended, whatever the outcome."""
    count = state.counters.get
    return count("done", 0) + count("retried", 0) + count("died", 0)


@dataclass(frozen=True, slots=True)
class LeaseStatus:
    """What is known about the lead. answered: by the latest call; otherwise it is older."""

    leading: bool
    answered: bool
    leader: Leader | None
    error: Exception | None = None
