"""A coordinator without network, thread and clock: the real one, its turns made step by step.

Other actors act between the steps of a turn, and a stall there is what makes a leader stale.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

from coordinator.assembly import Coordinator as Assembled
from coordinator.assembly import assemble
from coordinator.core.events import CycleEnded, LeadGained
from coordinator.core.model import LeaseStatus
from coordinator.settings import CoordinatorSettings
from queuepool.servers import Reply
from queuepool.settings.config import PoolConfig
from queuepool.verbs import Verb
from tests.simulation.ledger import Ledger
from tests.simulation.network import Network
from tests.simulation.scenario import Scenario
from tests.simulation.scheduler import Process

CYCLE_S, LEASE_S = 0.5, 2.0
_settings = cache(CoordinatorSettings)


class NetworkPort:
    """A server as a coordinator sees it, with the faults of the network. Only what it calls."""

    def __init__(self, process: Process, network: Network) -> None:
        self._process, self._network = process, network

    name = "simulated"

    def run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Reply]:
        return self._network.run_now(self._process, [(key, verb) for verb in verbs])

    def run_many(self, calls: Sequence[tuple[bytes, Verb[Any]]]) -> list[Reply]:
        return self._network.run_now(self._process, calls)


class Coordinator(Process):
    """One coordinator process, leading or standing by."""

    def __init__(
        self,
        name: str,
        network: Network,
        ledger: Ledger,
        scenario: Scenario,
        rng: random.Random,
        config: PoolConfig,
    ) -> None:
        super().__init__(network.scheduler, name)
        self._ledger, self._random = ledger, rng
        self._most_workers = 8 * scenario.workers
        self._coordinator = self._assembled(network, scenario, config)
        self.after(rng.random() * CYCLE_S, self._turn)

    def _assembled(self, network: Network, scenario: Scenario, config: PoolConfig) -> Assembled:
        port = NetworkPort(self, network)
        pool: Any = SimpleNamespace(
            config=config,
            system=(port, config.keyspace.system()),
            servers={config.topology.placement[0]: port},
        )
        settings = _settings(
            cycle_s=CYCLE_S,
            lease_s=LEASE_S,
            request_timeout_s=0.4,
            base_workers=scenario.workers,
            decisions_kept=100,
        )
        return assemble(
            pool,
            settings,
            emit=self._listen,
            clock=self.scheduler.clock,
            draw=self._random.random,
            nonce=f"{self._random.getrandbits(64):016x}",
            of=config.keyspace.pool,
        )

    def _turn(self) -> None:
        self._step(self._coordinator.loop.steps(), self.now_s)

    def _step(self, steps: Generator[None, None, LeaseStatus], began_s: float) -> None:
        try:
            next(steps)
        except StopIteration as end:
            self.after(self._coordinator.loop.pause_s(end.value, self.now_s - began_s), self._turn)
        else:
            self.after(self._random.random() * 0.02, lambda: self._step(steps, began_s))

    def _listen(self, event: object) -> None:
        journal = self._ledger.journal
        if isinstance(event, LeadGained):
            journal.note(self.now_s, self.name, f"leads in epoch {event.epoch}")
        elif isinstance(event, CycleEnded) and event.snapshot.leading:
            for view in event.snapshot.partitions:
                if view.target:
                    journal.targets.append((self.name, view.target, 1, self._most_workers))
