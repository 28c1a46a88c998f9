"""One cycle of decisions. Pure: from observations and memories to a plan.

Observations may be considered one after another while others are still on their way; what they ask
for is settled together.

    no fresh observation      hold: nothing is pending, no state moves
    first observation, a gap  adopt the count that the consumer reports, decide nothing yet
    set manually              that count, until it expires; then the policy from there
    otherwise                 what the policy says, and the overlays make of it (see `ruling`)

A command is sent when the wanted count differs from the target that the consumer reports. It is
absolute, so sending it again is harmless: if the consumer has not received it within two cycles, it
is sent again under a new number. If it has received it and has another target, that is its own
maximum or minimum, which decisions name from then on; it is asked again after ten lifetimes of a
command, or after one while its target has never moved, as of commands that it refuses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from coordinator.core.doubts import kind_of
from coordinator.core.memory import OwnBound, PartitionMemory, PendingCommand, own_bound
from coordinator.core.model import Observation, PartitionDecision, ScaleCommand
from coordinator.core.overlays.budget import divide
from coordinator.core.overlays.rules import rules_at
from coordinator.core.overlays.sharing import Room
from coordinator.core.overlays.values import Overrides
from coordinator.core.ruling import Draft, Ruler
from coordinator.policy import Direction, Limits, Policy
from queuepool.models import Owner

__all__ = ["CyclePlan", "PartitionMemory", "Planner", "command_number"]

_HELD_KINDS, _HELD_S = 12, 60.0  # holds that are not recorded again, and for how long
_OWN_LIFETIMES = 10  # of a command, for which a consumer's own bound is believed
_UNKNOWN: Final = PartitionMemory()
UP, DOWN = "SCALE_UP", "SCALE_DOWN"


@dataclass(frozen=True, slots=True, kw_only=True)
class CyclePlan:
    """The result of a cycle. notable: the decisions worth recording."""

    memories: Mapping[int, PartitionMemory]
    decisions: tuple[PartitionDecision, ...]
    notable: tuple[PartitionDecision, ...]

    @property
    def commands(self) -> tuple[ScaleCommand, ...]:
        """Return the commands to send."""
        return tuple(
            decision.command for decision in self.decisions if decision.command is not None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """Decides for every partition. Times in seconds.

    overrides: what operators set at run time, in the scaling record of this version; values: the
    same as text. room: what this pool may have of a budget of all pools, None without one.
    """

    policy: Policy[Any, Any]
    limits: Limits = field(default_factory=Limits)
    overrides: Overrides = field(default_factory=Overrides)
    values: Mapping[str, str] = field(default_factory=dict)
    record_version: int = 0
    room: Room | None = None
    cycle_s: float = 1.0
    command_ttl_s: float = 30.0
    forget_s: float = 60.0  # unobserved for this long, memories are obsolete

    def plan(
        self,
        epoch: int,
        memories: Mapping[int, PartitionMemory],
        observations: Sequence[Observation],
        manual: Mapping[int, int],
        now_s: float,
        *,
        now_ms: int = 0,
    ) -> CyclePlan:
        """Return what to do now. memories: of the previous cycle, empty for a new leader.

        manual: partition -> workers set manually. epoch: of the leader, for command ids. now_ms: by
        a server's clock, for schedules.
        """
        planning = self.begin(memories, manual, now_ms=now_ms)
        planning.consider(observations)
        return planning.plan(epoch, now_s)

    def begin(
        self,
        memories: Mapping[int, PartitionMemory],
        manual: Mapping[int, int],
        *,
        now_ms: int = 0,
    ) -> Planning:
        """Begin a plan, whose observations are still to come."""
        rules = rules_at(now_ms, self.limits, self.overrides)
        ruler = Ruler(
            policy=self.policy,
            rules=rules,
            may_move=rules.may_move,
            cycle_s=self.cycle_s,
            forget_s=self.forget_s,
        )
        return Planning(self, ruler, memories, manual, now_ms)

    def budget(self, own: int | None) -> tuple[int | None, str]:
        """Return the workers for all partitions, and what they are in words. own: of the rules."""
        room = self.room
        if room is None or (own is not None and own <= room.workers):
            return own, "for all partitions"
        few = ", the fewest that it can have" if room.workers > room.total else ""
        return room.workers, f"for this pool{few}, of {room.total} for all pools"

    def command(
        self,
        epoch: int,
        memory: PartitionMemory,
        decision: PartitionDecision,
        seen: Observation,
        now_s: float,
    ) -> tuple[PartitionMemory, PartitionDecision]:
        """Return a decision with the command that it needs, and the memory of that."""
        owner = seen.state.owner if seen.state is not None else None
        if owner is None:
            return memory, decision
        if decision.target != decision.previous:
            memory = replace(memory, reason=decision.reason)
        if decision.target == owner.target:
            return replace(memory, pending=None) if memory.pending else memory, decision
        if bounded := self._bounded(memory, decision.target, owner, now_s):
            return bounded, decision
        if self._may_still_be_obeyed(memory.pending, decision.target, owner, now_s):
            return memory, decision
        why = memory.reason
        if decision.target == decision.previous:
            why = f"{owner.target} reported but {decision.target} are wanted; {why}".rstrip("; ")
        command = ScaleCommand(
            partition=seen.partition,
            sequence=memory.sequence + 1,
            type=UP if decision.target > owner.target else DOWN,
            target=decision.target,
            reason=why,
        )
        pending = PendingCommand(
            target=decision.target,
            before=owner.target,
            at_s=now_s,
            command_id=f"{epoch}-{command.sequence}",
            owner_epoch=owner.epoch,
        )
        memory = replace(memory, sequence=command.sequence, pending=pending)
        return memory, replace(decision, command=command)

    def _may_still_be_obeyed(
        self, pending: PendingCommand | None, target: int, owner: Owner, now_s: float
    ) -> bool:
        if pending is None or pending.target != target or pending.owner_epoch != owner.epoch:
            return False
        # Half a cycle of slack: cycles never have exactly their nominal length.
        return now_s - pending.at_s < 1.5 * self.cycle_s

    def _bounded(
        self, memory: PartitionMemory, target: int, owner: Owner, now_s: float
    ) -> PartitionMemory | None:
        """Return the memory if the consumer's own bound keeps it from a target; None if not."""
        if found := self._bound_met(memory, owner, now_s):
            return replace(memory, pending=None, own=found)
        own = own_bound(memory, owner, now_s)
        return memory if own and own.bounded(target) == owner.target else None

    def _bound_met(self, memory: PartitionMemory, owner: Owner, now_s: float) -> OwnBound | None:
        """Return the bound of the consumer that a command met; None: none, or not known yet."""
        pending, known = memory.pending, memory.own
        if pending is None or pending.owner_epoch != owner.epoch or pending.target == owner.target:
            return None
        if command_number(owner.applied) < command_number(pending.command_id):
            return None
        moved = owner.target != pending.before or (known and known.workers == owner.target)
        lifetimes = _OWN_LIFETIMES if moved else 1
        return OwnBound(
            owner_epoch=owner.epoch,
            is_most=owner.target < pending.target,
            workers=owner.target,
            until_s=now_s + lifetimes * self.command_ttl_s,
        )


