"""Finds the pools of the partitions, and keeps a coordinator for each besides the default one.

    every few seconds: which pools do partitions have? -> a new one gets a coordinator of its own

Each has a lead, commands, a scaling record and a ledger of its own, in keys of that pool. So pools
never wait for each other, and several coordinators may lead different ones.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from coordinator.core.model import PartitionView
from coordinator.decisions.ledger import DecisionBook
from coordinator.snapshots.cycles import CycleFeed
from coordinator.snapshots.shadows import ShadowBoard
from coordinator.snapshots.store import SnapshotStore
from queuepool.client.pool import QueuePool
from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.errors.hindrances import start_thread

INTERVAL_S = 2.0
_log = logging.getLogger("coordinator.pools")


class PoolCoordinator(Protocol):
    """The coordinator of one pool."""

    @property
    def store(self) -> SnapshotStore:
        """Return where its snapshots are."""

    @property
    def book(self) -> DecisionBook:
        """Return its ledger of decisions."""

    @property
    def cycles(self) -> CycleFeed:
        """Return the cycles of its leadership."""

    @property
    def shadows(self) -> ShadowBoard:
        """Return how its candidate compares."""

    def start(self) -> None:
        """Start observing and, once the lead is ours, deciding."""

    def stop(self, timeout_s: float = 5.0) -> bool:
        """Stop and resign; returns whether it ended in time."""


class PoolCoordinators:
    """The coordinators of other pools, from start() to stop(). make: returns one of a pool."""

    def __init__(
        self,
        pool: QueuePool,
        make: Callable[[str], PoolCoordinator],
        *,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._pool, self._make, self._interval_s = pool, make, interval_s
        self._coordinators: Mapping[str, PoolCoordinator] = {}
        self._having: Mapping[str, Collection[int]] = {}
        self._stopping, self._looking = threading.Event(), threading.Lock()
        self._trouble: QueuePoolError | None = None  # of the last look
        # A daemon, so that a hanging server does not keep the process from exiting.
        self._thread = threading.Thread(target=self._run, name="coordinator-pools", daemon=True)

    def start(self) -> None:
        """Start; call once. Raises NoThreadError."""
        start_thread(self._thread, "to find pools")

    def stop(self, timeout_s: float) -> bool:
        """Stop and resign in every pool; returns whether all ended in time. Idempotent."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        if looked := self._looking.acquire(timeout=timeout_s):  # the last look has ended
            self._looking.release()
        ended = [each.stop(timeout_s) for each in self._coordinators.values()]
        return looked and all(ended)

    def find(self, pool: str) -> PoolCoordinator | None:
        """Return the coordinator of a pool, if there is such a pool: looks again for a new one.

        Raises UnavailableError when that cannot be known, as not all servers answer.
        """
        trouble = None if pool in self._coordinators else self.look()
        found = self._coordinators.get(pool)
        if found is None and trouble is not None:
            raise UnavailableError(
                f"whether there is a pool {pool!r} is not known, as its servers could not be "
                f"asked; nothing was done: {trouble}"
            ) from trouble
        return found

    def views(self) -> list[PartitionView]:
        """Return the partitions that have other pools, as last observed, by partition and pool."""
        found = [
            view
            for name, each in self._coordinators.items()
            for view in each.store.snapshot.partitions
            if view.partition in self._having.get(name, ())
        ]
        return sorted(found, key=lambda view: (view.partition, view.pool))

    def look(self) -> QueuePoolError | None:
        """Find pools once, and start the coordinators of new ones; return what prevented it."""
        with self._looking:
            self._look()
            return self._trouble

    def _look(self) -> None:
        try:
            places = self._pool.places()
        except QueuePoolError as error:
            if self._trouble is None:
                _log.warning("new pools cannot be found; known ones are scaled: %s", error)
            self._trouble = error
            return
        self._trouble = None
        having: dict[str, set[int]] = {}
        for place in places:
            if place.pool != self._pool.config.keyspace.pool:
                having.setdefault(place.pool, set()).add(place.number)
        self._having = having
        for name in having.keys() - self._coordinators.keys():
            if not self._stopping.is_set():
                made = self._make(name)
                self._coordinators = {**self._coordinators, name: made}
                made.start()
                _log.info("scaling pool %s", name)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.look()
            self._stopping.wait(self._interval_s)
