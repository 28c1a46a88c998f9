"""Operators' calls that go directly to the servers: groups, holds, limits, decisions, counts.

Blocking calls run on a few separate threads, so neither the loop nor the API waits for them.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from coordinator.api.calls import NamedTarget, Target, TenantTarget
from coordinator.api.flows import FlowActs
from coordinator.api.inspecting import Inspection
from coordinator.api.jobs import JobActs
from coordinator.api.wording import named, plain, tell_limit, text_of
from coordinator.core.model import InForce, PartitionView
from coordinator.core.overlays.values import merged
from coordinator.decisions.explain import seen_now
from coordinator.decisions.ledger import DecisionBook, DecisionRecord, by_an_operator
from coordinator.decisions.present import view_of, with_present
from coordinator.loop.crew import Crew
from coordinator.loop.pools import PoolCoordinator, PoolCoordinators
from coordinator.snapshots.store import SnapshotStore
from queuepool.client.limits import MAX_PAGE
from queuepool.client.pool import QueuePool
from queuepool.client.questions import ask_system
from queuepool.client.scaling import ScalingRecords
from queuepool.errors import InvalidInputError
from queuepool.models import GroupStatus, Limit, LimitStatus, ScalingRecord
from queuepool.models.eta import Eta
from queuepool.models.places import DEFAULT_POOL, place_text
from queuepool.models.tenants import TenantLoad, TenantStatus
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead

T = TypeVar("T")
_log = logging.getLogger("coordinator.operators")

_THREADS = 4  # of each kind
_MAX_TTL_S = 7 * 86400


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
        self._pool, self._store, self._book, self._others = pool, store, book, others
        self._max_workers = max_workers
        self._looks = Crew(_THREADS, "coordinator-operators")
        self.inspection = Inspection(pool)
        self.flows, self.jobs = FlowActs(pool), JobActs(pool)
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

    def decisions(
        self, token: str, size: int, partition: int | None, pool: str = DEFAULT_POOL
    ) -> tuple[list[tuple[str, DecisionRecord]], str]:
        """Return a page of decisions about a pool, and the token of the next one."""
        return self._of(pool)[1].page(token, size, partition)

    def why(
        self, partition: int, at_ms: int | None, pool: str = DEFAULT_POOL
    ) -> list[tuple[str, DecisionRecord]]:
        """Return the decisions that explain the workers of a place at a moment, or now."""
        store, book = self._of(pool)
        stored = book.why(partition, at_ms)
        return stored if at_ms is not None else with_present(store.snapshot, partition, stored)

    def seen_now(self, partition: int, pool: str) -> str:
        """Return what was observed of a place last, as a sentence; empty if it never was."""
        view = view_of(self._of(pool)[0].snapshot, partition)
        return "" if view is None or view.state is None else seen_now(view.state)

    def set_workers(
        self,
        partition: int,
        workers: int,
        ttl_s: float,
        *,
        pool: str = DEFAULT_POOL,
        reason: str,
        actor: str,
    ) -> tuple[int, int]:
        """Set a count for a time; returns (workers after the limits, ms at which it ends).

        It is stored next to the lead, so that any leader, now or later, applies it.
        """
        if not (math.isfinite(ttl_s) and 0 < ttl_s <= _MAX_TTL_S):
            raise InvalidInputError("ttl_s: use more than 0, at most 604,800 seconds (7 days)")
        if workers < 1:
            raise InvalidInputError("workers: use at least 1; stop the consumer to run none")
        (store, _book), (server, key) = self._of(pool), self._pool.system_of(pool)
        held = store.snapshot.in_force
        most = self._max_workers if held is None else held.rules.limits.max_workers
        count = min(workers, most)
        verb = lead.set_manual(partition, count, ttl_ms=max(1, round(ttl_s * 1000)))
        until_ms = verb.read(server.run(key, [verb])[0])
        self._note(partition, pool, count, f"set manually for {ttl_s:g} s", reason, actor)
        return count, until_ms

    def views_of_pools(self) -> list[PartitionView]:
        """Return the other pools that partitions have, as last observed."""
        return [] if self._others is None else self._others.views()

    def _of(self, pool: str) -> tuple[SnapshotStore, DecisionBook]:
        """Return the snapshots and the ledger of a pool. Raises InvalidInputError."""
        if pool == DEFAULT_POOL:
            return self._store, self._book
        found = self.other_pool(pool)
        return found.store, found.book

    def other_pool(self, pool: str) -> PoolCoordinator:
        """Return what coordinates another pool. Raises InvalidInputError, UnavailableError."""
        found = None if self._others is None else self._others.find(pool)
        if found is None:
            raise InvalidInputError(
                f"pool {pool!r} is unknown: no consumer runs it, and no job was enqueued for it"
            )
        return found

    def policy(self, pool: str = DEFAULT_POOL) -> ScalingRecord:
        """Return the scaling record of a pool. Raises InvalidInputError if it is unknown."""
        return self._records_of(pool).read()

    def in_force(self, pool: str) -> InForce | None:
        """Return what this coordinator decides by. Raises InvalidInputError if it is unknown."""
        store, _book = self._of(pool)
        return store.snapshot.in_force

    def _records_of(self, pool: str) -> ScalingRecords:
        self._of(pool)
        return ScalingRecords(*self._pool.system_of(pool))

    def set_policy(
        self,
        changes: Mapping[str, str],
        *,
        pool: str = DEFAULT_POOL,
        version: int | None,
        replace: bool,
        reason: str,
        actor: str,
    ) -> tuple[ScalingRecord, ScalingRecord]:
        """Change the scaling record; returns it before and after.

        Raises ChangedMeanwhileError, UnreadableRecordError, InvalidInputError.
        """
        why, merge = plain(reason), partial(merged, pool=pool)
        before, after = self._records_of(pool).change(
            changes, merge, by=actor, reason=why, version=version, replace=replace
        )
        told = " ".join(f"{name}={text}" for name, text in changes.items())
        _log.info(
            "set policy %s%s", "" if pool == DEFAULT_POOL else f"of pool {pool} ", plain(told),
            extra={
                "changed": before.version != after.version, "version": after.version,
                "replace": replace, "reason": why, "actor": actor,
            },
        )  # fmt: skip
        return before, after

    def clear_workers(
        self, partition: int, *, pool: str = DEFAULT_POOL, reason: str, actor: str
    ) -> None:
        """Return a partition's pool to its policy. Raises InvalidInputError if it is unknown."""
        self._of(pool)
        server, key = self._pool.system_of(pool)
        verb = lead.clear_manual(partition)
        verb.read(server.run(key, [verb])[0])
        self._note(partition, pool, None, "returned to automatic scaling", reason, actor)

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

    def limits(self, name: str, token: str, size: int) -> tuple[list[LimitStatus], str]:
        """Return the limit of a name, or a page of all and the token of the next one."""
        if name:
            found = self._pool.limits.get(name)
            return ([] if found is None else [found]), ""
        return self._pool.limits.page(token, min(size, MAX_PAGE))

    def set_limit(self, limit: Limit, *, reason: str, actor: str) -> bool:
        """Define a limit; returns whether that changed it."""
        changed = self._pool.limits.set(limit)
        return tell_limit("set", limit.name, changed, reason, actor, limit.definition)

    def pause_limit(self, name: str, *, on: bool, reason: str, actor: str) -> bool:
        """Pause or resume a limit; returns whether that changed it. Raises UnknownLimitError."""
        changed = self._pool.limits.pause(name) if on else self._pool.limits.resume(name)
        return tell_limit("paused" if on else "resumed", name, changed, reason, actor)

    def remove_limit(self, name: str, *, reason: str, actor: str) -> bool:
        """Forget what people set of a limit; returns whether they had. Raises UnknownLimitError."""
        return tell_limit("removed", name, self._pool.limits.remove(name), reason, actor)

    def _note(
        self, partition: int, pool: str, workers: int | None, what: str, reason: str, actor: str
    ) -> None:
        why = plain(reason)
        told = {"workers": workers, "reason": why, "actor": actor}
        _log.info("partition %s %s", place_text(partition, pool), what, extra=told)
        store, book = self._of(pool)
        snapshot = store.snapshot
        record = by_an_operator(snapshot, partition, workers, what, why)
        # A separate ledger: the loop's is for the loop's thread only. Lost if no one leads.
        book.fresh().write(snapshot.leader_epoch, [record])

    def close(self) -> None:
        """Accept no more work. Idempotent; does not wait for a hanging server."""
        self._looks.close()
        self._acts.close()
