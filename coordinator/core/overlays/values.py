"""What operators set at run time: names and values as text, and what they mean. Pure.

    mode=hold-down    profile=spike    min_workers=4    max_workers=128    budget=96
    total_budget=300    share=3    wait_s.critical=0.5
    schedule=MON-FRI 08:30-10:00 Asia/Seoul floor=16
    policy=target-wait    drain_s=1    spike.max_workers=256

A name that begins with that of a profile holds while that profile does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from coordinator.core.overlays.schedule import Window, parse_windows
from coordinator.core.overlays.shadowing import Candidate, parse_candidate
from coordinator.policy import POLICIES, make_policy, policy_settings, setting_names
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models.places import DEFAULT_POOL

PROFILES: Final = ("quiet", "normal", "spike", "extreme")
TIERS: Final = ("critical", "high", "default", "low")
MOST_WORKERS, MOST_BUDGET, MOST_SHARE = 4096, 1_000_000, 1_000
MOST_VALUES: Final = 200
LONGEST: Final = 4_000  # characters of one value
_SETTINGS: Final = policy_settings()
_WHOLE, _BELOW = re.compile(r"[0-9]{1,9}"), 1e9
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?(?:[eE][+-]?[0-9])?")


class ScaleMode(StrEnum):
    """How far the policy is obeyed."""

    AUTO = "auto"
    HOLD = "hold"  # limits, guard and budget still move the count
    HOLD_UP = "hold-up"  # it does not rise
    HOLD_DOWN = "hold-down"  # it does not fall
    MANUAL = "manual"  # nothing but `queuepool scale` moves it


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a profile may set; None or absent: as without it. waits_s: tier -> target wait."""

    min_workers: int | None = None
    max_workers: int | None = None
    budget: int | None = None
    waits_s: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """All that operators set, understood. settings: of policies, by name.

    total_budget: workers over all pools, in the record of the default one; share: what this pool is
    entitled to, against the others'. shadow: runs beside the policy, and moves nothing.
    """

    mode: ScaleMode = ScaleMode.AUTO
    profile: str = "normal"
    base: Bounds = field(default_factory=Bounds)
    profiles: Mapping[str, Bounds] = field(default_factory=lambda: MappingProxyType({}))
    schedule: tuple[Window, ...] = ()
    guard_cpu: float | None = None
    guard_memory: float | None = None
    policy: str | None = None
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    shadow: Candidate | None = None
    total_budget: int | None = None
    share: int = 1


def merged(
    values: Mapping[str, str], changes: Mapping[str, str], pool: str = DEFAULT_POOL
) -> dict[str, str]:
    """Return the values after changes, of which an empty one removes its name; all are valid.

    pool: whose record it is.
    Raises InvalidInputError, also for a name that does not exist: it would remove nothing.
    """
    for name in changes:
        if name not in values:
            _check_name(name)
    if pool != DEFAULT_POOL and changes.get("total_budget"):
        raise InvalidInputError(
            "total_budget applies to all pools together: set it without a pool. For one pool, set "
            "budget or share"
        )
    together = {**values, **{name: text.strip() for name, text in changes.items()}}
    kept = {name: text for name, text in sorted(together.items()) if text}
    understood = parse(kept)
    _check_policy(understood.policy, understood.settings)
    return kept


def parse(values: Mapping[str, str]) -> Overrides:
    """Return what values mean. Raises InvalidInputError that says what to write instead.

    Whether a policy takes its settings is known only together with those of the coordinator.
    """
    if len(values) > MOST_VALUES:
        raise InvalidInputError(f"{len(values)} values; at most {MOST_VALUES} are possible")
    plain: dict[str, Any] = {}
    bounds: dict[str, dict[str, Any]] = {name: {} for name in ("", *PROFILES)}
    settings: dict[str, Any] = {}
    for name, text in values.items():
        _check_name(name)
        profile, dot, rest = name.partition(".")
        if dot and profile in PROFILES:
            bounds[profile][rest] = _BOUNDS[rest](name, text)
        elif name in _BOUNDS:
            bounds[""][name] = _BOUNDS[name](name, text)
        elif name in _PLAIN:
            plain[name] = _PLAIN[name](name, text)
        else:
            settings[name] = _setting(name, text)
    made = {name: _bounds(name, given) for name, given in bounds.items()}
    return Overrides(
        mode=plain.get("mode", ScaleMode.AUTO),
        profile=plain.get("profile", "normal"),
        base=made.pop(""),
        profiles=made,
        schedule=plain.get("schedule", ()),
        guard_cpu=plain.get("guard.cpu"),
        guard_memory=plain.get("guard.memory"),
        policy=plain.get("policy"),
        settings=settings,
        shadow=plain.get("shadow"),
        total_budget=plain.get("total_budget"),
        share=plain.get("share", 1),
    )


def known_names() -> tuple[str, ...]:
    """Return every name that can be set, without those of single profiles."""
    return (*_PLAIN, *_BOUNDS, *_SETTINGS)


