"""The homes of limits in a simulation: calls that go there beside the turns, and their answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from consumer.core.limits.earlier import EVERY
from consumer.core.limits.home_call import HomeCall
from queuepool.errors import QueuePoolError
from queuepool.routing.slots import home_of, partition_of
from queuepool.servers import Reply
from tests.simulation.network import Answer, Network
from tests.simulation.scheduler import Process


class SimulatedHomes:
    """What LimitHomes of consumer.loop is to a real consumer. keys: of the partitions."""

    def __init__(
        self, process: Process, network: Network, keys: Sequence[bytes], ring: Callable[[], None]
    ) -> None:
        self._process, self._network, self._keys, self._ring = process, network, keys, ring
        self._replies: list[tuple[HomeCall, Reply]] = []

    def send(self, calls: Sequence[HomeCall]) -> None:
        """Send each call on its own; the network may change their order."""
        for call in calls:
            for placed in self._placed(call):
                self._send(placed)

    def take_replies(self) -> list[tuple[HomeCall, Reply]]:
        """Return what was answered since the last call."""
        found, self._replies = self._replies, []
        return found

    def _placed(self, call: HomeCall) -> list[HomeCall]:
        if call.name:
            return [replace(call, partition=home_of(call.name, len(self._keys)))]
        if call.slot is not None:
            return [replace(call, partition=partition_of(call.slot, len(self._keys)))]
        numbers = range(len(self._keys)) if call.partition == EVERY else [call.partition]
        return [replace(call, partition=number) for number in numbers]

    def _send(self, call: HomeCall) -> None:
        def answered(answer: Answer) -> None:
            reply = answer if isinstance(answer, QueuePoolError) else answer[0]
            self._replies.append((call, reply))
            self._ring()

        calls = [(self._keys[call.partition], call.verb)]
        self._network.call(self._process, calls, answered, home=True)
