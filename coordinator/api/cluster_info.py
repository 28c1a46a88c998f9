"""What the API says of its cluster that never changes while a coordinator runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from coordinator.policy import Limits
from coordinator.settings import CoordinatorSettings
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import Topology
from queuepool.settings.changed import changed
from queuepool.settings.config import PoolConfig
from queuepool.settings.environment import QueuePoolSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterInfo:
    """Constants of the process. changed: (variable, value) of what is not at its default."""

    keyspace: Keyspace
    topology: Topology
    policy: str
    limits: Limits
    cycle_s: float
    changed: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls, config: PoolConfig, settings: CoordinatorSettings, shared: QueuePoolSettings
    ) -> Self:
        """Return the facts from these settings; shared: those of every process of the queue."""
        return cls(
            keyspace=config.keyspace,
            topology=config.topology,
            policy=settings.policy,
            limits=settings.limits(),
            cycle_s=settings.cycle_s,
            changed=(*changed(settings), *changed(shared)),
        )
