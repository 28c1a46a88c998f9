"""Who may call a verb of the owner: decorators, named as the parts of the scripts are."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from queuepool.testing.data import Args, PartitionData

OwnerVerb = Callable[[PartitionData, Args], Any]


def fence(verb: OwnerVerb) -> OwnerVerb:
    """Refuse whoever does not own the partition under the nonce and epoch that it sends first."""
    return _refusing(verb, draining_may=False)


def fence_or_drain(verb: OwnerVerb) -> OwnerVerb:
    """Refuse as `fence` does, but for an owner that is draining."""
    return _refusing(verb, draining_may=True)


def _refusing(verb: OwnerVerb, *, draining_may: bool) -> OwnerVerb:
    @wraps(verb)
    def fenced(p: PartitionData, args: Args) -> Any:
        return p.refuse(args, draining_may=draining_may) or verb(p, args)

    return fenced
