"""Calls to other partitions in a simulation, beside the turns, and their answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from consumer.core.remote_call import RemoteCall, ToLimit, ToPartition, ToSlot
from queuepool.errors import QueuePoolError
from queuepool.routing.slots import home_of, partition_of
from queuepool.servers import Reply
from tests.simulation.network import Answer, Network
from tests.simulation.scheduler import Process


class SimulatedRemoteCalls:
    """What RemoteCalls of consumer.loop is to a real consumer. keys: of the partitions."""

    def __init__(
        self, process: Process, network: Network, keys: Sequence[bytes], ring: Callable[[], None]
    ) -> None:
        self._process, self._network, self._keys, self._ring = process, network, keys, ring
        self._replies: list[tuple[RemoteCall, Reply]] = []

    def send(self, calls: Sequence[RemoteCall]) -> None:
        """Send each call on its own; the network may change their order."""
        for call in calls:
            for number, placed in self._placed(call):
                self._send(number, placed)

    def take_replies(self) -> list[tuple[RemoteCall, Reply]]:
        """Return what was answered since the last call."""
        found, self._replies = self._replies, []
        return found

    def _placed(self, call: RemoteCall) -> list[tuple[int, RemoteCall]]:
        to, count = call.to, len(self._keys)
        if isinstance(to, ToLimit):
            return [(home_of(to.name, count), call)]
        if isinstance(to, ToSlot):
            return [(partition_of(to.slot, count), call)]
        if isinstance(to, ToPartition):
            return [(to.number, call)]
        return [(number, replace(call, to=ToPartition(number))) for number in range(count)]

    def _send(self, number: int, call: RemoteCall) -> None:
        def answered(answer: Answer) -> None:
            reply = answer if isinstance(answer, QueuePoolError) else answer[0]
            self._replies.append((call, reply))
            self._ring()

        calls = [(self._keys[number], call.verb)]
        self._network.call(self._process, calls, answered, home=True)
