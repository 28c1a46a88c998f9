"""What the leader decides now is explained with the fate of its command."""

from __future__ import annotations

import pytest

from coordinator.core.model import InForce, LeaseStatus, Observation
from coordinator.core.overlays.rules import Rules
from coordinator.core.planner import PartitionMemory, Planner
from coordinator.decisions.explain import sentences
from coordinator.decisions.present import with_present
from coordinator.decisions.stored import Unsent
from coordinator.policy import make_policy
from coordinator.snapshots.builder import SnapshotBuilder
from queuepool.models import Leader
from queuepool.routing.topology import build
from tests.unit.coordinator.observed import EPOCH, owner, state


def explained(unsent: dict[int, str]) -> list[str]:
    """Return what the leader says about a decision with a command, that nobody stored."""
    planner = Planner(policy=make_policy("static", workers=12))
    memories: dict[int, PartitionMemory] = {}
    for second in (1, 2):
        seen = [Observation(partition=0, at_s=float(second), state=state(owner(8)))]
        plan = planner.plan(EPOCH, memories, seen, {}, float(second))
        memories = dict(plan.memories)
    leader = Leader(
        leading=True, epoch=EPOCH, now_ms=1_000_000, lease_ms=5_000, address="", manual={}
    )
    snapshot = SnapshotBuilder(build({"main": "redis://x"}, 1, "")).snapshot(
        cycle=2,
        at_s=2.0,
        leading=True,
        lease=LeaseStatus(leading=True, answered=True, leader=leader),
        observations=seen,
        memories=memories,
        decisions={0: plan.decisions[0]},
        unsent=unsent,
        finished_per_s={},
        reached={},
        in_force=InForce(policy="static", version=1, rules=Rules()),
    )
    [(_, record)] = with_present(snapshot, 0, [])
    return sentences(record)


@pytest.mark.parametrize(
    ("unsent", "said"),
    [
        ({}, f"Command {EPOCH}-1 informed the consumer."),
        ({1: Unsent.REFUSED}, f"Command {EPOCH}-1 informed the consumer."),
        (
            {0: Unsent.REFUSED},
            "Its command could not be sent; it is repeated while that count is wanted.",
        ),
        (
            {0: Unsent.UNKNOWN},
            "It is not known whether its command arrived; it is repeated while that count is "
            "wanted.",
        ),
    ],
    ids=["sent", "of another partition", "refused", "unknown"],
)
def test_the_present_decision_says_whether_its_command_was_sent(
    unsent: dict[int, str], said: str
) -> None:
    assert explained(unsent)[-1] == said