def _check_name(name: str) -> None:
    profile, dot, rest = name.partition(".")
    if (dot and profile in PROFILES and rest in _BOUNDS) or name in known_names():
        return
    raise InvalidInputError(
        f"{shown(name)} cannot be set. Names: {', '.join((*_PLAIN, *_BOUNDS))}; of a profile, such "
        "as spike.max_workers; or a setting of a policy, such as drain_s (docs/scaling.md)"
    )


def _bounds(profile: str, given: Mapping[str, Any]) -> Bounds:
    least, most = given.get("min_workers"), given.get("max_workers")
    if least is not None and most is not None and least > most:
        named = f"{profile}." if profile else ""
        raise InvalidInputError(
            f"{named}min_workers={least} is above {named}max_workers={most}: lower it, or raise "
            f"the maximum"
        )
    waits_s = {tier: given[f"wait_s.{name}"] for tier, name in enumerate(TIERS) if
               f"wait_s.{name}" in given}  # fmt: skip
    return Bounds(min_workers=least, max_workers=most, budget=given.get("budget"), waits_s=waits_s)


def _check_policy(name: str | None, settings: Mapping[str, Any]) -> None:
    for policy in POLICIES if name is None else (name,):
        if refused := _refused(policy, settings):
            key, problem = refused
            unset = "" if name else f", and {policy} may run, since no policy is set"
            raise InvalidInputError(
                f"{problem}{unset}. `queuepool policy set {key}=` removes the setting"
            )


def _refused(policy: str, settings: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return a setting that a policy does not take beside the others, with why; None if all fit.

    What is not among them counts by its default: only the coordinator knows its own settings.
    """
    given = {key: settings[key] for key in setting_names(policy) if key in settings}
    problem = _problem(policy, given)
    if not problem:
        return None
    fitting = (key for key in given if not _problem(policy, _without(given, key)))
    return next(fitting, next(iter(given))), problem


def _problem(policy: str, settings: Mapping[str, Any]) -> str:
    try:
        make_policy(policy, **settings)
    except ValueError as error:
        return str(error)
    return ""


def _without(settings: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != key}


def _one_of(*known: str) -> Callable[[str, str], str]:
    def read(name: str, text: str) -> str:
        if text not in known:
            raise InvalidInputError(f"{name}={shown(text)}: use {', '.join(known)}")
        return text

    return read


def _whole(most: int) -> Callable[[str, str], int]:
    def read(name: str, text: str) -> int:
        if not _WHOLE.fullmatch(text) or not 1 <= int(text) <= most:
            raise InvalidInputError(f"{name}={shown(text)}: use a whole number from 1 to {most:,}")
        return int(text)

    return read


def _number(most: float, unit: str) -> Callable[[str, str], float]:
    def read(name: str, text: str) -> float:
        if not _NUMBER.fullmatch(text) or not 0 < float(text) <= most:
            raise InvalidInputError(
                f"{name}={shown(text)}: use a number of {unit} above 0, at most {most:g}"
            )
        return float(text)

    return read


def _windows(name: str, text: str) -> tuple[Window, ...]:
    try:
        return parse_windows(text, PROFILES)
    except ValueError as error:
        raise InvalidInputError(f"{name}: {error}") from None


def _shadow(name: str, text: str) -> Candidate:
    try:
        made = parse_candidate(text, _of_policy)
    except InvalidInputError:
        raise
    except ValueError as error:
        raise InvalidInputError(f"{name}: {error}") from None
    unknown = sorted(made.settings.keys() - set(setting_names(made.policy)))
    if unknown:
        raise InvalidInputError(f"{name}: policy {made.policy} has no setting {unknown[0]}")
    if refused := _refused(made.policy, made.settings):
        raise InvalidInputError(f"{name}: {refused[1]}")
    return made


def _of_policy(name: str, text: str) -> Any:
    if name not in _SETTINGS:
        raise InvalidInputError(f"shadow: {shown(name)} is not a setting of a policy")
    return _setting(name, text)


def _setting(name: str, text: str) -> Any:
    kind = _SETTINGS[name].kind
    shape, which = (_WHOLE, "whole number") if kind is int else (_NUMBER, "number")
    if text.startswith("-") and shape.fullmatch(text[1:]):
        raise InvalidInputError(f"{name}={shown(text)} must not be negative")
    if not shape.fullmatch(text) or float(text) >= _BELOW:
        raise InvalidInputError(
            f"{name}={shown(text)}: use a {which} below {_BELOW:,.0f}, such as 2"
        )
    return kind(text)


_PLAIN: Final[Mapping[str, Callable[[str, str], Any]]] = {
    "mode": lambda name, text: ScaleMode(_one_of(*ScaleMode)(name, text)),
    "profile": _one_of(*PROFILES),
    "policy": _one_of(*POLICIES),
    "schedule": _windows,
    "shadow": _shadow,
    "guard.cpu": _number(100, "percent"),
    "guard.memory": _number(100, "percent"),
    "total_budget": _whole(MOST_BUDGET),
    "share": _whole(MOST_SHARE),
}
_BOUNDS: Final[Mapping[str, Callable[[str, str], Any]]] = {
    "min_workers": _whole(MOST_WORKERS),
    "max_workers": _whole(MOST_WORKERS),
    "budget": _whole(MOST_BUDGET),
    **{f"wait_s.{tier}": _number(86_400, "seconds") for tier in TIERS},
}
