"""Policies by the names that operators use in settings: every `Policy` in this folder."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from inspect import isabstract, isclass
from types import NoneType
from typing import Any, Final, get_args, get_type_hints

import msgspec

from coordinator.policy.base import MEANING, Policy

DEFAULT_POLICY: Final = "sized"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySetting:
    """A setting for operators. kind: its type. policies: which have it, by name."""

    kind: Any
    meaning: str
    policies: tuple[str, ...]


def _found() -> dict[str, type[Policy[Any, Any]]]:
    folder = sys.modules[Policy.__module__.rpartition(".")[0]]
    modules = [
        import_module(f"{folder.__name__}.{module.name}")
        for module in pkgutil.iter_modules(folder.__path__)
    ]
    kinds = (kind for module in modules for kind in vars(module).values() if isclass(kind))
    return {kind.name: kind for kind in kinds if issubclass(kind, Policy) and not isabstract(kind)}


_KNOWN: Final = _found()
POLICIES: Final = tuple(_KNOWN)


def setting_names(name: str) -> tuple[str, ...]:
    """Return the settings that a policy understands, for callers that share one set of them."""
    return tuple(entry.name for entry in fields(_find(name).settings_type()))


def setting_kinds(name: str) -> Mapping[str, Any]:
    """Return the types of a policy's settings, by name; of an optional one, that of its value."""
    hints = get_type_hints(_find(name).settings_type())
    return {setting: _without_none(hints[setting]) for setting in setting_names(name)}


def settings_of(name: str, plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings from plain data, as `asdict` made it. Raises ValueError."""
    shape = _find(name).settings_type()
    made = msgspec.convert(plain, shape)
    return {entry.name: getattr(made, entry.name) for entry in fields(shape)}


def figure_names(name: str) -> tuple[str, ...]:
    """Return the names of what a policy computes with; none for an unknown one."""
    return _KNOWN[name].figure_names if name in _KNOWN else ()


def policy_settings() -> Mapping[str, PolicySetting]:
    """Return the settings of policies for operators, by name. One name means one thing."""
    found: dict[str, PolicySetting] = {}
    for policy in POLICIES:
        kinds = setting_kinds(policy)
        for entry in fields(_find(policy).settings_type()):
            if MEANING not in entry.metadata:
                continue
            before = found.get(entry.name)
            meanings = {before.meaning if before else "", entry.metadata[MEANING]} - {""}
            found[entry.name] = PolicySetting(
                kind=kinds[entry.name],
                meaning=" ".join(meanings),
                policies=(*(before.policies if before else ()), policy),
            )
    return found


def _without_none(kind: Any) -> Any:
    return next((part for part in get_args(kind) if part is not NoneType), kind)


def make_policy(name: str = DEFAULT_POLICY, **settings: Any) -> Policy[Any, Any]:
    """Return the policy of that name; omitted settings keep their defaults.

    Raises ValueError naming the known policies, the known settings, or the bad value.
    """
    policy: Any = _find(name)
    unknown = sorted(settings.keys() - set(setting_names(name)))
    if unknown:
        raise ValueError(
            f"policy {name!r} has no setting {', '.join(unknown)}. "
            f"Its settings are: {', '.join(setting_names(name))}."
        )
    try:
        made: Policy[Any, Any] = policy(policy.settings_type()(**settings))
    except ValueError as error:
        raise ValueError(f"policy {name!r}: {error}") from error
    return made


def _find(name: str) -> type[Policy[Any, Any]]:
    if name not in _KNOWN:
        raise ValueError(f"there is no scaling policy named {name!r}. Known: {', '.join(_KNOWN)}.")
    return _KNOWN[name]
