"""Policies by name, as an operator writes them in a setting."""

from dataclasses import fields
from typing import Any, Final

from coordinator.policy.aimd import AimdPolicy, AimdSettings
from coordinator.policy.model import Policy
from coordinator.policy.pwqd import PwqdPolicy, PwqdSettings
from coordinator.policy.ratio import RatioPolicy, RatioSettings
from coordinator.policy.static import StaticPolicy, StaticSettings

DEFAULT_POLICY: Final = PwqdPolicy.name

_KNOWN: Final[dict[str, tuple[Any, Any]]] = {
    StaticPolicy.name: (StaticPolicy, StaticSettings),
    RatioPolicy.name: (RatioPolicy, RatioSettings),
    AimdPolicy.name: (AimdPolicy, AimdSettings),
    PwqdPolicy.name: (PwqdPolicy, PwqdSettings),
}

POLICIES: Final = tuple(_KNOWN)


def setting_names(name: str) -> tuple[str, ...]:
    """Return the settings that a policy understands, for callers that share one set of them."""
    _policy, settings = _find(name)
    return tuple(entry.name for entry in fields(settings))


def make_policy(name: str = DEFAULT_POLICY, **settings: Any) -> Policy:
    """Return the policy of that name; every setting left out keeps its default.

    Raises ValueError naming the known policies, the known settings, or the bad value.
    """
    policy, shape = _find(name)
    unknown = sorted(settings.keys() - set(setting_names(name)))
    if unknown:
        raise ValueError(
            f"policy {name!r} has no setting {', '.join(unknown)}. "
            f"Its settings are: {', '.join(setting_names(name))}."
        )
    try:
        made: Policy = policy(shape(**settings))
    except ValueError as error:
        raise ValueError(f"policy {name!r}: {error}") from error
    return made


def _find(name: str) -> tuple[Any, Any]:
    if name not in _KNOWN:
        raise ValueError(f"no scaling policy is called {name!r}. Known: {', '.join(_KNOWN)}.")
    return _KNOWN[name]
