"""A Redis Cluster of real nodes on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import redis
from redis.crc import key_slot

from queuepool.process.embedded import EmbeddedServer
from tests.replicas import PROMPT
from tests.waiting import wait_until

SLOTS = 16384
ARGUMENTS = (
    "--cluster-enabled", "yes",
    "--cluster-config-file", "nodes.conf",
    "--cluster-node-timeout", "2000",
    "--cluster-require-full-coverage", "no",
    "--appendfsync", "always",  # a node that is killed during a sync would lose what came meanwhile
    *PROMPT,
)  # fmt: skip


class LocalCluster:
    """Nodes that share all slots evenly, in order. Primaries only."""

    def __init__(self, nodes: Sequence[EmbeddedServer]) -> None:
        self.nodes = nodes
        self.clients: list[Any] = [redis.Redis.from_url(node.url) for node in nodes]

    @property
    def url(self) -> str:
        """The URL of the whole, by its first node."""
        return self.nodes[0].url.replace("redis://", "redis+cluster://")

    def form(self) -> None:
        """Give every node its slots and make them meet; returns when all agree."""
        per_node = SLOTS // len(self.nodes) + 1
        for n, client in enumerate(self.clients):
            first, last = n * per_node, min((n + 1) * per_node, SLOTS) - 1
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", first, last)
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", n + 1)
        for client in self.clients[1:]:
            client.execute_command("CLUSTER", "MEET", "127.0.0.1", self.nodes[0].port)
        self.wait_until_whole()

    def wait_until_whole(self) -> None:
        """Return when every node sees all slots served."""
        wait_until(lambda: all(map(self._is_whole, self.clients)), 60.0, "a whole cluster")

    def _is_whole(self, client: Any) -> bool:
        try:
            state = str(client.execute_command("CLUSTER", "INFO"))
            ranges = client.execute_command("CLUSTER", "SLOTS")
        except redis.RedisError:
            return False
        return (
            "cluster_state:ok" in state
            and f"cluster_slots_ok:{SLOTS}" in state
            and len(ranges) >= len(self.nodes)
        )

    def place_of(self, key: bytes) -> int:
        """Return which node has a key, as the first one sees it."""
        slot = key_slot(key)
        names = [str(self._id(client)) for client in self.clients]
        for first, last, (_host, _port, name, *_rest), *_replicas in self.clients[
            0
        ].execute_command("CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return names.index(_text(name))
        raise AssertionError(f"nobody has slot {slot}")

    def move(self, key: bytes) -> int:
        """Give the slot of a key to the next node, without what is in it; return which that is."""
        slot, source = key_slot(key), self.place_of(key)
        lost = self.clients[source].execute_command("CLUSTER", "GETKEYSINSLOT", slot, 10_000)
        if lost:
            self.clients[source].delete(*lost)
        target = (source + 1) % len(self.clients)
        name = self._id(self.clients[target])
        order = [target, *(n for n in range(len(self.clients)) if n != target)]
        for n in order:
            self.clients[n].execute_command("CLUSTER", "SETSLOT", slot, "NODE", name)
        return target

    def close(self) -> None:
        """Close what watches the nodes."""
        for client in self.clients:
            client.close()

    def _id(self, client: Any) -> str:
        return _text(client.execute_command("CLUSTER", "MYID"))


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


@contextmanager
def local_cluster(binary: Path, directory: Path, nodes: int = 3) -> Iterator[LocalCluster]:
    """Run a cluster; its nodes keep their data over a restart, and over a kill."""
    with ExitStack() as running:
        servers = [
            running.enter_context(
                EmbeddedServer(directory / f"node-{n}", extra_args=ARGUMENTS, binary=binary)
            )
            for n in range(nodes)
        ]
        cluster = LocalCluster(servers)
        running.callback(cluster.close)
        cluster.form()
        yield cluster
