"""A keyspace in memory whose route changes: what a leader will do, by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from queuepool import AsyncQueuePool, PoolConfig, QueuePool
from queuepool.routing.ranges import slots_text
from queuepool.routing.slots import SLOTS, slot_of
from queuepool.routing.topology import Topology
from queuepool.routing.views import TABLE, table_text
from queuepool.servers import Reply
from queuepool.testing import FakeClock, MemoryServer
from queuepool.testing.server import AsyncMemoryServer
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead

OF_ALL = range(SLOTS)


class Space(MemoryServer):
    """A server with a keyspace of so many partitions. before: called before each call is run."""

    def __init__(self, partitions: int = 4) -> None:
        super().__init__(FakeClock())
        self.asked: list[str] = []
        self.before: Callable[[str], None] = lambda _script: None
        self.table = [slot % partitions for slot in range(SLOTS)]
        self.partitions, self.version = partitions, 1
        self.home = self.pool(partitions)
        self.home.group("g").status()
        self.home.route.read()

    def pool(self, partitions: int, **more: Any) -> QueuePool:
        """Return a pool, as configured with a count that may be out of date."""
        return QueuePool(config=self.config(partitions, **more), servers={"m": self})

    def aio(self, partitions: int, **more: Any) -> AsyncQueuePool:
        """Return an asyncio pool over the same jobs."""
        servers = {"m": AsyncMemoryServer(self)}
        return AsyncQueuePool(config=self.config(partitions, **more), servers=servers)

    def config(self, partitions: int, **more: Any) -> PoolConfig:
        topology = Topology({"m": "memory:"}, ("m",) * partitions)
        return PoolConfig(topology=topology, **({"retry_for_s": 0.0} | more))

    def run_many(self, calls: Sequence[tuple[bytes, Verb[Any]]]) -> list[Reply]:
        replies: list[Reply] = []
        for key, verb in calls:
            self.before(verb.script)
            self.asked.append(verb.script)
            replies += super().run_many([(key, verb)])
        return replies

    @property
    def record(self) -> dict[bytes, bytes]:
        """Return the route record as stored."""
        return self._systems[self.home.config.keyspace.system()].route

    def move(self, slots: Sequence[int], to: int, *, on_the_way: bool = False) -> None:
        """Change the record, and tell the partitions that lose slots."""
        losers = {self.table[slot] for slot in slots}
        self.version += 1
        if not on_the_way:
            for slot in slots:
                self.table[slot] = to
            self.partitions = max(self.partitions, to + 1)
        self.record.update(
            {
                b"version": b"%d" % self.version,
                b"partitions": b"%d" % self.partitions,
                b"layout": TABLE.encode(),
                b"slots": table_text(self.table).encode(),
                b"moving": slots_text(slots if on_the_way else ()).encode(),
            }
        )
        for loser in losers - {to}:
            key = self.home.config.keyspace.partition(loser)
            super().run_many([(key, lead.turn_away(self.version))])

    def ids(self, partition: int) -> list[str]:
        """Return the ids of the jobs of a partition, in the order of their lanes."""
        data = self.data(self.home.config.keyspace.partition(partition))
        return [job_id.decode() for lane in data.lanes.values() for job_id in lane]


def of(key: str) -> list[int]:
    """Return the slot of a key, alone."""
    return [slot_of(key.encode())]
