"""Who may call an owner's verb: decorators, named like the parts of the scripts."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from queuepool.testing.data import PartitionData
from queuepool.testing.keyspace import Args

OwnerVerb = Callable[[PartitionData, Args], Any]


def fence(verb: OwnerVerb) -> OwnerVerb:
    """Reject callers that do not own the partition under the nonce and epoch in the arguments."""
    return _refusing(verb, draining_may=False)


def fence_or_drain(verb: OwnerVerb) -> OwnerVerb:
    """Reject like `fence`, but accept a draining owner."""
    return _refusing(verb, draining_may=True)


def _refusing(verb: OwnerVerb, *, draining_may: bool) -> OwnerVerb:
    @wraps(verb)
    def fenced(p: PartitionData, args: Args) -> Any:
        return p.refuse(args, draining_may=draining_may) or verb(p, args)

    return fenced
