"""What `queuepool replay` asks for, and its answer: plain data. Pure; lines come from outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from coordinator.core.model import PartitionDecision
from coordinator.core.planner import Planner
from coordinator.core.replay.replaying import Difference, Replayed, replayed
from coordinator.core.replay.shadow import Shadow
from coordinator.policy import Policy, setting_names
from coordinator.simulator.request import made_policy, parse_setting
from queuepool.models.places import DEFAULT_POOL

_MOST_CHANGES = 1_000_000


@dataclass(slots=True)
class _Found:
    cycles: int = 0
    compared: int = 0
    decisions: int = 0
    different: int = 0
    first: Difference | None = None
    policies: list[str] = field(default_factory=list)
    began_ms: int = 0
    ended_ms: int = 0
    pool: str = DEFAULT_POOL

    def add(self, one: Replayed) -> None:
        cycle, plan = one.cycle, one.cycle.plan
        self.cycles += 1
        self.pool = one.pool
        self.began_ms, self.ended_ms = self.began_ms or cycle.now_ms, cycle.now_ms
        if cycle.planner.policy.name not in self.policies:
            self.policies.append(cycle.planner.policy.name)
        if one.recorded and plan is not None:
            self.compared += 1
            self.decisions += len(plan.decisions)
        if one.difference is not None:
            self.different += 1
            self.first = self.first or one.difference


def answer(
    lines: Iterable[bytes], policy: str = "", settings: Sequence[str] = (), *, changes: bool = False
) -> dict[str, Any]:
    """Return how a recording comes out. Raises ValueError for a bad recording or policy.

    policy: empty for the recorded one; it is compared from the first cycle in which another one
    decided. changes: also list every change of a count, of the last policy that decides. settings:
    NAME=VALUE.
    """
    found, shadow, planner = _Found(), None, None
    listed: list[dict[str, Any]] = []
    for one in replayed(lines):
        found.add(one)
        if shadow is None and planner is not one.cycle.planner and (policy or settings):
            planner = one.cycle.planner
            shadow = _candidate(planner, policy, settings)
        plan = one.cycle.plan
        decided = () if plan is None else plan.decisions
        changed = _changed(decided) if shadow is None else shadow.see(one.cycle)
        if changes and len(listed) < _MOST_CHANGES:
            listed += [_described(one.cycle.now_ms, decision) for decision in changed]
    if not found.cycles:
        raise ValueError("there is no cycle in it")
    return {
        "pool": found.pool,
        "cycles": found.cycles,
        "compared": found.compared,
        "decisions": found.decisions,
        "different": found.different,
        "first_difference": None if found.first is None else asdict(found.first),
        "policies": found.policies,
        "began_ms": found.began_ms,
        "ended_ms": found.ended_ms,
        "shadow": None if shadow is None else asdict(shadow.comparison()),
        "changes": listed,
    }


def _candidate(planner: Planner, name: str, settings: Sequence[str]) -> Shadow | None:
    """Return the shadow of another policy than the recorded one, None for the same."""
    recorded: Policy[Any, Any] = planner.policy
    name = name or recorded.name
    given = dict(map(parse_setting, settings))
    if name == recorded.name:
        kept = {key: getattr(recorded.settings, key) for key in setting_names(name)}
        given = kept | given
    made = made_policy(name, given, planner.cycle_s)
    if made.name == recorded.name and made.settings == recorded.settings:
        return None
    return Shadow(replace(planner, policy=made))


def _changed(decisions: Iterable[PartitionDecision]) -> Iterator[PartitionDecision]:
    return (one for one in decisions if one.target != one.previous)


def _described(at_ms: int, decision: PartitionDecision) -> dict[str, Any]:
    names = ("partition", "previous", "target", "reason")
    return {"at_ms": at_ms} | {name: getattr(decision, name) for name in names}
