"""Signed values that browsers keep for us: the token of forms, and what was done last."""

from __future__ import annotations

import base64
import hmac
import json
import secrets
import time
from typing import Any, Final

_NOTE_S: Final = 60.0


class Seals:
    """Makes and checks them. Pure but for randomness and the clock."""

    def __init__(self, secret: bytes) -> None:
        self._key = hmac.digest(secret, b"queuepool page forms", "sha256")

    @staticmethod
    def new_seed() -> str:
        """Return a random text, by which one browser is known to itself."""
        return secrets.token_urlsafe(18)

    def form_token(self, seed: str, user: str) -> str:
        """Return the token that a form brings along: of this browser and user alone."""
        return self._mac(f"form\0{seed}\0{user}")

    def is_form_token(self, token: str, seed: str, user: str) -> bool:
        """Return whether a form came with the token of its browser and user."""
        wanted = self.form_token(seed, user)
        return bool(seed) and hmac.compare_digest(wanted.encode(), token.encode("utf-8", "replace"))

    def note(self, kind: str, text: str) -> str:
        """Return what was done, for the page that is shown next."""
        plain = json.dumps([kind, text[:600], time.time() + _NOTE_S]).encode()
        packed = base64.urlsafe_b64encode(plain).decode()
        return f"{packed}.{self._mac(f'note{packed}')}"

    def read_note(self, cookie: str) -> tuple[str, str] | None:
        """Return (kind, text) of a note; None if it is not ours, or old."""
        packed, _, mac = cookie.rpartition(".")
        given = mac.encode("utf-8", "replace")
        if not hmac.compare_digest(self._mac(f"note{packed}").encode(), given):
            return None
        found: Any = json.loads(base64.urlsafe_b64decode(packed))
        return (found[0], found[1]) if found[2] > time.time() else None

    def _mac(self, text: str) -> str:
        return hmac.digest(self._key, text.encode("utf-8", "replace"), "sha256").hex()
