"""The base of every policy: its settings, its state, and answers that need no decision.

A setting of a policy is a field made by `setting`, in the policy's own file: `COORDINATOR_*`
variables, flags and the table of settings follow from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Final, Generic, TypeVar, get_args

from msgspec.structs import replace

from coordinator.policy.model import Decision, Limits, PolicyState, Reading, require

NOT_SEEN: Final = "no recent observation, so nothing changes"
FIRST_LOOK: Final = "first observation, nothing to compare it with yet"
MEANING: Final = "meaning"  # of a setting, in the metadata of its field


C = TypeVar("C", bound="PolicySettings")
S = TypeVar("S", bound=PolicyState)


def setting(default: Any, meaning: str = "") -> Any:
    """Return a field that operators may set. Without a meaning, another policy explains it."""
    return field(default=default, metadata={MEANING: meaning})


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """Numbers of a policy. Values out of bounds raise ValueError."""

    def require_above_zero(self, *names: str) -> None:
        """Raise ValueError for the first of these that is not above 0."""
        for name in names:
            value = getattr(self, name)
            require(value > 0, f"{name}={value} must be above 0")

    def require_not_negative(self, *names: str) -> None:
        """Raise ValueError for the first of these that is below 0."""
        for name in names:
            value = getattr(self, name)
            require(value >= 0, f"{name}={value} must not be negative")

    def require_above(self, name: str, lower: str) -> None:
        """Raise ValueError unless one is above another."""
        value, bound = getattr(self, name), getattr(self, lower)
        require(value > bound, f"{name}={value} must exceed {lower}={bound}")


class Policy(ABC, Generic[C, S]):
    """Decides one partition's worker count from observations. C: its settings, S: its state."""

    name: ClassVar[str]
    figure_names: ClassVar[tuple[str, ...]] = ()  # of what its decisions are computed from
    version: ClassVar[int]  # grows with every change of behaviour, so that recordings compare

    def __init__(self, settings: C | None = None) -> None:
        self.settings: C = self.settings_type()() if settings is None else settings

    @classmethod
    def settings_type(cls) -> type[C]:
        """Return the class of this policy's settings."""
        made: type[C] = _types(cls)[0]
        return made

    @abstractmethod
    def on_reading(self, reading: Reading, state: S, limits: Limits) -> Decision:
        """Return the decision on a fresh reading. state: this policy's last, or `initial`."""

    def initial(self, target: int) -> S:
        """Return the state of a policy that takes over a partition at this target."""
        made: S = _types(type(self))[1](target=target)
        return made

    def decide(self, reading: Reading | None, state: PolicyState, limits: Limits) -> Decision:
        """Return the decision of one cycle.

        A missing reading holds the target (within the limits) and leaves the state unchanged:
        unobserved time never counts towards a shrink.
        """
        if reading is None:
            return bounded(state, state.target, limits, NOT_SEEN)
        own = state if isinstance(state, _types(type(self))[1]) else self.initial(state.target)
        return self.on_reading(reading, own, limits)


@cache
def _types(policy: type[Policy[Any, Any]]) -> tuple[Any, Any]:
    settings, state = get_args(policy.__orig_bases__[0])  # type: ignore[attr-defined]
    return settings, state


def bounded(
    state: PolicyState,
    previous: int,
    limits: Limits,
    reason: str,
    clamps: tuple[str, ...] = (),
    *,
    wanted: int | None = None,
    figures: tuple[float, ...] = (),
) -> Decision:
    """Return the decision for `state.target`, clamped to the limits.

    wanted: what the policy would have chosen without any clamp; by default `state.target`.
    figures: what it computed with.
    """
    target, bound = limits.clamp(state.target)
    return Decision(
        target=target,
        previous=previous,
        reason=reason,
        clamps=clamps + tuple([name for name in bound if name not in clamps]) if bound else clamps,
        state=state if state.target == target else replace(state, target=target),
        wanted=state.target if wanted is None else wanted,
        figures=figures,
    )
