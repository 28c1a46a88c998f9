"""Scaling policies: pure functions from what was observed to how many workers to run."""

from coordinator.policy.model import Decision, Direction, Limits, Policy, PolicyState, Reading
from coordinator.policy.registry import DEFAULT_POLICY, POLICIES, make_policy, setting_names

__all__ = [
    "DEFAULT_POLICY",
    "POLICIES",
    "Decision",
    "Direction",
    "Limits",
    "Policy",
    "PolicyState",
    "Reading",
    "make_policy",
    "setting_names",
]
