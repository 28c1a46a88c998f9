"""Cycles without a leader: what the partitions show, and no decisions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final, Self

from coordinator.core.memory import PartitionMemory
from coordinator.core.planner import Planner
from coordinator.core.replay.cycle import Cycle
from coordinator.loop.fleet import Fleet
from coordinator.loop.observer import Observer
from coordinator.policy import make_policy
from queuepool.client.pool import QueuePool
from queuepool.models.places import DEFAULT_POOL
from queuepool.verbs.leader import verbs as lead

_NOTHING: Final[Mapping[int, PartitionMemory]] = {}


class Observing:
    """Observes every partition of a queue. Used by one thread; close it at the end.

    of: the pool of workers.
    """

    def __init__(self, pool: QueuePool, cycle_s: float, of: str = DEFAULT_POOL) -> None:
        self._server, self._key = pool.system_of(of)
        config = pool.config.of(of)
        self._fleet = Fleet(config.topology, config.keyspace, pool.servers)
        self._observer = Observer(self._fleet)
        self._planner = Planner(policy=make_policy(cycle_s=cycle_s), cycle_s=cycle_s)

    def cycle(self) -> Cycle:
        """Observe once. Raises QueuePoolError if the server of partition 0 is down."""
        verb = lead.who_leads()
        leader = verb.read(self._server.run(self._key, [verb])[0])
        return Cycle(
            planner=self._planner,
            epoch=leader.epoch,
            memories=_NOTHING,
            observations=self._observer.observe(),
            manual={number: workers for number, (workers, _until) in leader.manual.items()},
            now_s=time.monotonic(),
            now_ms=leader.now_ms,
            plan=None,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._fleet.close()
