"""Handles on flows: status of each step, results, cancellation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from queuepool.client.batch import AsyncBatch, Batch
from queuepool.client.flows.looking import status_of, step_batch, waited
from queuepool.client.network import AsyncNetwork, Network
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models.flows import BatchResult, FlowStatus
from queuepool.protocol.batches import is_batch


class _Handle:
    """What the handles of both pools share."""

    __slots__ = ("_network", "name")
    _network: Any

    def __init__(self, network: Any, name: str) -> None:
        if not is_batch(str(name)):
            raise InvalidInputError(
                f"{shown(name)} is not a flow: use the name that enqueue_flow(...) returned"
            )
        self._network, self.name = network, str(name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class FlowHandle(_Handle):
    """A flow that was enqueued: `status()`, `wait()`, `results(step)`, `cancel()`.

    >>> flow = Flow("hello", partition_key="hello").add("greet", {"name": "Ada"}, name="first")
    >>> handle = pool.enqueue_flow(flow.add("greet", {"name": "Eve"}, name="then", after="first"))
    >>> print(handle.wait(timeout_s=10).state)
    done
    >>> [each.result for each in handle.results("then")]
    ['Hello, Eve']
    """

    __slots__ = ()
    _network: Network

    def status(self) -> FlowStatus:
        """Return what each step does."""
        return self._network.do(status_of(self._network.config, self.name))

    def wait(self, *, timeout_s: float = 30.0) -> FlowStatus:
        """Wait until all steps have ended. Raises WaitTimeoutError."""
        return self._network.do(waited(self._network.config, self.name, timeout_s))

    def results(self, step: str) -> Iterator[BatchResult]:
        """Iterate over how the jobs of a step have ended so far, by their numbers."""
        batch = self._network.do(step_batch(self._network.config, self.name, step))
        return Batch(self._network, batch).results()

    def cancel(self) -> int:
        """Cancel all that has not run; return how many jobs were cancelled or asked to stop.

        Looks at every job of every partition.
        """
        return Batch(self._network, self.name).cancel()


class AsyncFlowHandle(_Handle):
    """A flow that was enqueued, for asyncio: the methods of FlowHandle, awaited."""

    __slots__ = ()
    _network: AsyncNetwork

    async def status(self) -> FlowStatus:
        """Return what each step does."""
        return await self._network.do(status_of(self._network.config, self.name))

    async def wait(self, *, timeout_s: float = 30.0) -> FlowStatus:
        """Wait until all steps have ended. Raises WaitTimeoutError."""
        return await self._network.do(waited(self._network.config, self.name, timeout_s))

    async def results(self, step: str) -> AsyncIterator[BatchResult]:
        """Iterate over how the jobs of a step have ended so far, by their numbers."""
        batch = await self._network.do(step_batch(self._network.config, self.name, step))
        async for each in AsyncBatch(self._network, batch).results():
            yield each

    async def cancel(self) -> int:
        """Cancel all that has not run; return how many jobs."""
        return await AsyncBatch(self._network, self.name).cancel()
