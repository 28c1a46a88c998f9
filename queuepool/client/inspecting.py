"""`pool.inspect`: find jobs, see what runs and fails, change and replay; sync and asyncio."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, TypedDict, Unpack

from queuepool.client import editing, finding
from queuepool.client.effects import Steps
from queuepool.client.network import AsyncNetwork, Network
from queuepool.client.producer import Producer
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models import JobState, JobStatus
from queuepool.models.finding import Changed, Digest, ErrorCount, JobFilter, RunningJob
from queuepool.models.history import PastRun
from queuepool.routing.finding import known_id
from queuepool.tasks.options import refuse_unknown

Moment = datetime | timedelta | None
_PAGE = 200
_STATES = (JobState.READY, JobState.PARKED, JobState.DELAYED, JobState.IN_FLIGHT, JobState.DEAD)


class Where(TypedDict, total=False):
    """Which jobs. since, until: a datetime, or a timedelta: that long ago.

    partition_key: with its tenant, if it has one. tenant without a key: all its jobs. error: a text
    in the reason, type or message, or a fingerprint of `errors`.
    """

    task: str | None
    partition_key: str | bytes | None
    tenant: str | None
    error: str | None
    since: Moment
    until: Moment
    newest: bool
    partition: int | None
    pool: str | None


class _Inspect:
    """What both kinds share."""

    __slots__ = ("_network", "_producer")

    def __init__(self, network: Any, producer: Producer) -> None:
        self._network, self._producer = network, producer

    def _where(
        self, state: JobState | str | None, options: Any
    ) -> tuple[JobFilter, dict[str, Any]]:
        """Return the filter, and the partition and pool to look in."""
        refuse_unknown("inspect", options, Where)
        key, tenant = options.get("partition_key"), options.get("tenant")
        partition, group = options.get("partition"), None
        if key is not None:
            route = self._producer.route(key, tenant)
            partition, group = route.partition, route.group
        where = JobFilter(
            state=None if state is None else _state(state),
            task=options.get("task"),
            group=group,
            tenant=None if key is not None else tenant,
            error=options.get("error") or None,
            since_ms=_ms("since", options.get("since")),
            until_ms=_ms("until", options.get("until")),
            newest=options.get("newest", True),
        )
        return where, {"partition": partition, "pool": options.get("pool")}

    def _walk(self, state: JobState | str | None, options: Any) -> Steps[finding.Walk]:
        where, places = self._where(state, options)
        return finding.walk(self._network.config, where, **places)

    def _count(self, state: JobState | str | None, options: Any) -> Steps[int]:
        where, places = self._where(state, options)
        return finding.count(self._network.config, where, **places)

    def _change(
        self, verb: Any, most: int | None, rate: float | None, dry_run: bool, options: Any
    ) -> Steps[Changed]:
        where, places = self._where(JobState.DEAD, {"newest": False} | options)
        return finding.change(
            self._network.config, where, verb, most=most, rate=rate, dry_run=dry_run, **places
        )

    def _run(self, job_id: str, key: str | bytes | None, tenant: str | None) -> Steps[JobState]:
        return editing.run_now(self._network.config, known_id(job_id), self._at(key, tenant))

    def _edit(
        self,
        job_id: str,
        payload: Mapping[str, Any],
        key: str | bytes | None,
        tenant: str | None,
    ) -> Steps[JobState]:
        config, at = self._network.config, self._at(key, tenant)
        return editing.edit(config, self._producer, known_id(job_id), payload, at)

    def _history(
        self, job_id: str, key: str | bytes | None, tenant: str | None, most: int
    ) -> Steps[list[PastRun]]:
        config, at = self._network.config, self._at(key, tenant)
        return finding.history(config, known_id(job_id), partition=at, most=most)

    def _at(self, key: str | bytes | None, tenant: str | None) -> int | None:
        return None if key is None else self._producer.route(key, tenant).partition


class Inspect(_Inspect):
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
        steps = self._walk(state, where)
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
        return self._network.do(self._change(finding.replay, most, rate, dry_run, where))

    def discard(
        self,
        *,
        most: int | None = None,
        rate: float | None = None,
        dry_run: bool = False,
        **where: Unpack[Where],
    ) -> Changed:
        """Delete dead jobs that match permanently; the arguments are those of `replay`."""
        return self._network.do(self._change(finding.discard, most, rate, dry_run, where))

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


class AsyncInspect(_Inspect):
    """What is in the queue, for asyncio: the methods of Inspect, awaited; `find` is iterated."""

    _network: AsyncNetwork

    async def find(
        self, state: JobState | str | None = None, **where: Unpack[Where]
    ) -> AsyncIterator[JobStatus]:
        """Iterate over the jobs that match, as Inspect.find does."""
        walk = await self._network.do(self._walk(state, where))
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

    async def replay(
        self,
        *,
        most: int | None = None,
        rate: float | None = None,
        dry_run: bool = False,
        **where: Unpack[Where],
    ) -> Changed:
        """Run dead jobs that match again, as Inspect.replay does."""
        return await self._network.do(self._change(finding.replay, most, rate, dry_run, where))

    async def discard(
        self,
        *,
        most: int | None = None,
        rate: float | None = None,
        dry_run: bool = False,
        **where: Unpack[Where],
    ) -> Changed:
        """Delete dead jobs that match permanently, as Inspect.discard does."""
        return await self._network.do(self._change(finding.discard, most, rate, dry_run, where))

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


def _state(state: object) -> JobState:
    for known in _STATES:
        if state == known:
            return known
    raise InvalidInputError(f"state={shown(state)}: use {', '.join(_STATES)}")


def _ms(name: str, moment: object) -> int | None:
    if moment is None:
        return None
    if isinstance(moment, timedelta):
        return max(1, int((time.time() - moment.total_seconds()) * 1000))
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        return max(1, int(moment.timestamp() * 1000))
    raise InvalidInputError(
        f"{name}={shown(moment)}: use a timedelta (so long ago), or a datetime with a time zone"
    )
