"""What operators did, in the words of the log."""

from __future__ import annotations

import logging

from coordinator.api.callers import cleaned
from queuepool.errors.escaping import key_text

_log = logging.getLogger("coordinator.operators")
_MAX_REASON = 200


def tell_limit(
    done: str, name: str, changed: bool, reason: str, actor: str, definition: str = ""
) -> bool:
    """Log what was done to a limit; returns whether that changed anything."""
    said = {"definition": definition} if definition else {}
    _log.info(
        "%s limit %s", done, name,
        extra={**said, "changed": changed, "reason": plain(reason), "actor": actor},
    )  # fmt: skip
    return changed


def plain(reason: str) -> str:
    """Return a caller's text on one line, of bounded length."""
    return "".join(c if c.isprintable() else " " for c in reason[:_MAX_REASON]).strip()


def text_of(key: bytes) -> str | bytes:
    """Return a key as text, as producers and messages have it, if it is any."""
    try:
        return key.decode()
    except UnicodeDecodeError:
        return key


def named(key: bytes) -> str:
    """Return a group as the log names it."""
    return f"group {cleaned(key_text(key))}"
