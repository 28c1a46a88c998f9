"""Scaling policies: pure functions from what was observed to how many workers to run."""

from coordinator.policy.base import Policy
from coordinator.policy.model import Decision, Direction, Limits, PolicyState, Reading
from coordinator.policy.registry import (
    DEFAULT_POLICY,
    POLICIES,
    make_policy,
    policy_settings,
    setting_names,
)

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
    "policy_settings",
    "setting_names",
]
