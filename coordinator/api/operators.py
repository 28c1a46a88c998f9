"""Operators' calls that go directly to the servers: groups, tenants, holds; others by subject.

Blocking calls run on a few separate threads, so neither the loop nor the API waits for them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from coordinator.api.calls import NamedTarget, Target, TenantTarget
from coordinator.api.flows import FlowActs
from coordinator.api.inspecting import Inspection
from coordinator.api.jobs import JobActs
from coordinator.api.limits import LimitActs
from coordinator.api.scaling import ScalingActs
from coordinator.api.wording import named, plain, text_of
from coordinator.decisions.ledger import DecisionBook
from coordinator.loop.crew import Crew
from coordinator.loop.pools import PoolCoordinators
from coordinator.snapshots.store import SnapshotStore
from queuepool.client.pool import QueuePool
from queuepool.client.questions import ask_system
from queuepool.models import GroupStatus
from queuepool.models.eta import Eta
from queuepool.models.tenants import TenantLoad, TenantStatus
from queuepool.verbs import Verb

T = TypeVar("T")
_log = logging.getLogger("coordinator.operators")

_THREADS = 4  # of each kind


class Operators:
    """Answers operators. Safe to share between threads; the coroutines run the rest."""

    def __init__(
        self,
        pool: QueuePool,
        store: SnapshotStore,
        book: DecisionBook,
        *,
        max_workers: int,
        others: PoolCoordinators | None = None,
    ) -> None:
        self._pool = pool
        self._looks = Crew(_THREADS, "coordinator-operators")
        self.inspection = Inspection(pool)
        self.flows, self.jobs, self.limits = FlowActs(pool), JobActs(pool), LimitActs(pool)
        self.scaling = ScalingActs(pool, store, book, max_workers=max_workers, others=others)
        self._acts = Crew(_THREADS, "coordinator-acts")  # so that queued reads do not delay them

    async def off_loop(self, work: Callable[[], T]) -> T:
        """Run a blocking read on one of the threads. Raises UnavailableError if there is none."""
        return await asyncio.wrap_future(self._looks.submit(work))

    async def act_off_loop(self, work: Callable[[], T]) -> T:
        """Run a blocking write on one of the threads for writes. Raises UnavailableError."""
        return await asyncio.wrap_future(self._acts.submit(work))

    def ask_system(self, verb: Verb[T]) -> T:
        """Return what a verb reads from what coordinators share."""
        return self._pool.carry_out(ask_system(self._pool.config, verb))

    def group(self, key: bytes) -> tuple[int, GroupStatus]:
        """Return (partition, current totals) of a task group, in all its pools."""
        group: Any = self._pool.group(text_of(key))
        return group.partition.number, group.status()

    def eta(self, key: bytes, over_s: float) -> Eta | None:
        """Watch a task group for so long; return when it ends, None if that is unknown."""
        group: Any = self._pool.group(text_of(key))
        found: Eta | None = group.eta(over_s=over_s)
        return found

    def tenant(self, name: str) -> TenantStatus:
        """Return what a tenant has in all partitions."""
        return self._pool.tenant(name).status()

    def largest_tenants(self, most: int) -> list[TenantLoad]:
        """Return the tenants that have the most ready jobs."""
        return self._pool.largest_tenants(most)

    def switch(
        self,
        what: Target | TenantTarget | NamedTarget,
        pool: str | None = None,
        *,
        on: bool,
        reason: str,
        actor: str,
    ) -> int:
        """Hold or release a group, a tenant, a task, a partition or all; returns how many changed.

        pool: only this one of partitions. Raises UnknownGroupError.
        """
        if isinstance(what, bytes):
            group = self._pool.group(text_of(what))
            changed, name = int(group.hold() if on else group.release()), named(what)
        elif isinstance(what, TenantTarget):
            tenant = self._pool.tenant(what.name)
            changed, name = int(tenant.hold() if on else tenant.release()), f"tenant {what.name}"
        elif isinstance(what, NamedTarget):
            act = self._pool.hold if on else self._pool.release
            changed, name = act(task=what.name), f"{what.kind} {plain(what.name)}"
        else:
            number = None if what == "all" else what
            act = self._pool.hold if on else self._pool.release
            changed = act(partition=number, pool=pool)
            name = "all partitions" if number is None else f"partition {number}"
            name += "" if pool is None else f", pool {pool}"
        _log.info(
            "%s %s", "held" if on else "released", name,
            extra={"changed": changed, "reason": plain(reason), "actor": actor},
        )  # fmt: skip
        return changed

    def configure(
        self, key: bytes, *, reason: str, actor: str, **settings: int | str | None
    ) -> bool:
        """Set how a group may run; returns whether that changed it. Raises UnknownGroupError."""
        group: Any = self._pool.group(text_of(key))
        changed: bool = group.configure(**settings)
        _log.info(
            "configured %s", named(key),
            extra={
                **{name: value for name, value in settings.items() if value is not None},
                "changed": changed, "reason": plain(reason), "actor": actor,
            },
        )  # fmt: skip
        return changed

    def configure_tenant(
        self, name: str, *, reason: str, actor: str, **settings: int | None
    ) -> bool:
        """Set how a tenant may run; returns whether that changed it."""
        changed = self._pool.tenant(name).configure(**settings)
        _log.info(
            "configured tenant %s", name,
            extra={
                **{setting: value for setting, value in settings.items() if value is not None},
                "changed": changed, "reason": plain(reason), "actor": actor,
            },
        )  # fmt: skip
        return changed

    def close(self) -> None:
        """Accept no more work. Idempotent; does not wait for a hanging server."""
        self._looks.close()
        self._acts.close()
