"""Where a queue is: partitions, pools, servers, what coordinators share; and how it does."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from queuepool.client.effects import Steps
from queuepool.client.limits import Limits
from queuepool.client.network import Network
from queuepool.client.questions import places_of
from queuepool.client.tenant import Tenant, largest_tenants
from queuepool.models import TenantLoad
from queuepool.models.doctor import Verdict
from queuepool.models.log import LogEntry, LogKind
from queuepool.models.places import DEFAULT_POOL
from queuepool.partitions.partition import Partition
from queuepool.partitions.verifying import Verifier
from queuepool.servers import Port
from queuepool.settings.config import PoolConfig

T = TypeVar("T")


class Whereabouts:
    """What of a pool does not depend on jobs."""

    config: PoolConfig
    _network: Network

    def partition(self, number: int, pool: str = DEFAULT_POOL) -> Partition:
        """Return one partition, or another pool of it, wherever it lives."""
        return self._network.partition(number, pool)

    def partitions(self) -> list[Partition]:
        """Return all partitions, with their default pools, and the legacy place if there is one."""
        return [self.partition(n) for n in self.config.topology.view.numbers]

    def places(self, partition: int | None = None) -> list[Partition]:
        """Return a partition, or all, each followed by the other pools that it has."""
        found = self._network.do(places_of(self.config, partition))
        return [self.partition(number, pool) for number, pool in found]

    def carry_out(self, steps: Steps[T]) -> T:
        """Execute steps of queuepool.client; return what they return."""
        return self._network.do(steps)

    def add_to(self, partition: int, pool: str, since: int = 0) -> None:
        """Tell a partition that it has this pool, unless it was told in the last minute.

        since: the version of the route by which it was chosen; 0: whichever. Raises MovedError.
        """
        self._network.add_pool(partition, pool, since)

    @property
    def system(self) -> tuple[Port, bytes]:
        """Return the server and the base key of the coordinators' shared keys."""
        return self.system_of(DEFAULT_POOL)

    def system_of(self, pool: str) -> tuple[Port, bytes]:
        """Return the server and the base key of what coordinators share about one pool."""
        server = self._network.servers[self.config.topology.system]
        return server, self.config.of(pool).keyspace.system()

    @property
    def route(self) -> Verifier:
        """Return the check that the keyspace has as many partitions as the config says."""
        return self._network.verifier

    @property
    def servers(self) -> Mapping[str, Port]:
        """Return the servers by name."""
        return dict(self._network.servers)

    def tenant(self, name: str) -> Tenant:
        """Return a handle on a tenant: weight, hold, status."""
        return Tenant(self._network, name)

    def largest_tenants(self, most: int = 3) -> list[TenantLoad]:
        """Return the tenants that have the most ready jobs, at most 20, of those next in turn."""
        return self._network.do(largest_tenants(self.config, most))

    @property
    def limits(self) -> Limits:
        """Return the limits of the queue: set, pause, resume, remove, get, list."""
        return Limits(self._network)

    def log(
        self,
        *,
        since: datetime | timedelta | None = None,
        until: datetime | timedelta | None = None,
        kinds: Collection[LogKind | str] = (),
        most: int = 1000,
    ) -> list[LogEntry]:
        """Return operator actions and events of the queue, in the order of their times.

        since, until: a datetime, or a timedelta: that long ago. kinds: such as "act"; all if none
        is named. most: the newest so many. What producers and handlers do to jobs is not in it.
        """
        from queuepool.client import log  # rarely needed

        return self._network.do(log.read(self.config, since, until, kinds, most))

    def doctor(self) -> Verdict:
        """Return what is wrong with the queue, by a single look at its servers.

        What shows only over time is named as not judged; a coordinator judges that, too.
        """
        from queuepool.client.checkup import observed  # rarely needed, and large
        from queuepool.telemetry.doctor import judge

        return judge(self._network.do(observed(self.config)))
