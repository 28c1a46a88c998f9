"""Puts the parts of a coordinator together, without an API or a process around them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from coordinator.core.planner import Planner
from coordinator.decisions.ledger import DecisionBook
from coordinator.loop.control_loop import Components, ControlLoop
from coordinator.loop.fleet import Fleet
from coordinator.loop.leadership import Leadership
from coordinator.loop.observer import Observer
from coordinator.loop.pools import PoolCoordinators
from coordinator.loop.pools_budget import BudgetOfPools
from coordinator.loop.scaling_watch import ScalingWatch
from coordinator.loop.shadowing import ShadowRunner
from coordinator.loop.term import Term
from coordinator.settings import CoordinatorSettings
from coordinator.snapshots.builder import SnapshotBuilder
from coordinator.snapshots.cycles import CycleFeed
from coordinator.snapshots.shadows import ShadowBoard
from coordinator.snapshots.store import SnapshotStore
from coordinator.telemetry.entries import LogEntries
from coordinator.telemetry.event_log import EventLog
from coordinator.telemetry.log_writer import LogWriter
from coordinator.telemetry.metrics import Metrics
from queuepool.client.pool import QueuePool
from queuepool.client.scaling import ScalingRecords
from queuepool.models.places import DEFAULT_POOL
from queuepool.settings.config import PoolConfig
from queuepool.telemetry.events import Listener, fan_out, ignore


@dataclass(frozen=True, slots=True)
class Coordinator:
    """One coordinator: its loop, its published snapshots, and its ledger of decisions.

    cycles: those of its leadership, for who records them; shadows: how a candidate compares;
    budget: what it shares with the coordinators of other pools.
    """

    loop: ControlLoop
    store: SnapshotStore
    book: DecisionBook
    leadership: Leadership
    fleet: Fleet
    cycles: CycleFeed
    shadows: ShadowBoard
    shadow: ShadowRunner
    budget: BudgetOfPools

    def start(self) -> None:
        """Start observing and, once the lead is ours, deciding."""
        self.loop.start()
        self.shadow.start()

    def stop(self, timeout_s: float = 5.0) -> bool:
        """Stop and resign; returns whether the loop ended in time. Idempotent."""
        self.shadow.stop()
        ended = self.loop.stop(timeout_s)
        self.fleet.close()
        return ended


def assemble(
    pool: QueuePool,
    settings: CoordinatorSettings,
    *,
    address: str = "",
    store: SnapshotStore | None = None,
    emit: Listener = ignore,
    clock: Callable[[], float] = time.monotonic,
    draw: Callable[[], float] = random.random,
    nonce: str | None = None,
    of: str = DEFAULT_POOL,
    budget: BudgetOfPools | None = None,
) -> Coordinator:
    """Return a coordinator of all partitions of a queue. address: where its API is reached.

    of: the pool of workers that it scales, with a lead and a scaling record of that pool.
    budget: what the coordinators of all pools of this process share.
    nonce: of its claims to lead; None for a new one. draw: random numbers from 0 to 1.
    """
    config, store = pool.config.of(of), store or SnapshotStore()
    server, key = pool.system[0], config.keyspace.system()
    fleet = _fleet(config, pool, patience_s=settings.lease_s / 2, clock=clock)
    leadership = Leadership(
        server, key, lease_s=settings.lease_s, address=address, nonce=nonce, clock=clock
    )
    cycles, shadows = CycleFeed(), ShadowBoard()
    count = config.topology.partitions
    book = DecisionBook(server, key, keep=settings.decisions_kept, partitions=count)
    every_s, may_act = settings.checkpoint_interval_s, leadership.leads
    term = partial(Term, fleet=fleet, book=book, may_act=may_act, checkpoint_interval_s=every_s)
    term = partial(term, publish=cycles.publish, emit=emit, clock=clock)
    records, planner = ScalingRecords(server, key), _planner(settings, of)
    scaling = ScalingWatch(records, planner, settings.make_policy, emit=emit)
    observer = Observer(fleet, emit=emit, clock=clock)
    views = SnapshotBuilder(config.topology, of)
    shared = budget or BudgetOfPools()
    parts = Components(leadership, observer, views, store, scaling, term, shared, of)
    loop = ControlLoop(parts, cycle_s=settings.cycle_s, emit=emit, clock=clock, draw=draw)
    shadow = ShadowRunner(cycles, shadows, settings.make_policy, emit=emit)
    return Coordinator(loop, store, book, leadership, fleet, cycles, shadows, shadow, shared)


def other_pools(
    pool: QueuePool,
    settings: CoordinatorSettings,
    address: str,
    metrics: Metrics,
    budget: BudgetOfPools,
    writer: LogWriter,
) -> PoolCoordinators:
    """Return the coordinators of all pools but `default`, shown in the metrics."""

    def coordinator_of(name: str) -> Coordinator:
        emit = fan_out([EventLog(name), metrics.of_pool, LogEntries(writer.add, name)])
        return assemble(pool, settings, address=address, emit=emit, of=name, budget=budget)

    others = PoolCoordinators(pool, coordinator_of)
    metrics.show(others.views)
    return others


def _fleet(
    config: PoolConfig, pool: QueuePool, *, patience_s: float, clock: Callable[[], float]
) -> Fleet:
    topology, keyspace = config.topology, config.keyspace
    return Fleet(topology, keyspace, pool.servers, patience_s=patience_s, clock=clock)


def _planner(settings: CoordinatorSettings, pool: str) -> Planner:
    return Planner(
        policy=settings.make_policy(),
        limits=settings.limits(pool),
        cycle_s=settings.cycle_s,
        command_ttl_s=settings.command_ttl_s,
    )
