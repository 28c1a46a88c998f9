"""Replies of partitions that turn away who routes by a version that is too old. Pure."""

from __future__ import annotations

from typing import Any

from queuepool.errors import MovedError
from queuepool.verbs import number


def here(reply: Any) -> Any:
    """Return the reply. Raises MovedError when the version of the route was too low."""
    if type(reply) is list and reply and reply[0] == b"MOVED":
        raise MovedError(number(reply[1]))
    return reply
