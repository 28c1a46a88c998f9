"""Whether two places have the same keys: one server has many names and spellings of its URL.

A number is left in one place, and looked for in the other one. Nothing that a server says of itself
would tell as much: a proxy hides which server it is, and an ACL what it may be asked.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from queuepool.partitions.partition import Partition
from queuepool.verbs.moves import verbs as move

if TYPE_CHECKING:
    from queuepool.client.pool import QueuePool

_TRIES = 3
_MOST = 1 << 48  # scripts count up to 2^53 exactly


def are_same(here: Partition, there: Partition) -> bool:
    """Return whether two places are one; so, too, if others keep asking that meanwhile.

    Raises UnavailableError, or ScriptError without the permission to move slots.
    """
    for _ in range(_TRIES):
        number = 1 + secrets.randbelow(_MOST)
        here.run(move.probe(number))
        found = there.run(move.probe(0))
        if found == number:
            return True
        left = here.run(move.probe(0))
        if not found and left == number:
            return False
    return True


def why_same(pool: QueuePool, number: int, server: str) -> str:
    """Return why a partition cannot go to a server of the settings: it is there; "" if it is not.

    Raises as `are_same`.
    """
    here = pool.partition(number)
    if not are_same(here, Partition(number, here.key, pool.servers[server])):
        return ""
    name = pool.config.topology.server_of(number)
    return f"servers {name!r} and {server!r} are the same one, under two names in QUEUEPOOL_SERVERS"
