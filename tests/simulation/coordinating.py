"""A coordinator without network, thread and clock: its own leadership, observer, term and planner.

A turn has three steps, as in coordinator.loop.control_loop; other actors act between them, and a stall there is
what makes a leader stale.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from coordinator.core.model import Observation, Standing
from coordinator.core.planner import Planner
from coordinator.decisions.ledger import DecisionBook
from coordinator.loop.fleet import Fleet
from coordinator.loop.leadership import Leadership
from coordinator.loop.observer import Observer
from coordinator.loop.term import Term
from coordinator.policy import Limits, make_policy
from queuepool.servers import Reply
from queuepool.settings.config import PoolConfig
from queuepool.verbs import Verb
from tests.simulation.ledger import Ledger
from tests.simulation.network import Network
from tests.simulation.scenario import Scenario
from tests.simulation.scheduler import Process

CYCLE_S, LEASE_S = 0.5, 2.0


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
        port: Any = NetworkPort(self, network)
        system = config.keyspace.system()
        fleet = Fleet(config.topology, config.keyspace, {config.topology.placement[0]: port})
        clock = self.scheduler.clock
        self._leadership = Leadership(
            port, system, lease_s=LEASE_S, nonce=f"{rng.getrandbits(64):016x}", clock=clock
        )
        self._observer = Observer(fleet, clock=clock)
        self._limits = Limits(min_workers=scenario.workers, max_workers=8 * scenario.workers)
        planner = Planner(policy=make_policy("pwqd"), limits=self._limits, cycle_s=CYCLE_S)
        book = DecisionBook(port, system, keep=50)
        self._term: Term | None = None

        def new_term(epoch: int) -> Term:
            return Term(
                epoch,
                planner=planner,
                fleet=fleet,
                book=book,
                may_act=self._leadership.leads,
                checkpoint_interval_s=5.0,
                clock=clock,
            )

        self._new_term = new_term
        self.after(rng.random() * CYCLE_S, self._renew)

    def _renew(self) -> None:
        standing = self._leadership.renew()
        epoch = self._leadership.epoch
        if standing.leading and (self._term is None or self._term.epoch != epoch):
            self._term = self._new_term(epoch)
            self._ledger.journal.note(self.now_s, self.name, f"leads in epoch {epoch}")
        self.after(self._random.random() * 0.02, lambda: self._observe(standing))

    def _observe(self, standing: Standing) -> None:
        observations = self._observer.observe()
        self.after(self._random.random() * 0.02, lambda: self._act(standing, observations))

    def _act(self, standing: Standing, observations: Sequence[Observation]) -> None:
        leader, term = standing.leader, self._term
        if term is not None and leader is not None and self._leadership.leads():
            term.act(
                observations,
                {},
                now_ms=leader.now_ms,
                finished_per_s=self._observer.finished_per_s,
            )
            for track in term.tracks.values():
                if track.policy is not None:
                    least, most = 1, self._limits.max_workers
                    self._ledger.journal.targets.append((self.name, track.target, least, most))
        self.after(CYCLE_S * (0.9 + 0.2 * self._random.random()), self._renew)
