"""Counts the jobs that wait for each limit, at the gates of all partitions and pools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from queuepool.client.effects import Steps
from queuepool.client.questions import places_of
from queuepool.client.reachable import Where, ask_reachable
from queuepool.errors import QueuePoolError
from queuepool.models import LimitStatus
from queuepool.models.limits import limits_of
from queuepool.settings.config import PoolConfig
from queuepool.verbs import Verb
from queuepool.verbs.owner.gates import GatePage, gates

_PAGE, _PAGES = 200, 10  # gates read of a place


@dataclass(frozen=True, slots=True)
class Parked:
    """jobs: how many wait for each limit, at least; complete: no more than these do."""

    jobs: Counter[str]
    complete: bool

    def on(self, status: LimitStatus) -> LimitStatus:
        """Return a limit with the number of jobs that wait for it."""
        return replace(status, parked=self.jobs[status.name], parked_known=self.complete)


def parked_anywhere(config: PoolConfig) -> Steps[Parked]:
    """Return how many jobs wait for each limit, in all pools of all partitions."""
    config = replace(config, retry_for_s=0.0)
    try:
        wheres = yield from places_of(config, None)
    except QueuePoolError:  # a server is away, which alone knows its pools
        defaults = [(number, config.keyspace.pool) for number in config.topology.view.numbers]
        return replace((yield from parked_jobs(config, defaults)), complete=False)
    return (yield from parked_jobs(config, wheres))


def parked_jobs(config: PoolConfig, wheres: Sequence[Where]) -> Steps[Parked]:
    """Return how many jobs wait for each limit in these places. Reads 2,000 gates of each.

    A job that names several limits counts at each of them.
    """
    at_gate: dict[tuple[Where, str], int] = {}  # a scan may return a gate twice
    cursors = dict.fromkeys(wheres, b"0")
    complete = True
    for _ in range(_PAGES):
        pages = yield from ask_reachable(config, list(cursors), _next(cursors))
        complete = complete and len(pages) == len(cursors)
        for where, page in pages.items():
            # Anyone who may enqueue can write these counts, too
            at_gate |= {(where, gate.limits): max(0, gate.parked) for gate in page.gates}
        cursors = {where: page.cursor for where, page in pages.items() if page.cursor != b"0"}
        if not cursors:
            break
    jobs = Counter[str]()
    for (_, gate), parked in at_gate.items():
        for name in limits_of(gate):
            jobs[name] += parked
    return Parked(jobs, complete and not cursors)


def _next(cursors: Mapping[Where, bytes]) -> Callable[[Where], Verb[GatePage]]:
    return lambda where: gates(cursors[where], count=_PAGE)
