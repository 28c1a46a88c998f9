"""While a Redis Cluster moves a partition's slot, the partition waits and nothing is torn."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from queuepool import PoolConfig, QueuePool, UnavailableError
from queuepool.process.embedded import EmbeddedServer
from queuepool.routing.topology import single
from queuepool.verbs.owner import verbs as own
from tests.waiting import wait_until

ARGUMENTS = ("--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf")
GROUPS = [f"group-{n}" for n in range(5)]
WEIGHTS = (6, 3, 2, 1)


def _client(server: EmbeddedServer) -> Any:
    return redis.Redis.from_url(server.url)


def _info(node: Any) -> str:
    info = node.execute_command("CLUSTER", "INFO")
    return info.decode() if isinstance(info, bytes) else str(info)


class Nodes:
    """Two nodes of a cluster; the first has all slots."""

    def __init__(self, source: EmbeddedServer, target: EmbeddedServer) -> None:
        self.source, self.target = source, target
        self.a, self.b = _client(source), _client(target)
        self.a.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        self.a.execute_command("CLUSTER", "SET-CONFIG-EPOCH", 1)
        self.b.execute_command("CLUSTER", "SET-CONFIG-EPOCH", 2)
        self.a.execute_command("CLUSTER", "MEET", "127.0.0.1", target.port)
        wait_until(
            lambda: all("cluster_state:ok" in _info(node) for node in (self.a, self.b)),
            message="a cluster of two",
        )

    def begin(self, base: bytes) -> int:
        """Begin to move the slot of a key; return the slot."""
        slot = int(self.a.execute_command("CLUSTER", "KEYSLOT", base))
        ids = [node.execute_command("CLUSTER", "MYID") for node in (self.a, self.b)]
        self.b.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0])
        self.a.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1])
        return slot

    def move(self, key: bytes) -> None:
        """Move one key."""
        self.a.execute_command("MIGRATE", "127.0.0.1", self.target.port, key, 0, 60_000)

    def end(self, slot: int) -> None:
        """Give the slot to the second node."""
        owner = self.b.execute_command("CLUSTER", "MYID")
        for node in (self.b, self.a):
            node.execute_command("CLUSTER", "SETSLOT", slot, "NODE", owner)

    def contents(self, base: bytes) -> dict[bytes, bytes]:
        """Return every key of a partition that the first node holds."""
        return {key: self.a.dump(key) for key in self.a.keys("*") if key.startswith(base)}


@pytest.fixture
def nodes(engine_binary: Path) -> Iterator[Nodes]:
    with (
        EmbeddedServer(extra_args=ARGUMENTS, binary=engine_binary) as source,
        EmbeddedServer(extra_args=ARGUMENTS, binary=engine_binary) as target,
    ):
        made = Nodes(source, target)
        yield made
        made.a.close()
        made.b.close()


def test_a_partition_whose_slot_moves_waits_and_loses_nothing(nodes: Nodes) -> None:
    url = nodes.source.url.replace("redis://", "redis+cluster://")
    config = PoolConfig(topology=single(url, 1), retry_for_s=0.2)
    with QueuePool(config=config) as pool:
        for group in GROUPS:
            pool.enqueue("t", {}, partition_key=group)
        partition = pool.partition(0)
        owned = partition.acquire(lease_s=60)
        assert not isinstance(owned, own.Held)
        claim = own.claim(owned.ownership, 10, starting=10, promote_after_ms=0, weights=WEIGHTS)

        slot = nodes.begin(partition.key)
        nodes.move(partition.key + b":q:2:group-3")
        before = nodes.contents(partition.key)
        with pytest.raises(UnavailableError):
            owned.run(claim)
        with pytest.raises(UnavailableError):
            pool.enqueue("t", {}, partition_key="group-3")
        assert nodes.contents(partition.key) == before

        for key in before:
            nodes.move(key)
        nodes.end(slot)
        assert len(owned.run(claim).ids) == len(GROUPS)
        assert partition.audit().clean
