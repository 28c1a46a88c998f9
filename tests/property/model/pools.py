"""Two pools of one partition, each with its own model: what is done in one changes nothing there.

Both have the same groups, ids, keys, nonces and, from the start, epochs. Each has a line of time of
its own, so takeovers, crashes and failovers are of one of them.
"""

from __future__ import annotations

from typing import Any

from hypothesis.stateful import initialize, rule

from queuepool.partitions.partition import Partition
from tests.property.model.rules import PartitionMachine
from tests.property.model.space import Space, read
from tests.property.model.state import State

POOL = "video"


class PoolsMachine(PartitionMachine):
    """Works in one of the pools at a time.

    After each rule, also those that change the pool, all that is stored of it is as its model says.
    """

    def __init__(self) -> None:
        super().__init__()
        key = self.keyspace.of(POOL).partition(0)
        self.there: dict[str, Any] = {
            "partition": Partition(0, key, self.server, pool=POOL),
            "state": State(),
            "space": Space(),
            "lives": [],
            "newest_epoch": 0,
            "fresh": 0,
            "cursors": {},
            "copy": None,
            "rollbacks": 0,
        }

    @initialize()
    def begin(self) -> None:
        for _ in range(2):
            self.acquire("x", 600.0)
            self.turn_to_the_other()

    @rule()
    def turn_to_the_other(self) -> None:
        here = {name: getattr(self, name) for name in self.there}
        for name, value in self.there.items():
            setattr(self, name, value)
        self.there = here
        self.space = read(self.client, self.partition.key)

    @rule()
    def turn_there(self) -> None:
        """Do the same, so that it happens more often."""
        self.turn_to_the_other()

    @rule()
    def turn_and_crash(self) -> None:
        """Only one of the pools is taken over."""
        self.turn_to_the_other()
        self.crash_and_take_over("z")

    def teardown(self) -> None:
        for key in self.client.keys(self.there["partition"].key + b":*"):
            self.client.delete(key)
        super().teardown()
