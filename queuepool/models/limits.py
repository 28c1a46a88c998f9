"""Limits as code declares and people set them, and what is known of each. Pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models.durations import format_duration

MAX_COUNT = 1_000_000
MAX_PER_S = 31 * 86_400.0
_MAX_NAME = 64
_NAME = re.compile(r"[A-Za-z0-9_.:@/-]{1,64}")
_GATE = re.compile(r"[A-Za-z0-9_.:@/-][A-Za-z0-9_.:@/,-]{0,258}")  # as in gate_of.lua
_TEXT = re.compile(r"[A-Za-z0-9_.:@/-]*")
_FIELD = re.compile(r"\{([^{}]*)\}")
_DEFINITION = re.compile(r"(\d{1,7}):(\d{1,14}):(\d{1,7}):(\d{1,7}):(\d{1,7}):(\d{1,7})")


def is_limit_name(name: str) -> bool:
    """Return whether a limit may have this name."""
    return bool(_NAME.fullmatch(name))


def limits_of(gate: str) -> tuple[str, ...]:
    """Return the limits that a gate is named after, each once; none if that is not a gate's name.

    Anyone who may enqueue can write such names: whatever scripts accept as one is one here.
    """
    return tuple(dict.fromkeys(filter(None, gate.split(",")))) if _GATE.fullmatch(gate) else ()


def check_limit_name(name: object) -> str:
    """Return the name of a limit, or raise InvalidInputError."""
    if not isinstance(name, str) or not is_limit_name(name):
        raise InvalidInputError(
            f"a limit cannot be named {shown(name)}: use 1 to 64 of A-Z a-z 0-9 _ . : @ / -"
        )
    return name


def parts_of(name: object) -> list[str]:
    """Return the parts of a name or template: texts, and fields of payloads at odd places.

    "mail:{account}" is "mail:", "account", "". Raises InvalidInputError.
    """
    if not isinstance(name, str) or not set(name) & set("{}"):
        return [check_limit_name(name)]
    parts = _FIELD.split(name)
    text, fields = "".join(parts[::2]), parts[1::2]
    if not _TEXT.fullmatch(text) or not all(fields) or len(text) + len(fields) > _MAX_NAME:
        raise InvalidInputError(
            f"limits cannot be named {shown(name)}: use fields of the payload, such as "
            '"mail:{account}", and A-Z a-z 0-9 _ . : @ / - between them, for names of at most '
            f"{_MAX_NAME} characters"
        )
    return parts


@dataclass(frozen=True, slots=True)
class Limit:
    """How many jobs may start in a time, or run at once, in all partitions together.

    name: in `@task(limit=...)` it may be a template, "mail:{account}": then each name that it makes
    of a payload is a limit of its own.
    rate: jobs that start in `per_s` seconds. burst: how many may start at once after a pause; by
    default as many as the rate allows in a second, at least 1. concurrency: jobs that run at once.
    rate="adaptive" finds the rate between `least` and `most`, by what the downstream refuses.
    """

    name: str
    rate: int | Literal["adaptive"] | None = None
    per_s: float = 1.0
    burst: int | None = None
    concurrency: int | None = None
    least: int | None = None
    most: int | None = None

    def __post_init__(self) -> None:
        parts_of(self.name)
        for field in ("rate", "burst", "concurrency", "least", "most"):
            self._check_count(field)
        if self.rate is None and self.concurrency is None:
            raise self._invalid("bounds nothing: give it a rate, a concurrency, or both")
        if self.rate is None and (self.burst is not None or self.per_s != 1):
            raise self._invalid("has a burst or per_s without a rate")
        if not _is_number(self.per_s) or not 0.001 <= self.per_s <= MAX_PER_S:
            raise self._invalid(f"per_s={shown(self.per_s)}: use 0.001 to {MAX_PER_S:.0f} seconds")
        if self.adaptive and (self.least is None or self.most is None or self.least > self.most):
            raise self._invalid('rate="adaptive" needs least and most, with least <= most')
        if not self.adaptive and (self.least is not None or self.most is not None):
            raise self._invalid('least and most belong to rate="adaptive"')

    def _check_count(self, field: str) -> None:
        value = getattr(self, field)
        if value is None or (field == "rate" and value == "adaptive"):
            return
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_COUNT:
            slower = "; for fewer than one in a second use per_s" if field == "rate" else ""
            adaptive = ' or "adaptive"' if field == "rate" else ""
            raise self._invalid(
                f"{field}={shown(value)}: use a whole number from 1 to {MAX_COUNT:,}"
                f"{adaptive}{slower}"
            )

    def _invalid(self, why: str) -> InvalidInputError:
        return InvalidInputError(f"limit {shown(self.name)}: {why}")

    @property
    def adaptive(self) -> bool:
        """Return whether it finds its rate by itself."""
        return self.rate == "adaptive"

    @property
    def allowed_burst(self) -> int:
        """Return how many jobs may start at once after a pause; 1 without a rate."""
        if self.burst is not None or self.rate is None:
            return self.burst or 1
        tokens = self.least if self.rate == "adaptive" else self.rate
        return min(MAX_COUNT, max(1, math.floor((tokens or 1) / self.per_s)))

    @property
    def definition(self) -> str:
        """Return the text that scripts read: rate:per us:burst:concurrency:least:most, 0: none."""
        tokens = self.least if self.rate == "adaptive" else self.rate
        per_us = round(self.per_s * 1e6) if tokens else 0
        bounds = (self.least or 0, self.most or 0)
        counts = (tokens or 0, per_us, self.allowed_burst, self.concurrency or 0, *bounds)
        return ":".join(map(str, counts))

    @classmethod
    def from_definition(cls, name: str, text: str) -> Limit | None:
        """Return the limit of a definition; None if the text is none, or of a later version."""
        match = _DEFINITION.fullmatch(text)
        if match is None:
            return None
        rate, per_us, burst, concurrency, least, most = map(int, match.groups())
        try:
            return cls(
                name,
                rate=("adaptive" if most else rate) if rate else None,
                per_s=per_us / 1e6 if rate else 1.0,
                burst=burst if rate else None,
                concurrency=concurrency or None,
                least=least or None,
                most=most or None,
            )
        except InvalidInputError:
            return None


def allows(limit: Limit | None) -> str:
    """Return what a limit allows, in words."""
    if limit is None:
        return "anything"
    words = []
    if limit.rate is not None:
        each = "/s" if limit.per_s == 1 else f" per {format_duration(limit.per_s)}"
        rate = f"{limit.least}..{limit.most}" if limit.rate == "adaptive" else f"{limit.rate:,}"
        words += [rate + each, f"burst {limit.allowed_burst:,}"]
    if limit.concurrency is not None:
        words.append(f"{limit.concurrency:,} at once")
    return ", ".join(words)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitStatus:
    """A limit and what its home knows of it.

    set: what people set, which wins over declared: what code says; both None: undefined, it bounds
    nothing. pace: jobs in `per_s` seconds now. wait_ms: for how long the downstream said to wait.
    refused_ms: when it last did (0: never). running: jobs that run or may start at any time.
    waiting: owners of partitions that stand in line for it; askers: those that do or have permits.
    parked: jobs at gates that name it, at least; parked_known: there are no more than these.
    unused: people set or paused it, but no job has needed it since it is known.
    """

    name: str
    set: Limit | None
    declared: Limit | None
    paused_ms: int
    pace: float | None
    granted: int
    granted_last_s: int
    wait_ms: int
    refused_ms: int
    running: int
    waiting: int
    askers: int
    parked: int = 0
    parked_known: bool = False
    unused: bool = False

    @property
    def effective(self) -> Limit | None:
        """Return what holds, None if nobody defined it."""
        return self.set or self.declared

    @property
    def paused(self) -> bool:
        """Return whether it is paused."""
        return self.paused_ms > 0
