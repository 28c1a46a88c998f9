"""A cluster full of secrets, everything that it shows, and what of that is by intent."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

KINDS = (
    "payload", "result", "error", "url_password", "key_password", "token", "viewer_token",
)  # fmt: skip


@dataclass(frozen=True)
class Canary:
    """One secret a kind, of letters and digits: no encoding of URLs or JSON changes them.

    They are short, so that a message which cuts what it quotes still shows them whole.
    """

    _texts: Mapping[str, str] = field(
        default_factory=lambda: {kind: f"canary{secrets.token_hex(3)}" for kind in KINDS}
    )

    def __getitem__(self, kind: str) -> str:
        return self._texts[kind]

    def kinds_in(self, text: str) -> set[str]:
        """Return the kinds of secrets that a text holds."""
        return {kind for kind, secret in self._texts.items() if secret in text}


@dataclass(frozen=True, order=True)
class Leak:
    """A secret where it may not be."""

    place: str
    kind: str


def leaks(
    canary: Canary, shown: Mapping[str, str], intended: Mapping[str, Iterable[str]]
) -> list[Leak]:
    """Return the secrets in what was shown, place by place, except what is there by intent.

    intended: pattern of places -> kinds that they show because someone asked for just that.
    """
    found = []
    for place, text in sorted(shown.items()):
        allowed = {
            kind for p, kinds in intended.items() if re.fullmatch(p, place) for kind in kinds
        }
        found += [Leak(place, kind) for kind in sorted(canary.kinds_in(text) - allowed)]
    return found
