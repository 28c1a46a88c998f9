"""`pool.inspect`: find jobs, see what runs and fails, change and replay; sync and asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Unpack

from queuepool.client import changing, finding
from queuepool.client.inspect_steps import InspectSteps, Where
from queuepool.client.network import AsyncNetwork, Network
from queuepool.models import JobState, JobStatus
from queuepool.models.finding import Changed, Digest, ErrorCount, RunningJob
from queuepool.models.groups import GroupLoad, GroupOrder
from queuepool.models.history import PastRun

_PAGE = 200


class Inspect(InspectSteps):
    """What is in the queue. Holds no state: each call asks the servers, in bounded steps.

    >>> _ = pool.enqueue("greet", {"name": "Ada"}, partition_key="welcome-7", delay_s=3600)
    >>> [job.task for job in pool.inspect.find("delayed", task="greet")]
    ['greet']
    >>> pool.inspect.count("dead"), pool.inspect.errors()
    (0, [])
    """

    _network: Network

    def find(
        self, state: JobState | str | None = None, **where: Unpack[Where]
    ) -> Iterator[JobStatus]:
        """Iterate over the jobs in a state, or in all, that match, read a page at a time.

        Dead and delayed ones come with the latest first (`newest`), over all partitions. Jobs that
        change their place meanwhile may be missed or seen twice.
        """
        steps = self.walk(state, where)
        walk = self._network.do(steps)
        while page := self._network.do(walk.page(_PAGE)):
            yield from page

    def count(self, state: JobState | str | None = None, **where: Unpack[Where]) -> int:
        """Return how many jobs `find` would find."""
        return self._network.do(self._count(state, where))

    def running(self, *, partition: int | None = None, most: int = 1000) -> list[RunningJob]:
        """Return the jobs that run, those that have run longest first; of 10,000 at most."""
        return self._network.do(
            finding.running(self._network.config, partition=partition, most=most)
        )

    def history(
        self,
        job_id: str,
        *,
        partition_key: str | bytes | None = None,
        tenant: str | None = None,
        most: int = 100,
    ) -> list[PastRun]:
        """Return the latest executions of a job that are on record, the earliest first.

        Consumers keep them as their setting CONSUMER_HISTORY_KEEP_BYTES says; by default none.
        """
        return self._network.do(self._history(job_id, partition_key, tenant, most))

    def errors(
        self, *, partition: int | None = None, sample: int = finding.SAMPLE
    ) -> list[ErrorCount]:
        """Return the errors of dead and retrying jobs by fingerprint, the commonest first.

        sample: if there are more jobs than this, the counts follow from so many, evenly spread.
        """
        return self._network.do(
            finding.errors(self._network.config, partition=partition, sample=sample)
        )

    def digest(self, *, partition: int | None = None, sample: int = finding.SAMPLE) -> Digest:
        """Return the dead jobs in short: how many, since when, of which tasks, why."""
        return self._network.do(
            finding.digest(self._network.config, partition=partition, sample=sample)
        )

    def groups(
        self,
        *,
        order: GroupOrder | str = GroupOrder.SIZE,
        limit: int = 20,
        partition: int | None = None,
        pool: str | None = None,
    ) -> list[GroupLoad]:
        """Return the largest task groups of all partitions, or with order="age" the oldest.

        limit: at most 10,000. Size is the number of jobs left. Groups that change meanwhile may be
        missed, and small ones whose jobs are all delayed, beside more than 10,000 delayed jobs of
        their partition. pool: only of this one; otherwise of each, which is
        counted apart.

        >>> pool.enqueue_many("greet", [{"name": "Ada"}] * 3, partition_key="bulk-7").accepted
        3
        >>> pool.inspect.groups(order="size", limit=1)[0].total >= 3
        True
        """
        return self._network.do(self._groups(order, limit, partition, pool))

    def replay(
        self,
        *,
        most: int | None = None,
        rate: float | None = None,
        dry_run: bool = False,
        **where: Unpack[Where],
    ) -> Changed:
        """Run dead jobs that match again, with attempts reset, in the order of their deaths.

        newest: the latest first. most: how many at most. rate: how many a second. dry_run: only
        count them.
        """
        return self._network.do(self._change(changing.replay, most, rate, dry_run, where))

    def discard(
        self,
        *,
        most: int | None = None,
        rate: float | None = None,
        dry_run: bool = False,
        **where: Unpack[Where],
    ) -> Changed:
        """Delete dead jobs that match permanently; the arguments are those of `replay`."""
        return self._network.do(self._change(changing.discard, most, rate, dry_run, where))

    def run(
        self, job_id: str, *, partition_key: str | bytes | None = None, tenant: str | None = None
    ) -> JobState:
        """Run a job as soon as it may, although it is delayed or dead; returns what it was.

        Nothing changes for one that is ready or runs. Raises UnchangeableJobError, an
        InvalidInputError, if it is not there, or another job holds its unique key.
        """
        return self._network.do(self._run(job_id, partition_key, tenant))

    def edit(
        self,
        job_id: str,
        payload: Mapping[str, Any],
        *,
        partition_key: str | bytes | None = None,
        tenant: str | None = None,
    ) -> JobState:
        """Give a job that does not run other arguments; returns the state that it is in.

        Its id, place, tier, limits and unique key stay. Raises UnchangeableJobError if it runs or
        is not there, InvalidInputError if its task, where it is registered, takes no such
        arguments. A dead job stays dead until `run`.
        """
        return self._network.do(self._edit(job_id, payload, partition_key, tenant))


class AsyncInspect(InspectSteps):
    """What is in the queue, for asyncio: the methods of Inspect, awaited; `find` is iterated."""

    _network: AsyncNetwork

    async def find(
        self, state: JobState | str | None = None, **where: Unpack[Where]
    ) -> AsyncIterator[JobStatus]:
        """Iterate over the jobs that match, as Inspect.find does."""
        walk = await self._network.do(self.walk(state, where))
        while page := await self._network.do(walk.page(_PAGE)):
            for job in page:
                yield job

    async def count(self, state: JobState | str | None = None, **where: Unpack[Where]) -> int:
        """Return how many jobs `find` would find."""
        return await self._network.do(self._count(state, where))

    async def running(self, *, partition: int | None = None, most: int = 1000) -> list[RunningJob]:
        """Return the jobs that run, those that have run longest first."""
        return await self._network.do(
            finding.running(self._network.config, partition=partition, most=most)
        )

    async def history(
        self,
        job_id: str,
        *,
        partition_key: str | bytes | None = None,
        tenant: str | None = None,
        most: int = 100,
    ) -> list[PastRun]:
        """Return the latest executions of a job that are on record, the earliest first."""
        return await self._network.do(self._history(job_id, partition_key, tenant, most))

    async def errors(
        self, *, partition: int | None = None, sample: int = finding.SAMPLE
    ) -> list[ErrorCount]:
        """Return the errors of dead and retrying jobs, as Inspect.errors does."""
        return await self._network.do(
            finding.errors(self._network.config, partition=partition, sample=sample)
        )

    async def digest(self, *, partition: int | None = None, sample: int = finding.SAMPLE) -> Digest:
        """Return the dead jobs in short."""
        return await self._network.do(
            finding.digest(self._network.config, partition=partition, sample=sample)
        )

    async def groups(
        self,
        *,
        order: GroupOrder | str = GroupOrder.SIZE,
        limit: int = 20,
        partition: int | None = None,
        pool: str | None = None,
    ) -> list[GroupLoad]:
        """Return the largest or the oldest task groups, as Inspect.groups does."""
        return await self._network.do(self._groups(order, limit, partition, pool))

    async def replay(
        self,
        *,
        most: int | None = None,
        rate: float | None = None,
        dry_run: bool = False,
        **where: Unpack[Where],
    ) -> Changed:
        """Run dead jobs that match again, as Inspect.replay does."""
        return await self._network.do(self._change(changing.replay, most, rate, dry_run, where))

    async def discard(
        self,
        *,
        most: int | None = None,
        rate: float | None = None,
        dry_run: bool = False,
        **where: Unpack[Where],
    ) -> Changed:
        """Delete dead jobs that match permanently, as Inspect.discard does."""
        return await self._network.do(self._change(changing.discard, most, rate, dry_run, where))

    async def run(
        self, job_id: str, *, partition_key: str | bytes | None = None, tenant: str | None = None
    ) -> JobState:
        """Run a job as soon as it may, as Inspect.run does; returns what it was."""
        return await self._network.do(self._run(job_id, partition_key, tenant))

    async def edit(
        self,
        job_id: str,
        payload: Mapping[str, Any],
        *,
        partition_key: str | bytes | None = None,
        tenant: str | None = None,
    ) -> JobState:
        """Give a job that does not run other arguments, as Inspect.edit does."""
        return await self._network.do(self._edit(job_id, payload, partition_key, tenant))
