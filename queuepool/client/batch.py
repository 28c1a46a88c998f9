"""Handles on batches: status, tree, results, cancellation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from queuepool.client.batching import ask_home
from queuepool.client.effects import Call, Steps
from queuepool.client.flows.cancelling import cancel_all
from queuepool.client.flows.trees import tree_of
from queuepool.client.handles import AsyncJobHandle, JobHandle
from queuepool.client.network import AsyncNetwork, Network
from queuepool.client.questions import ask, following
from queuepool.client.waiting import wait_for
from queuepool.errors import InvalidInputError, UnavailableError
from queuepool.errors.escaping import shown
from queuepool.models import JobId
from queuepool.models.flows import BatchResult, BatchState, BatchStatus, BatchTree
from queuepool.protocol.batches import MAX_JOBS, home_of_batch, is_batch
from queuepool.routing.views import View
from queuepool.settings.config import PoolConfig
from queuepool.verbs.flows import verbs as flow

_PAGE, _AHEAD = 128, 4  # results in a page; pages asked for in one round trip


class _Page(NamedTuple):
    """Results of a batch. steps: instead, where they are, of a batch whose jobs are steps."""

    found: list[BatchResult]
    more: bool
    steps: tuple[tuple[str, str], ...] = ()

    def sources(self, source: str, step: str | None) -> list[tuple[str, str]]:
        """Return the steps to read instead. Raises InvalidInputError if that one is none."""
        found = [each for each in self.steps if step in (None, each[0])]
        if step is not None and not source and not found:
            names = ", ".join(name for name, _batch in self.steps) or "it is not part of a flow"
            raise InvalidInputError(f"this job does not follow step {shown(step)}: {names}")
        return found

    def of(self, step: str) -> list[BatchResult]:
        """Return the results, of jobs of this step."""
        return [replace(each, step=step) for each in self.found] if step else self.found


class _Batch:
    """What the handles of both pools share."""

    __slots__ = ("_network", "name")
    _network: Any

    def __init__(self, network: Any, name: str) -> None:
        if not is_batch(str(name)):
            raise InvalidInputError(
                f"{shown(name)} is not a batch: use the name that enqueue_many(...).batch has, or "
                "the id of its continuation"
            )
        self._network, self.name = network, str(name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _status(self, name: str) -> Steps[BatchStatus]:
        found: BatchStatus = yield from ask_home(self._network.config, name, flow.batch(name))
        return found

    def _wait(self, timeout_s: float) -> Steps[BatchStatus]:
        def left(status: BatchStatus) -> str:
            jobs = f"{status.left:,} of {status.total:,} jobs"
            return f"batch {self.name} is open: {jobs} have not ended"

        return wait_for(
            partial(self._status, self.name),
            timeout_s,
            has_ended=lambda status: status.state is not BatchState.OPEN,
            left=left,
        )

    def _pages(self, name: str, first: int) -> Steps[_Page]:
        """Return results of a batch from a number on."""
        config: PoolConfig = self._network.config
        return (yield from following(config, partial(self._pages_by, config, name, first)))

    def _pages_by(self, config: PoolConfig, name: str, first: int, view: View) -> Steps[_Page]:
        slot, pool = home_of_batch(name)
        partition, version = view.place_of_slot(slot), view.version_for(slot)
        starts = [first, *(first - first % _PAGE + k * _PAGE for k in range(1, _AHEAD))]
        asked = [flow.batch_results(name, n) for n in starts if n < MAX_JOBS]
        verbs = [flow.by_route(verb, version) for verb in asked]
        replies = yield Call(partition, verbs, pool=pool)
        if isinstance(replies, UnavailableError):
            pages = [(yield from ask(config.of(pool), partition, verbs[0]))]  # until it is answered
        else:
            pages = [verb.read(reply) for verb, reply in zip(verbs, replies, strict=True)]
        found: list[BatchResult] = []
        following, total = first, 0
        for start, page in zip(starts, pages, strict=False):
            if start != following:
                break  # the page before was cut by its bytes
            if page.state is BatchState.UNKNOWN:
                raise InvalidInputError(
                    f"there is no batch {name}: it has expired or never existed"
                )
            if page.steps:
                return _Page([], False, page.steps)
            found += page.found
            following, total = page.next_number, page.total
            if following >= total:
                break
        return _Page(found, following < total)

    def _cancel(self) -> Steps[int]:
        return cancel_all(self._network.config, self.name)


class Batch(_Batch):
    """The jobs of one call and their continuation: `status()`, `results()`, `cancel()`.

    >>> after = After("greet", {"name": "all"}, on_failure="partial", deadline_s=3600)
    >>> rows = [{"name": "Ada"}, {"name": "Grace"}]
    >>> results = pool.enqueue_many("greet", rows, partition_key="album-7", then=after)
    >>> results.batch.wait(timeout_s=10).done
    2
    >>> [each.result for each in results.batch.results()]
    ['Hello, Ada', 'Hello, Grace']
    >>> results.batch.continuation.result(timeout_s=10)
    'Hello, all'
    """

    __slots__ = ()
    _network: Network

    @property
    def continuation(self) -> JobHandle:
        """Return the handle of the job that follows. Asks the server nothing unless it is inner."""
        return JobHandle(self._network, JobId(self.status().job_id or self.name), None)

    def status(self) -> BatchStatus:
        """Return how many of its jobs have ended, and what it has concluded."""
        return self._network.do(self._status(self.name))

    def tree(self) -> BatchTree:
        """Return its status and that of the batches in it, at most 1,000 of them."""
        return self._network.do(tree_of(self._network.config, self.name))

    def wait(self, *, timeout_s: float = 30.0) -> BatchStatus:
        """Wait until it has concluded: its continuation was let go, died or was cancelled.

        Raises WaitTimeoutError.
        """
        return self._network.do(self._wait(timeout_s))

    def results(self, step: str | None = None) -> Iterator[BatchResult]:
        """Iterate over how its jobs have ended so far, by their numbers; a few pages in memory.

        step: of a batch whose jobs are steps of a flow, only those of this one.
        Raises InvalidInputError if there is no such batch any more.
        """
        left = [("", self.name)]
        while left:
            (source, name), first, more = left.pop(0), 0, True
            while more:
                page = self._network.do(self._pages(name, first))
                left += page.sources(source, step)
                yield from page.of(source)
                first, more = first + len(page.found), page.more

    def cancel(self) -> int:
        """Cancel it, its continuation, and its jobs that have not ended, in all partitions.

        Also batches in it. Returns how many jobs were cancelled or asked to stop. Looks at every
        job of every partition. Raises UnavailableError if it cannot reach all of them: call it
        again.
        """
        return self._network.do(self._cancel())


class AsyncBatch(_Batch):
    """The jobs of one call and their continuation, for asyncio: the methods of Batch, awaited."""

    __slots__ = ()
    _network: AsyncNetwork

    async def continuation(self) -> AsyncJobHandle:
        """Return the handle of the job that follows."""
        job_id = (await self.status()).job_id or self.name
        return AsyncJobHandle(self._network, JobId(job_id), None)

    async def status(self) -> BatchStatus:
        """Return how many of its jobs have ended, and what it has concluded."""
        return await self._network.do(self._status(self.name))

    async def tree(self) -> BatchTree:
        """Return its status and that of the batches in it."""
        return await self._network.do(tree_of(self._network.config, self.name))

    async def wait(self, *, timeout_s: float = 30.0) -> BatchStatus:
        """Wait until it has concluded. Raises WaitTimeoutError."""
        return await self._network.do(self._wait(timeout_s))

    async def results(self, step: str | None = None) -> AsyncIterator[BatchResult]:
        """Iterate over how its jobs have ended so far, by their numbers."""
        left = [("", self.name)]
        while left:
            (source, name), first, more = left.pop(0), 0, True
            while more:
                page = await self._network.do(self._pages(name, first))
                left += page.sources(source, step)
                for each in page.of(source):
                    yield each
                first, more = first + len(page.found), page.more

    async def cancel(self) -> int:
        """Cancel it, its continuation, and its jobs that have not ended; returns how many."""
        return await self._network.do(self._cancel())
