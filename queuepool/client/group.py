"""Handles on one task group, sync and asyncio: a bulk action as its producer sees it."""

from __future__ import annotations

from typing import Any

from queuepool.client.endings import JobDiedError as JobDiedError  # noqa: PLC0414 - known from here
from queuepool.client.group_steps import GroupSteps, OnProgress
from queuepool.client.network import AsyncNetwork, Network
from queuepool.models import Eta, GroupStatus, Tier
from queuepool.partitions.partition import Partition


class TaskGroup(GroupSteps):
    """All jobs that share a partition key. Holds no state: each call asks the server.

    >>> group = pool.group("bulk-42")
    >>> pool.enqueue_many("greet", [{"name": "Ada"}] * 300, partition_key="bulk-42").accepted
    300
    >>> status = group.wait(timeout_s=30, show=False)
    >>> status.total, status.done, status.died, status.progress
    (300, 300, 0, 1.0)
    >>> group.cancel()  # nothing is left to cancel
    (0, 0)
    """

    __slots__ = ()
    _network: Network

    @property
    def partition(self) -> Partition:
        """Return the partition that has the group's jobs.

        Asks no server, unless the key may be a digest that stands for a long one.
        """
        view, route = self._network.config.topology.view, self._network.do(self._located())
        return self._network.partition(view.partition_of(route.slot))

    @property
    def group(self) -> bytes:
        """Return the group's name within the partition."""
        return self._route.group

    def status(self) -> GroupStatus:
        """Count the group's jobs by state.

        Totals of an ended group are kept for a minute a job, at most a day; then all is 0.
        """
        return self._network.do(self._status())

    def wait(
        self,
        *,
        timeout_s: float | None = None,
        show: bool | None = None,
        on_progress: OnProgress | None = None,
    ) -> GroupStatus:
        """Wait until every job of the group has ended; return the totals.

        Ended does not mean done: check `died` and `cancelled` of the result. show: draw a
        progress bar on standard error; None: when that is a terminal. on_progress:
        called with each new status. Raises WaitTimeoutError; the group continues.
        """
        return self._network.do(self._wait(timeout_s, show, on_progress))

    def eta(self, *, over_s: float = 1.0) -> Eta | None:
        """Watch the group for so long; return when its jobs will have ended, as a range in seconds.

        Four times out of five it is between `low_s` and `high_s`. None if that is unknown: no job
        ended meanwhile (watch longer), the group is held, or only delayed jobs are left, which are
        not counted otherwise. Jobs enqueued later delay it.

        >>> pool.enqueue_many("greet", [{"name": "Ada"}] * 300, partition_key="bulk-45").accepted
        300
        >>> pool.group("bulk-45").wait(timeout_s=30, show=False).left
        0
        >>> pool.group("bulk-45").eta()
        Eta(low_s=0.0, likely_s=0.0, high_s=0.0, confidence=0.8)
        """
        return self._network.do(self._eta(over_s))

    def cancel(self) -> tuple[int, int]:
        """Cancel the jobs that the group has now; returns (cancelled, running ones asked to stop).

        Jobs enqueued afterwards are not touched.
        """
        return self._network.do(self._cancel())

    def hold(self, *, create: bool = False) -> bool:
        """Start none of the group's jobs until it is released; returns False if it was held.

        Running jobs continue, as do those that a consumer has already claimed. Held jobs do not
        count as backlog. The hold also covers jobs enqueued later, as long as the group is
        remembered (see `status`). create: hold it before its first job, as for `configure`.
        Raises InvalidInputError for a group without jobs, unless create is set.

        >>> pool.enqueue("greet", {"name": "Ada"}, partition_key="bulk-43", delay_s=60).accepted
        True
        >>> group = pool.group("bulk-43")
        >>> group.hold(), group.status().held_ms is not None, group.release()
        (True, True, True)
        """
        return self._network.do(self._configure(hold=True, create=create))

    def release(self) -> bool:
        """End the hold; returns False if there was none. Raises InvalidInputError like `hold`."""
        return self._network.do(self._configure(hold=False))

    def configure(
        self,
        *,
        max_running: int | None = None,
        serial: bool | None = None,
        weight: int | None = None,
        tier: Tier | int | str | None = None,
        create: bool = False,
    ) -> bool:
        """Set how the group's jobs may run; returns whether that changed anything.

        None leaves a setting unchanged. max_running: how many run at once, across all consumers; 0:
        any number. serial: one at a time, in the order in which they were enqueued within a tier; a
        job that is retried delays the others. Jobs that wait for this do not count as backlog.
        weight: 1 to 100, its share of turns among the groups of a tier, which have 1 by default.
        tier: whose turns all its jobs have from now on, those that wait and those of later, in
        their order; "own": each job has the turns of the tier that it was enqueued with.
        Settings last as long as the group is remembered. create: set them before the first job,
        and keep them for 32 days without work, instead of a day or less; they are forgotten with
        the last one that is set back. Raises InvalidInputError for a group without jobs, unless
        create is set.

        >>> pool.enqueue("greet", {"name": "Ada"}, partition_key="bulk-44").accepted
        True
        >>> group = pool.group("bulk-44")
        >>> group.configure(max_running=3), group.status().max_running
        (True, 3)
        """
        return self._network.do(
            self._configure(
                max_running=max_running, serial=serial, weight=weight, tier=tier, create=create
            )
        )


class AsyncTaskGroup(GroupSteps):
    """All jobs that share a partition key; the asyncio twin of TaskGroup."""

    __slots__ = ()
    _network: AsyncNetwork

    async def status(self) -> GroupStatus:
        """Count the group's jobs by state."""
        return await self._network.do(self._status())

    async def wait(
        self,
        *,
        timeout_s: float | None = None,
        show: bool | None = None,
        on_progress: OnProgress | None = None,
    ) -> GroupStatus:
        """Wait until every job of the group has ended; return the totals."""
        return await self._network.do(self._wait(timeout_s, show, on_progress))

    async def eta(self, *, over_s: float = 1.0) -> Eta | None:
        """Watch the group; return when its jobs will have ended, as TaskGroup.eta does."""
        return await self._network.do(self._eta(over_s))

    async def cancel(self) -> tuple[int, int]:
        """Cancel the group's current jobs; returns (cancelled, running ones asked to stop)."""
        return await self._network.do(self._cancel())

    async def hold(self, *, create: bool = False) -> bool:
        """Start none of the group's jobs until it is released, as TaskGroup.hold does."""
        return await self._network.do(self._configure(hold=True, create=create))

    async def configure(
        self,
        *,
        max_running: int | None = None,
        serial: bool | None = None,
        weight: int | None = None,
        tier: Tier | int | str | None = None,
        create: bool = False,
    ) -> bool:
        """Set how the group's jobs may run, as TaskGroup.configure does."""
        return await self._network.do(
            self._configure(
                max_running=max_running, serial=serial, weight=weight, tier=tier, create=create
            )
        )

    async def release(self) -> bool:
        """End the hold; returns False if there was none."""
        return await self._network.do(self._configure(hold=False))


def describe(status: GroupStatus) -> dict[str, Any]:
    """Return a status as plain data for JSON."""
    names = (
        *("total", "ready", "parked", "delayed", "in_flight", "done", "dead", "cancelled"),
        *("evicted", "discarded", "expired"),
    )
    more = {
        "max_running": status.max_running,
        "serial": status.serial,
        "weight": status.weight,
        "tier": None if status.tier is None else str(status.tier),
        "spread": status.spread,
        "held_ms": status.held_ms,
        "progress": status.progress,
    }
    return {name: getattr(status, name) for name in names} | more