class Planning:
    """A plan in the making: what it considers is settled together in the end."""

    def __init__(
        self,
        planner: Planner,
        ruler: Ruler,
        memories: Mapping[int, PartitionMemory],
        manual: Mapping[int, int],
        now_ms: int,
    ) -> None:
        self.planner, self.memories, self.manual, self.now_ms = planner, memories, manual, now_ms
        self._ruler = ruler
        self._drafts: list[tuple[Observation, Draft]] = []

    @property
    def observations(self) -> list[Observation]:
        """Return what was considered; after `plan`, in the order of partitions."""
        return [seen for seen, _ in self._drafts]

    def consider(self, observations: Sequence[Observation]) -> None:
        """Draft what these partitions ask for."""
        draft, memory_of, by_hand = self._ruler.draft, self.memories.get, self.manual.get
        for seen in observations:
            number = seen.partition
            self._drafts.append((seen, draft(memory_of(number, _UNKNOWN), seen, by_hand(number))))

    def plan(self, epoch: int, now_s: float) -> CyclePlan:
        """Return what to do about all that was considered, in the order of partitions."""
        self._drafts.sort(key=_partition_of)
        after, decisions, notable = dict(self.memories), [], []
        settled = self._settled([draft for _, draft in self._drafts])
        for (seen, _), ruled in zip(self._drafts, settled, strict=True):
            before = self.memories.get(seen.partition, _UNKNOWN)
            memory, decision = (
                self.planner.command(epoch, *ruled, seen, now_s)
                if ruled[1].inputs is not None
                else ruled
            )
            memory, is_notable = _noted(memory, decision, before, now_s)
            after[seen.partition] = memory
            if is_notable:
                notable.append(decision)
            decisions.append(decision)
        return CyclePlan(memories=after, decisions=tuple(decisions), notable=tuple(notable))

    def forget(self) -> None:
        """Drop what was considered: the next cycle does not wait until it is freed."""
        self._drafts = []

    def _settled(
        self, drafts: Sequence[Draft]
    ) -> Iterator[tuple[PartitionMemory, PartitionDecision]]:
        """Yield what becomes of each draft, in order, under the budget of all."""
        ruler = self._ruler
        granted, why = dict[int, int](), ""
        budget, name = self.planner.budget(ruler.rules.budget)
        if budget is not None:
            asks = {draft.partition: ruler.ask(draft) for draft in drafts}
            open_ = [ask for ask in asks.values() if ask is not None]
            fixed = sum(d.taken for d in drafts if asks[d.partition] is None)
            granted = dict(divide(budget, fixed, open_))
            wanted = fixed + sum(ask.asked for ask in open_)
            why = f"{wanted} are wanted of {budget} {name}"
            least = fixed + sum(granted.values())
            if least > budget:
                why = f"{why}; {least} are the fewest possible"
        for draft in drafts:
            yield ruler.settle(draft, granted.get(draft.partition, draft.decision.target), why)


def _partition_of(drafted: tuple[Observation, Draft]) -> int:
    return drafted[1].decision.partition


def _noted(
    memory: PartitionMemory, decision: PartitionDecision, before: PartitionMemory, now_s: float
) -> tuple[PartitionMemory, bool]:
    """Return the memory with the kind that was recorded last, and whether this one is recorded.

    A hold that is not recorded since its kind was recorded lately is still new afterwards.
    """
    kind = (decision.mode, decision.clamps, decision.doubt and kind_of(decision.doubt))
    if not decision.command and decision.direction is Direction.HOLD:
        if kind == before.noted or _was_held(memory, kind, now_s):
            return memory, False
        others = [one for one in memory.held if one[0] != kind]
        memory = replace(memory, held=((kind, now_s), *others[: _HELD_KINDS - 1]))
    return (memory if kind == memory.noted else replace(memory, noted=kind)), True


def _was_held(memory: PartitionMemory, kind: tuple[object, ...], now_s: float) -> bool:
    return any(known == kind and now_s - at_s < _HELD_S for known, at_s in memory.held)


def command_number(command_id: str) -> tuple[int, int]:
    """Return a command's id as comparable numbers; (0, 0) if it is damaged."""
    epoch, _, sequence = command_id.partition("-")
    try:
        return int(epoch), int(sequence)
    except ValueError:
        return 0, 0
