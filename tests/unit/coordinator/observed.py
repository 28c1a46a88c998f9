"""Observations made by hand, and a consumer that obeys in virtual time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from coordinator.core.model import Observation, PartitionDecision, ScaleCommand
from coordinator.core.planner import CyclePlan, PartitionMemory, Planner
from coordinator.policy import Limits, Policy, make_policy
from queuepool.models import Owner, PartitionState

EPOCH = 1_000


def owner(
    target: int = 8,
    *,
    workers: int | None = None,
    busy: int = 0,
    lease_ms: int = 5_000,
    applied: str = "0-0",
    epoch: int = 1,
    version: str = "",
) -> Owner:
    return Owner(
        host="here:1",
        version=version,
        epoch=epoch,
        lease_ms=lease_ms,
        heartbeat_ms=0,
        workers=target if workers is None else workers,
        busy=busy,
        target=target,
        applied=applied,
    )


def state(
    held_by: Owner | None = None,
    *,
    partition: int = 0,
    backlog: int = 0,
    done: int = 0,
    observed_ms: int = 1_000_000,
    checkpoint: int | None = None,
    checkpoint_ms: int | None = None,
) -> PartitionState:
    return PartitionState(
        partition=partition,
        observed_ms=observed_ms,
        ready=(0, 0, backlog, 0),
        lanes=(0, 0, 1 if backlog else 0, 0),
        jobs=backlog,
        bytes=0,
        delayed=0,
        in_flight=0,
        dead=0,
        oldest_ms=0,
        books=0,
        draining=0,
        counters={"done": done},
        owner=held_by,
        checkpoint=checkpoint,
        checkpoint_ms=checkpoint_ms,
        last_command="0-0",
    )


@dataclass(slots=True)
class World:
    """One partition, its consumer and a leader, in virtual time: one `cycle` is one second."""

    policy: Policy[Any, Any] = field(default_factory=lambda: make_policy("pwqd"))
    limits: Limits = field(default_factory=Limits)
    now_s: float = 0.0
    backlog: int = 0
    done: int = 0
    consumer: Owner | None = field(default_factory=owner)
    reachable: bool = True
    obeys: bool = True
    most: int = 4_096  # the consumer's own maximum
    least: int = 1  # and minimum
    refuses: bool = False  # whether it applies commands without a change
    manual: dict[int, int] = field(default_factory=dict)
    memories: Mapping[int, PartitionMemory] = field(default_factory=dict)
    epoch: int = EPOCH
    sent: list[ScaleCommand] = field(default_factory=list)

    def cycle(self, times: int = 1) -> PartitionDecision:
        for _ in range(times):
            plan = self.plan()
        return plan.decisions[0]

    def plan(self) -> CyclePlan:
        self.now_s += 1.0
        seen = Observation(
            partition=0,
            at_s=self.now_s,
            state=state(self.consumer, backlog=self.backlog, done=self.done)
            if self.reachable
            else None,
            problem="" if self.reachable else "no answer",
        )
        planner = Planner(policy=self.policy, limits=self.limits, cycle_s=1.0, command_ttl_s=30.0)
        plan = planner.plan(self.epoch, self.memories, [seen], self.manual, self.now_s)
        self.memories = plan.memories
        self.sent += plan.commands
        if self.obeys:
            for command in plan.commands:
                self.apply(command)
        return plan

    def apply(self, command: ScaleCommand) -> None:
        """Let the consumer hear a command."""
        assert self.consumer is not None
        target = max(min(command.target, self.most), self.least)
        self.consumer = owner(
            self.consumer.target if self.refuses else target,
            applied=f"{self.epoch}-{command.sequence}",
            epoch=self.consumer.epoch,
        )

    def new_leader(self) -> None:
        self.epoch, self.memories = self.epoch + 1, {}
