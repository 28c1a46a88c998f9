"""Scaling policies: pure functions from observations to worker counts."""

from coordinator.policy.base import Policy
from coordinator.policy.model import Decision, Direction, Limits, LimitUse, PolicyState, Reading
from coordinator.policy.registry import (
    DEFAULT_POLICY,
    POLICIES,
    figure_names,
    make_policy,
    policy_settings,
    setting_kinds,
    setting_names,
    settings_of,
)

__all__ = [
    "DEFAULT_POLICY",
    "POLICIES",
    "Decision",
    "Direction",
    "LimitUse",
    "Limits",
    "Policy",
    "PolicyState",
    "Reading",
    "figure_names",
    "make_policy",
    "policy_settings",
    "setting_kinds",
    "setting_names",
    "settings_of",
]
