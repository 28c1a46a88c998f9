"""What to want for one partition: its policy, then the overlays. Pure.

A ruling has two steps, since partitions share a budget: `Draft`s say what each asks for, and
`settle` makes a decision of a draft and the count that was granted. Where that differs from what
the policy chose, the policy decides once more within it, so that it remembers what happens.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from coordinator.core.doubts import A_STEP_AT_MOST, contradiction, within_a_step
from coordinator.core.memory import PartitionMemory
from coordinator.core.model import (
    Clamp,
    Inputs,
    Mode,
    Observation,
    PartitionDecision,
)
from coordinator.core.overlays.budget import Ask
from coordinator.core.overlays.effect import overlaid
from coordinator.core.overlays.rules import Rules
from coordinator.core.overlays.situation import Situation, demand_beside, situation_of
from coordinator.core.overlays.values import ScaleMode
from coordinator.core.reading import read
from coordinator.policy import Decision, Limits, Policy, PolicyState, Reading
from coordinator.policy.demand import Demand

_NEVER: Final = (0, 0)  # what is known of the last observation, where there was none


class Draft(Struct, frozen=True, kw_only=True):
    """What a partition asks for. chosen: by the policy, from `state`; None where it has no say.

    Then `decision` is final, and `memory` as well. demand: of the jobs, if an overlay needs it.
    doubted: the policy learns nothing from the observation. vacant: no consumer owns it.
    """

    memory: PartitionMemory
    decision: PartitionDecision
    chosen: Decision | None = None
    state: PolicyState | None = None
    reading: Reading | None = None
    demand: Demand | None = None
    last: tuple[int, int] = (0, 0)
    doubted: bool = False
    vacant: bool = False

    @property
    def partition(self) -> int:
        """Return the partition's number."""
        return self.decision.partition

    @property
    def taken(self) -> int:
        """Return the workers that a partition which asks for nothing takes of a budget."""
        if self.vacant:  # what it had runs no more; a consumer that comes is observed first
            return 0
        inputs = self.decision.inputs
        return inputs.workers if self.doubted and inputs is not None else self.decision.target


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruler:
    """Rules over partitions for one cycle. forget_s: unobserved for so long, memories are old.

    may_move: whether overlays may move counts, asked once.
    """

    policy: Policy[Any, Any]
    rules: Rules = field(default_factory=Rules)
    cycle_s: float = 1.0
    forget_s: float = 60.0
    may_move: bool = True

    def draft(self, memory: PartitionMemory, seen: Observation, by_hand: int | None) -> Draft:
        """Return what a partition asks for. by_hand: the workers set manually, if they are."""
        state = seen.state
        if seen.unusable_reason or state is None or state.owner is None:
            vacant = state is not None and state.owner is None
            return Draft(memory=memory, decision=_unseen(memory, seen), vacant=vacant)
        reading, inputs = read(seen, state, state.owner)
        if memory.policy is None or seen.at_s - memory.seen_s > self.forget_s:
            memory = PartitionMemory(
                sequence=memory.sequence,
                noted=memory.noted,
                held=memory.held,
                last=memory.last if memory.policy is None else _NEVER,
            )
        if by_hand is not None:
            return self._by_hand(memory, seen, inputs, by_hand)
        if memory.policy is None:
            return self._first_look(memory, seen, inputs, reading)
        chosen = self.policy.decide(reading, memory.policy, self.rules.limits)
        demand = self._demand(memory, chosen.state, reading)
        now = situation_of(memory, state, state.owner, reading, chosen, demand)
        return Draft(
            memory=memory,
            demand=memory.demand if now.doubt else demand,
            doubted=bool(now.doubt),
            decision=self._by_policy(memory, seen.partition, inputs, chosen, now),
            chosen=chosen,
            state=memory.policy,
            reading=reading,
            last=(state.observed_ms, reading.finished_total),
        )

    def ask(self, draft: Draft) -> Ask | None:
        """Return what a draft asks of the budget, None if nobody can change it."""
        if draft.chosen is None or self.rules.mode is ScaleMode.MANUAL:
            return None
        return Ask(
            partition=draft.partition,
            asked=draft.decision.target,
            base=self.rules.limits.min_workers,
            before=draft.decision.previous,
        )

    def settle(
        self, draft: Draft, granted: int, why: str
    ) -> tuple[PartitionMemory, PartitionDecision]:
        """Return the decision for the granted count. why: what the budget says about it."""
        decision, chosen = draft.decision, draft.chosen
        if chosen is None or draft.state is None:
            return draft.memory, decision
        moved = decision.moved
        if granted != decision.target:
            moved += (Clamp(name="budget", before=decision.target, after=granted, why=why),)
        after = draft.state if draft.doubted else chosen.state
        own = granted
        if self.rules.times is not None:  # a policy that goes on from it would grow each time
            own = min(granted, after.target)
        if own != chosen.target and not draft.doubted:
            there = Limits(min_workers=own, max_workers=own)
            after = self.policy.decide(draft.reading, draft.state, there).state
        overlays = moved[_by_policy_itself(chosen) :]
        limited = self._limited(decision.previous, granted)
        if overlays or limited:
            decision = replace(
                decision,
                target=granted,
                reason="; ".join((*limited, decision.reason, *map(str, overlays))),
                clamps=tuple(dict.fromkeys((*decision.clamps, *(one.name for one in overlays)))),
                moved=moved,
            )
        policy = after if after.target == own else replace(after, target=own)
        return _remembered(draft, policy, granted), decision

    def _by_hand(
        self, memory: PartitionMemory, seen: Observation, inputs: Inputs, workers: int
    ) -> Draft:
        # An operator may go below the base, never above what the machines were sized for.
        target = min(max(workers, 1), self.rules.limits.max_workers)
        bound = "max_workers" if workers > target else "min_workers"
        moved = () if target == workers else (Clamp(name=bound, before=workers, after=target),)
        decision = PartitionDecision(
            partition=seen.partition,
            mode=Mode.MANUAL,
            previous=memory.target if memory.policy is not None else inputs.reported,
            target=target,
            reason=f"set to {workers} manually",
            clamps=tuple(clamp.name for clamp in moved),
            inputs=inputs,
            moved=moved,
        )
        policy = self.policy.initial(target)
        memory = replace(memory, policy=policy, target=target, manual=True, seen_s=seen.at_s)
        return Draft(memory=memory, decision=decision)

    def _first_look(
        self, memory: PartitionMemory, seen: Observation, inputs: Inputs, reading: Reading
    ) -> Draft:
        # A new leader knows only one instant; the current count was right until now.
        target = inputs.reported
        last = (seen.state.observed_ms if seen.state else 0, inputs.finished_total)
        owner = seen.state.owner if seen.state else None
        if owner is not None and memory.last == _NEVER and (why := contradiction(owner)):
            return _look_again(replace(memory, last=last), seen, inputs, why)
        chosen = self.policy.decide(reading, self.policy.initial(target), self.rules.limits)
        decision = PartitionDecision(
            partition=seen.partition,
            mode=Mode.OBSERVE,
            previous=target,
            target=target,
            reason=f"first observation: {target} workers stay as they are",
            clamps=chosen.clamps,
            inputs=inputs,
        )
        policy = replace(chosen.state, target=target)
        demand = self._demand(memory, policy, reading)
        memory = replace(
            memory,
            policy=policy,
            target=target,
            manual=False,
            demand=demand,
            seen_s=seen.at_s,
            last=last,
        )
        return Draft(memory=memory, decision=decision)

    def _by_policy(
        self,
        memory: PartitionMemory,
        partition: int,
        inputs: Inputs,
        chosen: Decision,
        now: Situation,
    ) -> PartitionDecision:
        reason = chosen.reason
        if memory.manual:
            reason = f"no longer set manually; {reason}"
        target, moved = chosen.target, tuple[Clamp, ...]()
        clamps = chosen.clamps
        if self.may_move or now.own is not None:
            target, moved = overlaid(target, now, self.rules)
        if now.doubt:
            reason, clamps = f"{reason}; {now.doubt}: {A_STEP_AT_MOST}", (*clamps, "doubt")
            wanted, target = target, self._within(within_a_step(target, memory.target))
            if target != wanted:
                moved += (Clamp(name="doubt", before=wanted, after=target),)
        if _by_policy_itself(chosen):
            own = Clamp(name=chosen.clamps[-1], before=chosen.wanted or 0, after=chosen.target)
            moved = (own, *moved)
        return PartitionDecision(
            partition=partition,
            mode=Mode.AUTOMATIC,
            previous=memory.target,
            target=target,
            reason=reason,
            clamps=clamps,
            inputs=inputs,
            moved=moved,
            figures=tuple(chosen.figures),
            doubt=now.doubt,
        )

    def _limited(self, before: int, granted: int) -> tuple[str, ...]:
        """Return that the limits moved a count, if they did: a budget may keep it below them."""
        if self._within(before) == before or self._within(granted) != granted:
            return ()
        limits = self.rules.limits
        return (f"moved within the limits of {limits.min_workers} to {limits.max_workers}",)

    def _within(self, workers: int) -> int:
        """Return a count within the limits, which do not apply to one that only operators set."""
        if self.rules.mode is ScaleMode.MANUAL:
            return workers
        return self.rules.limits.clamp(workers)[0]

    def _demand(
        self, memory: PartitionMemory, policy: PolicyState, reading: Reading
    ) -> Demand | None:
        """Return what is measured of the jobs for overlays, None if that is not needed."""
        if not self.rules.waits_s:
            return None
        return demand_beside(policy, memory.demand, reading, self.cycle_s)


