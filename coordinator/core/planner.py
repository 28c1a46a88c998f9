"""One cycle of decisions. Pure: from observations and memories to a plan.

    no fresh observation      hold: nothing is pending, no state moves
    first observation, a gap  adopt the count that the consumer reports, decide nothing yet
    set manually              that count, until it expires; then the policy from there
    otherwise                 what the policy says

A command is sent when the wanted count differs from the target that the consumer reports. It is
absolute, so sending it again is harmless: if the consumer has not received it within two cycles, or
has received it and still has another target after the command's lifetime (its own maximum may be
lower), it is sent again under a new number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from coordinator.core.model import (
    Inputs,
    Mode,
    Observation,
    PartitionDecision,
    ScaleCommand,
    finished_total,
)
from coordinator.policy import Direction, Limits, Policy, PolicyState, Reading
from queuepool.models import Owner

UP, DOWN = "SCALE_UP", "SCALE_DOWN"


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
    kind of the last recorded decision, so that a lasting one is recorded once.
    """

    policy: PolicyState | None = None
    target: int = 0
    reason: str = ""
    seen_s: float = 0.0
    manual: bool = False
    sequence: int = 0
    pending: PendingCommand | None = None
    noted: tuple[object, ...] = ()


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
    """Decides for every partition. Times in seconds."""

    policy: Policy[Any, Any]
    limits: Limits = field(default_factory=Limits)
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
    ) -> CyclePlan:
        """Return what to do now. memories: of the previous cycle, empty for a new leader.

        manual: partition -> workers set manually. epoch: of the leader, for command ids.
        """
        after, decisions, notable = dict(memories), [], []
        for seen in observations:
            before = memories.get(seen.partition, PartitionMemory())
            memory, decision = self._rule(before, seen, manual.get(seen.partition))
            if not seen.unusable_reason:
                memory, decision = self._command(epoch, memory, decision, seen, now_s)
            kind = (decision.mode, decision.clamps, decision.inputs is None)
            if decision.command or decision.direction is not Direction.HOLD or kind != before.noted:
                notable.append(decision)
            after[seen.partition] = replace(memory, noted=kind)
            decisions.append(decision)
        return CyclePlan(memories=after, decisions=tuple(decisions), notable=tuple(notable))

    def _rule(
        self, memory: PartitionMemory, seen: Observation, by_hand: int | None
    ) -> tuple[PartitionMemory, PartitionDecision]:
        if seen.unusable_reason or seen.state is None or seen.state.owner is None:
            mode = Mode.MANUAL if memory.manual else Mode.AUTOMATIC
            return memory, PartitionDecision(
                partition=seen.partition,
                mode=mode,
                previous=memory.target,
                target=memory.target,
                reason=f"{seen.unusable_reason}: held",
            )
        owner = seen.state.owner
        reading = Reading(
            at_s=seen.at_s,
            backlog=seen.state.backlog,
            workers=max(owner.workers, 0),
            busy=max(owner.busy, 0),
            finished_total=max(finished_total(seen.state), 0),
            in_flight=max(seen.state.in_flight, 0),
            limits=seen.limits,
        )
        inputs = Inputs(
            backlog=reading.backlog,
            workers=reading.workers,
            busy=reading.busy,
            reported=owner.target,
            pwqd=round(reading.pwqd, 3),
            finished_total=reading.finished_total,
        )
        memory = (
            replace(memory, seen_s=seen.at_s)
            if self._remembers(memory, seen)
            else PartitionMemory(seen_s=seen.at_s, sequence=memory.sequence, noted=memory.noted)
        )
        if by_hand is not None:
            return self._by_hand(memory, seen.partition, inputs, by_hand)
        return self._by_policy(memory, seen.partition, inputs, reading)

    def _remembers(self, memory: PartitionMemory, seen: Observation) -> bool:
        return memory.policy is not None and seen.at_s - memory.seen_s <= self.forget_s

    def _by_hand(
        self, memory: PartitionMemory, partition: int, inputs: Inputs, workers: int
    ) -> tuple[PartitionMemory, PartitionDecision]:
        # An operator may go below the base, never above what the machines were sized for.
        target = min(max(workers, 1), self.limits.max_workers)
        decision = PartitionDecision(
            partition=partition,
            mode=Mode.MANUAL,
            previous=memory.target if memory.policy is not None else inputs.reported,
            target=target,
            reason=f"set to {workers} manually",
            clamps=()
            if target == workers
            else ("max_workers" if workers > target else "min_workers",),
            inputs=inputs,
        )
        return replace(
            memory, policy=self.policy.initial(target), target=target, manual=True
        ), decision

    def _by_policy(
        self, memory: PartitionMemory, partition: int, inputs: Inputs, reading: Reading
    ) -> tuple[PartitionMemory, PartitionDecision]:
        begins = memory.policy is None
        state = self.policy.initial(inputs.reported) if memory.policy is None else memory.policy
        chosen = self.policy.decide(reading, state, self.limits)
        after = chosen.state
        if begins:
            # A new leader knows only one instant; the current count was right until now.
            mode, target = Mode.OBSERVE, inputs.reported
            reason, after = (
                f"first look: {target} workers stay as they are",
                replace(after, target=target),
            )
        else:
            mode, target, reason = Mode.AUTOMATIC, chosen.target, chosen.reason
            if memory.manual:
                reason = f"no longer set manually; {reason}"
            if self.limits.clamp(memory.target)[0] != memory.target:
                least, most = self.limits.min_workers, self.limits.max_workers
                reason = f"moved within the limits of {least} to {most}; {reason}"
        decision = PartitionDecision(
            partition=partition,
            mode=mode,
            previous=inputs.reported if begins else memory.target,
            target=target,
            reason=reason,
            clamps=chosen.clamps,
            inputs=inputs,
        )
        return replace(memory, policy=after, target=target, manual=False), decision

    def _command(
        self,
        epoch: int,
        memory: PartitionMemory,
        decision: PartitionDecision,
        seen: Observation,
        now_s: float,
    ) -> tuple[PartitionMemory, PartitionDecision]:
        owner = seen.state.owner if seen.state is not None else None
        if owner is None:
            return memory, decision
        if decision.target != decision.previous:
            memory = replace(memory, reason=decision.reason)
        if decision.target == owner.target:
            return replace(memory, pending=None), decision
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
        heard = command_number(owner.applied) >= command_number(pending.command_id)
        wait_s = self.command_ttl_s if heard else 2 * self.cycle_s
        # Half a cycle of slack: cycles never have exactly their nominal length.
        return now_s - pending.at_s < wait_s - self.cycle_s / 2


def command_number(command_id: str) -> tuple[int, int]:
    """Return a command's id as comparable numbers; (0, 0) if it is damaged."""
    epoch, _, sequence = command_id.partition("-")
    try:
        return int(epoch), int(sequence)
    except ValueError:
        return 0, 0
