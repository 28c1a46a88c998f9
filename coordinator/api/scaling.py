"""Worker counts, decisions and policies of pools, as operators see and change them. Blocking."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from functools import partial

from coordinator.api.wording import plain
from coordinator.core.model import InForce, PartitionView
from coordinator.core.overlays.values import merged
from coordinator.decisions.explain import seen_now
from coordinator.decisions.ledger import DecisionBook, DecisionRecord, by_an_operator
from coordinator.decisions.present import view_of, with_present
from coordinator.loop.pools import PoolCoordinator, PoolCoordinators
from coordinator.snapshots.store import SnapshotStore
from queuepool.client.pool import QueuePool
from queuepool.client.scaling import ScalingRecords
from queuepool.errors import InvalidInputError
from queuepool.models import ScalingRecord
from queuepool.models.places import DEFAULT_POOL, place_text
from queuepool.verbs.leader import verbs as lead

_log = logging.getLogger("coordinator.operators")
_MAX_TTL_S = 7 * 86400


class ScalingActs:
    """What operators ask and do about worker counts. Safe to share between threads."""

    def __init__(
        self,
        pool: QueuePool,
        store: SnapshotStore,
        book: DecisionBook,
        *,
        max_workers: int,
        others: PoolCoordinators | None,
    ) -> None:
        self._pool, self._store, self._book, self._others = pool, store, book, others
        self._max_workers = max_workers

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

    def clear_workers(
        self, partition: int, *, pool: str = DEFAULT_POOL, reason: str, actor: str
    ) -> None:
        """Return a partition's pool to its policy. Raises InvalidInputError if it is unknown."""
        self._of(pool)
        server, key = self._pool.system_of(pool)
        verb = lead.clear_manual(partition)
        verb.read(server.run(key, [verb])[0])
        self._note(partition, pool, None, "returned to automatic scaling", reason, actor)

    def policy(self, pool: str = DEFAULT_POOL) -> ScalingRecord:
        """Return the scaling record of a pool. Raises InvalidInputError if it is unknown."""
        return self._records_of(pool).read()

    def in_force(self, pool: str) -> InForce | None:
        """Return what this coordinator decides by. Raises InvalidInputError if it is unknown."""
        store, _book = self._of(pool)
        return store.snapshot.in_force

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

    def views_of_pools(self) -> list[PartitionView]:
        """Return the other pools that partitions have, as last observed."""
        return [] if self._others is None else self._others.views()

    def other_pool(self, pool: str) -> PoolCoordinator:
        """Return what coordinates another pool. Raises InvalidInputError, UnavailableError."""
        found = None if self._others is None else self._others.find(pool)
        if found is None:
            raise InvalidInputError(
                f"pool {pool!r} is unknown: no consumer runs it, and no job was enqueued for it"
            )
        return found

    def _of(self, pool: str) -> tuple[SnapshotStore, DecisionBook]:
        """Return the snapshots and the ledger of a pool. Raises InvalidInputError."""
        if pool == DEFAULT_POOL:
            return self._store, self._book
        found = self.other_pool(pool)
        return found.store, found.book

    def _records_of(self, pool: str) -> ScalingRecords:
        self._of(pool)
        return ScalingRecords(*self._pool.system_of(pool))

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