def _remembered(draft: Draft, policy: PolicyState, granted: int) -> PartitionMemory:
    before = draft.memory
    return replace(
        before,
        policy=policy,
        target=granted,
        seen_s=draft.reading.at_s if draft.reading is not None else before.seen_s,
        manual=False,
        demand=draft.demand,
        last=draft.last,
    )


def _by_policy_itself(chosen: Decision) -> int:
    """Return 1 if a clamp of the policy's own moved its choice, else 0."""
    return int(bool(chosen.clamps) and chosen.wanted is not None and chosen.wanted != chosen.target)


def _look_again(memory: PartitionMemory, seen: Observation, inputs: Inputs, why: str) -> Draft:
    """Return a first look that is taken once more: its count could be wrong by any factor."""
    decision = PartitionDecision(
        partition=seen.partition,
        mode=Mode.OBSERVE,
        previous=inputs.reported,
        target=inputs.reported,
        reason=f"first observation: {why}: held",
        clamps=("doubt",),
        inputs=inputs,
        doubt=why,
    )
    return Draft(memory=memory, decision=decision, doubted=True)


def _unseen(memory: PartitionMemory, seen: Observation) -> PartitionDecision:
    return PartitionDecision(
        partition=seen.partition,
        mode=Mode.MANUAL if memory.manual else Mode.AUTOMATIC,
        previous=memory.target,
        target=memory.target,
        reason=f"{seen.unusable_reason}: held",
        doubt="not observed" if seen.state is None else seen.unusable_reason,
    )
