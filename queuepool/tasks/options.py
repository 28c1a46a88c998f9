"""The options of a job besides its payload: their names, types and bounds. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from inspect import Parameter, Signature, signature
from typing import Any, TypedDict, TypeVar

from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models import Tier
from queuepool.tasks.backoff import Backoff
from queuepool.tasks.hooks import Hook
from queuepool.tasks.limiting import LimitOption

F = TypeVar("F", bound=Callable[..., Any])

MAX_ATTEMPTS = 2**31 - 1


class RunOptions(TypedDict, total=False):
    """How a job runs. delay: a timedelta, or seconds."""

    tier: Tier | int | str | None
    delay: timedelta | float | None
    delay_s: float | None
    max_attempts: int | None
    timeout_s: float | None
    expires_s: float | None
    unique_until: str | None
    on_conflict: str | None
    limit: LimitOption | None
    tenant: str | None
    pool: str | None


class JobOptions(RunOptions, total=False):
    """The options of one job."""

    partition_key: str | bytes | None
    job_id: str | None
    unique: str | bytes | None


class TaskOptions(TypedDict, total=False):
    """The options of `@task(...)`."""

    name: str | None
    max_attempts: int
    timeout_s: float | None
    backoff: Backoff
    tier: Tier | int | str
    result_ttl_s: float
    pool: str
    slots: int
    unique: Sequence[str] | None
    unique_until: str
    on_conflict: str
    limit: LimitOption | None
    before: Hook | None
    after: Hook | None
    on_failed: Hook | None
    on_dead: Hook | None
    cron: str | None
    every: float | str | timedelta | None
    timezone: str


def refuse_unknown(call: str, given: Iterable[str], options: type) -> None:
    """Raise TypeError for a name that is not an option, as Python itself does."""
    if unknown := set(given) - options.__annotations__.keys():
        raise TypeError(f"{call}() got an unexpected keyword argument {min(unknown)!r}")


def spelled_out(options: type, **defaults: Any) -> Callable[[F], F]:
    """Make `help` show the names in a function's `**options`, a TypedDict.

    defaults: of some names, which come first; those of the others are None.
    """

    def decorate(function: F) -> F:
        ours, notes = signature(function), options.__annotations__
        named = [p for p in ours.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        more = [
            Parameter(
                name,
                Parameter.KEYWORD_ONLY,
                default=defaults.get(name),
                annotation=getattr(notes[name], "__forward_arg__", notes[name]),
            )
            for name in {**defaults, **notes}
            if name not in ours.parameters
        ]
        made = Signature([*named, *more], return_annotation=ours.return_annotation)
        function.__signature__ = made  # type: ignore[attr-defined]
        return function

    return decorate


def check_tier(tier: object, more: str = "") -> Tier:
    """Return a tier, given the tier, its number or its name. Raises InvalidInputError.

    more: what else may be said, for the error.
    """
    try:
        if isinstance(tier, str):
            return Tier[tier.upper()]
        if isinstance(tier, int) and not isinstance(tier, bool):
            return Tier(tier)
    except (KeyError, ValueError):
        pass
    raise InvalidInputError(
        f"tier={shown(tier)}: use critical, high, default or low (0 to 3){more}"
    )


def check_name(name: object) -> str:
    """Return a valid task name. Raises InvalidInputError."""
    if isinstance(name, str):
        try:
            if 1 <= len(name.encode()) <= 128:
                return name
        except UnicodeEncodeError:  # half of a surrogate pair
            pass
    raise InvalidInputError(f"task name {shown(name)}: use 1 to 128 bytes of UTF-8")


def check_attempts(max_attempts: object) -> int:
    """Return a valid number of attempts. Raises InvalidInputError."""
    is_int = isinstance(max_attempts, int) and not isinstance(max_attempts, bool)
    if isinstance(max_attempts, int) and is_int and 1 <= max_attempts <= MAX_ATTEMPTS:
        return max_attempts
    raise InvalidInputError(f"max_attempts={shown(max_attempts)}: use 1 to {MAX_ATTEMPTS:,}")


def check_timeout(timeout_s: object) -> float:
    """Return a valid timeout. Raises InvalidInputError."""
    if isinstance(timeout_s, (int, float)) and is_number(timeout_s) and 0 < timeout_s <= 604_800:
        return float(timeout_s)
    raise InvalidInputError(f"timeout_s={shown(timeout_s)}: use more than 0 s, at most 7 days")


def is_number(value: object) -> bool:
    """Return whether a value is a number, which a bool is not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
