"""Decisions of a real policy in virtual time, stored and read as a coordinator does."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from coordinator.core.model import Observation
from coordinator.core.overlays.values import parse
from coordinator.core.planner import Planner
from coordinator.decisions.ledger import DecisionBook, DecisionRecord
from coordinator.loop.fleet import Fleet
from coordinator.loop.term import Term
from coordinator.policy import Limits, make_policy
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import build
from queuepool.testing.server import MemoryServer
from queuepool.verbs.leader import verbs as lead
from tests.unit.coordinator.observed import owner, state
from tests.unit.coordinator.ports import Clock

KEY = Keyspace().system()
START_MS = 1_795_000_000_000


class Story:
    """One partition whose jobs arrive as a function of the second says, and its leader."""

    def __init__(self, policy: str = "sized", *, service_s: float = 0.2, **values: str) -> None:
        self.wall_s = START_MS / 1000
        self.server = MemoryServer(lambda: self.wall_s)
        verb = lead.lead("n", lease_ms=10**9, address="")
        self.epoch = verb.read(self.server.run(KEY, [verb])[0]).epoch
        self.book = DecisionBook(self.server, KEY, keep=1_000, partitions=2)
        self.clock = Clock()
        self.planner = Planner(
            policy=make_policy(policy),
            limits=Limits(min_workers=2, max_workers=32),
            overrides=parse({n.replace("__", "."): text for n, text in values.items()}),
            record_version=7 if values else 0,
        )
        self.term = Term(
            self.epoch,
            planner=self.planner,
            fleet=Fleet(build({"main": "redis://x"}, 1, ""), Keyspace(), {"main": self.server}),
            book=self.book,
            may_act=lambda: True,
            checkpoint_interval_s=10**6,
            clock=self.clock,
        )
        self.service_s, self.workers = service_s, 2
        self.backlog = self.busy = self.done = 0

    def run(self, seconds: int, arrivals: Callable[[int], int]) -> list[DecisionRecord]:
        """Let seconds pass; return all that is recorded, the oldest first."""
        for second in range(seconds):
            self.backlog += arrivals(second)
            finished = min(self.backlog, int(self.workers / self.service_s))
            self.backlog, self.done = self.backlog - finished, self.done + finished
            self.busy = min(self.workers, finished)
            self.clock.now_s += 1.0
            self.wall_s += 1.0
            held = owner(self.workers, busy=self.busy)
            ms = round(self.wall_s * 1000)
            there = state(held, backlog=self.backlog, done=self.done, observed_ms=ms)
            there = replace(there, in_flight=self.busy)
            seen = Observation(partition=0, at_s=self.clock.now_s, state=there)
            self.term.begin(self.planner, {}, now_ms=ms)
            self.term.consider([seen])
            self.term.act({0: float(finished)})
            self.workers = self.term.memories[0].target if self.term.memories else 2
        return self.records()

    def records(self) -> list[DecisionRecord]:
        """Return all that is recorded, the oldest first."""
        found, _ = self.book.page("", 1_000, 0)
        return [record for _, record in reversed(found)]


def bursts(second: int) -> int:
    """Return arrivals that rise, fall, stop and come at once."""
    return 300 if second % 60 == 20 else 40 if second % 60 < 40 else 5
