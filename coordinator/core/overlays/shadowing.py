"""Which candidate runs beside the live policy, and until when: the value `shadow`. Pure.

shadow=target-wait wait_s=1 until=2026-11-23T09:00Z
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from coordinator.policy import POLICIES
from queuepool.errors.escaping import shown

LONGEST_S: Final = 7 * 86_400.0
_EXAMPLE = "write, for example, target-wait wait_s=1 until=2026-11-23T09:00:00Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A policy with its settings. text: as it was set; until_ms: by a server's clock."""

    text: str
    policy: str
    settings: Mapping[str, Any]
    until_ms: int

    def runs(self, now_ms: int) -> bool:
        """Return whether it is to run at a moment."""
        return now_ms < self.until_ms <= now_ms + 2 * LONGEST_S * 1000


def parse_candidate(text: str, read: Callable[[str, str], Any]) -> Candidate:
    """Return what a value means. read: reads one setting of a policy. Raises ValueError."""
    policy, *words = text.split()
    if policy not in POLICIES:
        raise ValueError(f"{shown(policy)}: use {', '.join(POLICIES)}; {_EXAMPLE}")
    given: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name in given:
            raise ValueError(f"{shown(word)}: {_EXAMPLE}")
        given[name] = value
    until = given.pop("until", None)
    if until is None:
        raise ValueError(f"until is missing: {_EXAMPLE}")
    settings = {name: read(name, value) for name, value in given.items()}
    return Candidate(text=text, policy=policy, settings=settings, until_ms=_ms(until))


def candidate_text(policy: str, settings: Mapping[str, str], now: datetime, for_s: float) -> str:
    """Return the value for a candidate that runs for a while. Raises ValueError."""
    if not 0 < for_s <= LONGEST_S:
        raise ValueError(f"a shadow runs for at most {LONGEST_S / 86_400:g} days")
    until = (now + timedelta(seconds=for_s)).astimezone(UTC)
    words = [policy, *(f"{name}={value}" for name, value in settings.items())]
    return " ".join([*words, f"until={until:%Y-%m-%dT%H:%M:%SZ}"])


def _ms(text: str) -> int:
    try:
        when = datetime.fromisoformat(text)
        if when.tzinfo is None:
            raise ValueError
        return round(when.timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"until={shown(text)}: {_EXAMPLE}") from None
