"""One cycle of decisions. Pure: observations and what was remembered in, a plan out.

    no fresh observation      hold: nothing is sent, no state moves
    first look, or a gap      adopt the count that the consumer reports, decide nothing yet
    set by hand               that count, until its time is over; then the policy from there
    otherwise                 what the policy says

A command goes out when the wanted count differs from the one that the consumer reports as its
target. It is absolute, so sending it again does no harm: when the consumer has not heard it
within two cycles, or heard it and still works towards another count after the command's
lifetime (its own maximum may be lower), it is sent once more under a new number.
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
from coordinator.policy import Limits, Policy, PolicyState, Reading

UP, DOWN = "SCALE_UP", "SCALE_DOWN"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCommand:
    """The last command to a partition that its consumer has not obeyed yet."""

    target: int
    at_s: float
    command_id: str
    owner_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMemory:
    """What a leader remembers of one partition between cycles.

    policy is None until the partition was seen. reason: why the target last changed. noted: what
    kind of ruling was kept last, so that a lasting one is kept once.
    """

    policy: PolicyState | None = None
    target: int = 0
    reason: str = ""
    seen_s: float = 0.0
    manual: bool = False
    sequence: int = 0
    sent: PendingCommand | None = None
    noted: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CyclePlan:
    """What a cycle comes to. notable: the rulings that are worth keeping."""

    tracks: Mapping[int, PartitionMemory]
    rulings: tuple[PartitionDecision, ...]
    notable: tuple[PartitionDecision, ...]

    @property
    def orders(self) -> tuple[ScaleCommand, ...]:
        """Return the commands to send."""
        return tuple(ruling.order for ruling in self.rulings if ruling.order is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """Decides for every partition. Times in seconds."""

    policy: Policy[Any, Any]
    limits: Limits = field(default_factory=Limits)
    cycle_s: float = 1.0
    command_ttl_s: float = 30.0
    forget_s: float = 60.0  # unseen for so long, what is remembered says nothing any more

    def plan(
        self,
        epoch: int,
        tracks: Mapping[int, PartitionMemory],
        observations: Sequence[Observation],
        manual: Mapping[int, int],
        now_s: float,
    ) -> CyclePlan:
        """Return what to do now. tracks: of the cycle before, empty for a new leader.

        manual: partition -> workers set by hand. epoch: of the leader, for command ids.
        """
        after, rulings, notable = dict(tracks), [], []
        for seen in observations:
            before = tracks.get(seen.partition, PartitionMemory())
            track, ruling = self._rule(before, seen, manual.get(seen.partition))
            if not seen.unusable_reason:
                track, ruling = self._command(epoch, track, ruling, seen, now_s)
            kind = (ruling.mode, ruling.clamps, ruling.inputs is None)
            if ruling.order or ruling.direction != "hold" or kind != before.noted:
                notable.append(ruling)
            after[seen.partition] = replace(track, noted=kind)
            rulings.append(ruling)
        return CyclePlan(tracks=after, rulings=tuple(rulings), notable=tuple(notable))

    def _rule(
        self, track: PartitionMemory, seen: Observation, by_hand: int | None
    ) -> tuple[PartitionMemory, PartitionDecision]:
        if seen.unusable_reason or seen.state is None or seen.state.owner is None:
            mode = Mode.MANUAL if track.manual else Mode.AUTOMATIC
            return track, PartitionDecision(
                partition=seen.partition,
                mode=mode,
                previous=track.target,
                target=track.target,
                reason=f"{seen.unusable_reason}: held",
            )
        owner = seen.state.owner
        reading = Reading(
            at_s=seen.at_s,
            backlog=seen.state.backlog,
            workers=max(owner.workers, 0),
            busy=max(owner.busy, 0),
            finished_total=max(finished_total(seen.state), 0),
        )
        inputs = Inputs(
            backlog=reading.backlog,
            workers=reading.workers,
            busy=reading.busy,
            reported=owner.target,
            pwqd=round(reading.pwqd, 3),
            finished_total=reading.finished_total,
        )
        track = (
            replace(track, seen_s=seen.at_s)
            if self._remembers(track, seen)
            else PartitionMemory(seen_s=seen.at_s, sequence=track.sequence, noted=track.noted)
        )
        if by_hand is not None:
            return self._by_hand(track, seen.partition, inputs, by_hand)
        return self._by_policy(track, seen.partition, inputs, reading)

    def _remembers(self, track: PartitionMemory, seen: Observation) -> bool:
        return track.policy is not None and seen.at_s - track.seen_s <= self.forget_s

    def _by_hand(
        self, track: PartitionMemory, partition: int, inputs: Inputs, workers: int
    ) -> tuple[PartitionMemory, PartitionDecision]:
        # An operator may go below the base, never above what the machines were sized for.
        target = min(max(workers, 1), self.limits.max_workers)
        ruling = PartitionDecision(
            partition=partition,
            mode=Mode.MANUAL,
            previous=track.target if track.policy is not None else inputs.reported,
            target=target,
            reason=f"set to {workers} by hand",
            clamps=()
            if target == workers
            else ("max_workers" if workers > target else "min_workers",),
            inputs=inputs,
        )
        return replace(
            track, policy=self.policy.initial(target), target=target, manual=True
        ), ruling

    def _by_policy(
        self, track: PartitionMemory, partition: int, inputs: Inputs, reading: Reading
    ) -> tuple[PartitionMemory, PartitionDecision]:
        begins = track.policy is None
        state = self.policy.initial(inputs.reported) if track.policy is None else track.policy
        decision = self.policy.decide(reading, state, self.limits)
        after = decision.state
        if begins:
            # A new leader knows one instant only; the count that stands was right until now.
            mode, target = Mode.OBSERVE, inputs.reported
            reason, after = (
                f"first look: {target} workers stay as they are",
                replace(after, target=target),
            )
        else:
            mode, target, reason = Mode.AUTOMATIC, decision.target, decision.reason
            if track.manual:
                reason = f"no longer set manually; {reason}"
            if self.limits.clamp(track.target)[0] != track.target:
                least, most = self.limits.min_workers, self.limits.max_workers
                reason = f"moved within the limits of {least} to {most}; {reason}"
        ruling = PartitionDecision(
            partition=partition,
            mode=mode,
            previous=inputs.reported if begins else track.target,
            target=target,
            reason=reason,
            clamps=decision.clamps,
            inputs=inputs,
        )
        return replace(track, policy=after, target=target, manual=False), ruling

    def _command(
        self,
        epoch: int,
        track: PartitionMemory,
        ruling: PartitionDecision,
        seen: Observation,
        now_s: float,
    ) -> tuple[PartitionMemory, PartitionDecision]:
        owner = seen.state.owner if seen.state is not None else None
        if owner is None:
            return track, ruling
        if ruling.target != ruling.previous:
            track = replace(track, reason=ruling.reason)
        if ruling.target == owner.target:
            return replace(track, sent=None), ruling
        sent, why = track.sent, track.reason
        if sent is not None and sent.target == ruling.target and sent.owner_epoch == owner.epoch:
            heard = command_number(owner.applied) >= command_number(sent.command_id)
            patience_s = self.command_ttl_s if heard else 2 * self.cycle_s
            # Half a cycle of slack: cycles are never exactly as long as they should be.
            if now_s - sent.at_s < patience_s - self.cycle_s / 2:
                return track, ruling
        if ruling.target == ruling.previous:
            why = f"{owner.target} reported but {ruling.target} are wanted; {why}".rstrip("; ")
        order = ScaleCommand(
            partition=seen.partition,
            sequence=track.sequence + 1,
            type=UP if ruling.target > owner.target else DOWN,
            target=ruling.target,
            reason=why,
        )
        sent = PendingCommand(
            target=ruling.target,
            at_s=now_s,
            command_id=f"{epoch}-{order.sequence}",
            owner_epoch=owner.epoch,
        )
        track = replace(track, sequence=order.sequence, sent=sent)
        return track, replace(ruling, order=order)


def command_number(command_id: str) -> tuple[int, int]:
    """Return a command's id as numbers that compare; (0, 0) when it is damaged."""
    epoch, _, sequence = command_id.partition("-")
    try:
        return int(epoch), int(sequence)
    except ValueError:
        return 0, 0
