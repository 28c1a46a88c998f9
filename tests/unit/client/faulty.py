"""A server whose network fails by a script: what is sent, what arrives, and what is answered.

Each call of `enqueue` takes the next word of the plan; when the plan is over, all goes well.

    ok     executed and answered
    cut    never arrived; the caller hears nothing
    lost   executed; the answer never arrived
    oom    refused by the server: nothing was written
    drain  executed, and right afterwards everything in the partition was run: workers were quick
    lost and drained    both
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from queuepool import PoolConfig, QueuePool, UnavailableError
from queuepool.partitions.partition import OwnedPartition, Partition
from queuepool.routing.topology import Topology
from queuepool.servers import Reply
from queuepool.testing import FakeClock, MemoryServer
from queuepool.verbs import Verb
from tests.contract import world as w

NO_ANSWER = "faulty: the connection was cut"


class FaultyServer(MemoryServer):
    """MemoryServer behind a network that fails as planned. calls: verbs that were sent."""

    def __init__(self, plan: Iterable[str] = ()) -> None:
        super().__init__(FakeClock(), name="faulty")
        self.plan = deque(plan)
        self.calls: list[str] = []
        self.streams = 0
        self.most_streams = 0

    def run_many(self, calls: Sequence[tuple[bytes, Verb[Any]]]) -> list[Reply]:
        return [self._deliver(key, verb) for key, verb in calls]

    def stream(self, key: bytes, window: int) -> Any:
        return FaultyStream(self, key)

    def _deliver(self, key: bytes, verb: Verb[Any]) -> Reply:
        if (
            verb.script in ("route", "peek") or b"HGETALL" in verb.args[:1]
        ):  # the plan is about enqueues
            return super().run_many([(key, verb)])[0]
        self.calls.append(verb.script)
        word = self.plan.popleft() if self.plan else "ok"
        if word == "cut":
            raise UnavailableError(NO_ANSWER)
        if word == "oom":
            return UnavailableError("faulty: out of memory")
        reply = super().run_many([(key, verb)])[0]
        if "drain" in word:
            run_all(Partition(0, key, MemoryView(self)))
        if "lost" in word:
            raise UnavailableError(NO_ANSWER)
        return reply


class MemoryView(MemoryServer):
    """The same data by a network that never fails."""

    def __init__(self, server: FaultyServer) -> None:
        super().__init__(server._clock)
        self._partitions = server._partitions


class FaultyStream:
    """What is pushed arrives at once, or not; a failure shows when replies are read."""

    def __init__(self, server: FaultyServer, key: bytes) -> None:
        self._server, self._key = server, key
        self._replies: deque[Any] = deque()
        self._open = self._broken = False
        self._opened()

    def push(self, verb: Verb[Any]) -> None:
        if self._broken:  # bytes sent into a dead connection arrive nowhere
            self._replies.append(UnavailableError(NO_ANSWER))
            return
        try:
            self._replies.append(self._server._deliver(self._key, verb))
        except UnavailableError as error:
            self._broken = True
            self._replies.append(error)

    def pull(self) -> Reply:
        reply = self._replies.popleft()
        if isinstance(reply, UnavailableError) and str(reply) == NO_ANSWER:
            self.close()
            raise reply
        return reply

    def hurry(self, timeout_s: float) -> None:
        """Do nothing: every reply is here."""

    def close(self) -> None:
        if self._open:
            self._open = False
            self._server.streams -= 1

    def _opened(self) -> None:
        self._open = True
        self._server.streams += 1
        self._server.most_streams = max(self._server.most_streams, self._server.streams)


def faulty_pool(
    plan: Iterable[str] = (), *, partitions: int = 1, retry_for_s: float = 5.0, **limits: Any
) -> tuple[QueuePool, FaultyServer]:
    """Return a pool on a faulty server. Pauses are real: repeat a fault a few times at most."""
    server = FaultyServer(plan)
    config = PoolConfig(
        topology=Topology({"m": "memory:"}, ("m",) * partitions),
        retry_for_s=retry_for_s,
        **limits,
    )
    return QueuePool(config=config, servers={"m": server}), server


def stored(server: FaultyServer, number: int = 0) -> list[str]:
    """Return the ids of ready jobs in the order in which they would run, one group assumed."""
    key = b"/dev/queue/{partition_%d}/main" % number
    owned = Partition(number, key, MemoryView(server)).acquire(lease_s=60, nonce="worker")
    assert isinstance(owned, OwnedPartition)
    order: list[str] = []
    while True:
        claims = w.claim(owned, 200)
        if not claims.taken:
            return order
        order += [i.decode() for i in claims.ids]


def run_all(partition: Partition) -> None:
    """Claim and finish every ready job."""
    owned = partition.acquire(lease_s=60, nonce="worker")
    assert isinstance(owned, OwnedPartition)
    w.drain(owned)
