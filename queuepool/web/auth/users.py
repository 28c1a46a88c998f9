"""Users, their tokens, and the sessions that begin with one."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from queuepool.rpc.auth import ApiRole

SESSION_S: Final = 12 * 3600
_MOST_NAME = 80


@dataclass(frozen=True, slots=True)
class User:
    """Who asks. name: for the audit."""

    name: str
    role: ApiRole

    @property
    def may_act(self) -> bool:
        """Return whether it is an operator."""
        return self.role is ApiRole.OPERATOR


def shown_name(name: str) -> str:
    """Return a user's name as one visible word of bounded length."""
    kept = "".join(c if c.isprintable() and not c.isspace() else "_" for c in name[:_MOST_NAME])
    return kept or "unnamed"


@dataclass(frozen=True, slots=True)
class _Token:
    user: User
    token: bytes
    id: str  # of the token, in cookies; tells nothing of it
    key: bytes


class Tokens:
    """Tokens of users, and sessions: cookies that are signed with a key made of the token.

    A session needs no memory, so it survives a restart; it ends when its token is removed.
    """

    def __init__(
        self,
        operators: Iterable[tuple[str, str]],
        viewers: Iterable[tuple[str, str]],
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._now_s = now_s
        roles = ((ApiRole.OPERATOR, operators), (ApiRole.VIEWER, viewers))
        self._known = [_known(who, token, role) for role, some in roles for who, token in some]

    def __bool__(self) -> bool:
        return bool(self._known)

    def user(self, token: str) -> User | None:
        """Return whose token this is; takes the same time wherever a wrong one differs."""
        given = token.encode("utf-8", "replace")
        found = [one.user for one in self._known if hmac.compare_digest(one.token, given)]
        return found[0] if found else None

    def session(self, token: str) -> str:
        """Return the cookie of a new session of this token's user."""
        one = next(k for k in self._known if hmac.compare_digest(k.token, token.encode()))
        text = f"{one.id}.{int(self._now_s()) + SESSION_S}.{secrets.token_urlsafe(12)}"
        return f"{text}.{_mac(one.key, text)}"

    def open(self, cookie: str) -> User | None:
        """Return the user of a session; None if it has ended, or is not ours."""
        text, _, mac = cookie.rpartition(".")
        parts = text.split(".")
        if len(parts) != 3 or not (parts[1].isascii() and parts[1].isdecimal()):
            return None
        one = next((known for known in self._known if known.id == parts[0]), None)
        given = mac.encode("utf-8", "replace")
        if one is None or not hmac.compare_digest(_mac(one.key, text).encode(), given):
            return None
        return one.user if int(parts[1]) > self._now_s() else None

    @property
    def seed(self) -> bytes:
        """Return a secret that all processes with these tokens share."""
        return sha256(b"\0".join(one.key for one in self._known)).digest()


def _known(who: str, token: str, role: ApiRole) -> _Token:
    raw = token.encode()
    key = hmac.digest(raw, b"queuepool page session", "sha256")
    name = hmac.digest(raw, b"queuepool page token id", "sha256").hex()[:12]
    return _Token(User(shown_name(who), role), raw, name, key)


def _mac(key: bytes, text: str) -> str:
    return hmac.digest(key, text.encode("utf-8", "replace"), "sha256").hex()
