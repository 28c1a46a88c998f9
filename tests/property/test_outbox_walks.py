"""Random walks of an outbox: rows come, slots move, relays die, and calls and the database fail.

Each walk ends without faults. Then every row was enqueued once, and those of a key and a pool in
the order of their inserts; only rows that can never be enqueued are left.
"""

from __future__ import annotations

import os
import random
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from queuepool import InvalidInputError, Outbox, UnavailableError
from queuepool.client.outbox import numbers, rows
from queuepool.client.outbox.databases import Cursor, create, open_database
from queuepool.client.outbox.relay import Relay
from queuepool.client.outbox.schema import TABLE
from queuepool.servers import Reply
from queuepool.verbs import Verb
from tests.unit.client.moving import Space, of

WALKS = int(os.environ.get("OUTBOX_WALKS", "40"))
POOLS = ("default", "default", "video")
Group = tuple[str, str]  # key, pool


class Faulty(Space):
    """Partitions whose calls of a relay fail by chance, and whose slots move in the middle.

    arrived: ids of jobs in the order in which they came. odd: those of rows that are refused.
    """

    def __init__(self, chance: random.Random, partitions: int, keys: Sequence[str]) -> None:
        self.chance, self.keys, self.fails = chance, keys, False
        self.arrived, self.odd = list[str](), set[bytes]()
        super().__init__(partitions)

    def run_many(self, calls: Sequence[tuple[bytes, Verb[Any]]]) -> list[Reply]:
        replies: list[Reply] = []
        for call in calls:
            of_relay = call[1].script in ("relay", "relayed")
            replies += self._run_of_relay(call) if of_relay else super().run_many([call])
        return replies

    def _run_of_relay(self, call: tuple[bytes, Verb[Any]]) -> list[Reply]:
        fault = self.chance.random() if self.fails else 0.5
        if self.fails and self.chance.random() < 0.05:
            self.move_some()
        if fault < 0.04:
            raise UnavailableError("it was not sent")
        if call[1].script == "relay" and not self.odd.isdisjoint(call[1].args):
            raise InvalidInputError("one of the rows is refused")
        if call[1].script == "relay" and fault < 0.15:
            return [[b"FULL", 1, 1]]
        replies = super().run_many([call])
        seen = set(self.arrived)
        self.arrived += [job_id for job_id in self.stored() if job_id not in seen]
        if fault > 0.95:
            raise UnavailableError("the reply was lost")
        return replies

    def move_some(self) -> None:
        """Let the slots of some keys move, or be on their way."""
        chosen = self.chance.sample(self.keys, self.chance.randrange(1, 3))
        slots = sorted({slot for key in chosen for slot in of(key)})
        to, on_the_way = self.chance.randrange(self.partitions), self.chance.random() < 0.3
        self.move(slots, to, on_the_way=on_the_way)

    def stored(self) -> Iterator[str]:
        """Yield the ids of all jobs."""
        for pool in set(POOLS):
            for number in range(self.partitions):
                data = self.data(self.home.config.of(pool).keyspace.partition(number))
                yield from (job_id.decode() for lane in data.lanes.values() for job_id in lane)


class Walk:
    """An application, and relays one after the other. wanted: ids of each group, as inserted."""

    def __init__(self, seed: int, path: Path, patched: pytest.MonkeyPatch) -> None:
        self.chance = chance = random.Random(seed)
        path.touch()
        self.partitions = chance.choice([2, 3, 4])
        self.keys = [f"k{n}" for n in range(chance.choice([2, 4, 8]))]
        self.space = Faulty(chance, self.partitions, self.keys)
        self.database = open_database(f"sqlite:///{path}")
        create(self.database, TABLE)
        self.connection = sqlite3.connect(path)
        self.outbox = Outbox(self.space.pool(self.partitions))
        self.wanted: dict[Group, list[str]] = {}
        self.odd_rows = chance.choice([0, 0, 0.02, 0.1])
        self.database_fails, self._times = 0.0, count(1000)
        self._relay: Relay | None = None
        chunk = chance.choice([2, 3, 5, 200])
        patched.setattr(rows, "CHUNK", chunk)
        patched.setattr(numbers, "_ROWS", chance.choice([2 * chunk + 1, 4 * chunk, 2000]))
        patched.setattr(type(self.database), "transaction", self._failing(type(self.database)))

    def _failing(self, kind: Any) -> Any:
        transaction = kind.transaction

        def fail() -> None:
            if self.chance.random() < self.database_fails:
                raise UnavailableError("the database failed")

        @contextmanager
        def failing(database: Any) -> Iterator[Cursor]:
            fail()
            with transaction(database) as execute:
                yield execute
                fail()  # it is rolled back
            fail()  # it is committed

        return failing

    def add(self) -> None:
        for _ in range(self.chance.randrange(1, 12)):
            key, pool = self.chance.choice(self.keys), self.chance.choice(POOLS)
            job_id = str(self.outbox.add(self.connection, "t", {}, partition_key=key, pool=pool))
            self.wanted.setdefault((key, pool), []).append(job_id)
            if self.chance.random() < self.odd_rows:
                self.space.odd.add(job_id.encode())
        self.connection.commit()

    def relay(self) -> Relay:
        """Return the relay, or another one if that died."""
        if self._relay is None or self.chance.random() < 0.1:
            self._relay = Relay(
                self.space.pool(self.partitions), self.database, now_ms=lambda: next(self._times)
            )
        return self._relay

    def step(self) -> None:
        if self.chance.random() < 0.3:
            self.add()
        if self.chance.random() < 0.15:
            self.space.move_some()
        relay = self.relay()
        self.space.fails, self.database_fails = True, self.chance.choice([0, 0, 0.03])
        try:
            relay.look()
        except UnavailableError:
            self._relay = None
        self.space.fails, self.database_fails = False, 0.0

    def end(self) -> None:
        """Let everything arrive."""
        self.space.move(sorted({slot for key in self.keys for slot in of(key)}), 0)
        relay = self.relay()
        for _ in range(400):
            found = relay.look()
            if not (found.moved or found.again or found.kept):
                break
        assert relay.waiting() == (0, sum(map(len, self.refused().values())))

    def refused(self) -> dict[Group, list[str]]:
        odd = {job_id.decode() for job_id in self.space.odd}
        return {g: [job_id for job_id in ids if job_id in odd] for g, ids in self.wanted.items()}


@pytest.mark.parametrize("seed", range(WALKS))
def test_rows_arrive_once_and_in_order(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = Walk(seed, tmp_path / "shop.db", monkeypatch)
    with closing(walk.connection), closing(walk.database):
        for _ in range(walk.chance.randrange(10, 60)):
            walk.step()
        walk.end()

    refused, place = walk.refused(), {job: n for n, job in enumerate(walk.space.arrived)}
    for group, ids in walk.wanted.items():
        accepted = [job_id for job_id in ids if job_id not in refused[group]]
        assert sorted(accepted, key=place.__getitem__) == accepted, group
    assert max(Counter(walk.space.stored()).values(), default=1) == 1
