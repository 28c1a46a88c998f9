"""How an owner calls a script: with its nonce and epoch, which the reply may reject. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from queuepool.verbs import Argument, Verb, fenced
from queuepool.verbs.owner.replies import Ownership


def owned(
    script: str, ownership: Ownership, args: Sequence[Argument], read: Callable[[Any], Any]
) -> Verb[Any]:
    """Return a verb that raises FencedError once the partition has another owner."""
    return Verb(
        script,
        [ownership.nonce, ownership.epoch, *args],
        lambda reply: read(fenced(reply, str(ownership), ownership.epoch)),
    )
