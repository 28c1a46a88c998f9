"""A queue in memory whose slots move: who drives, what is there, and where a driver dies."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from coordinator.loop.moving import Mover
from coordinator.loop.relieving import Reliever
from coordinator.snapshots.moves import MoveBoard
from coordinator.snapshots.verdict import VerdictBoard
from queuepool import PoolConfig, QueuePool
from queuepool.partitions.route import Leave
from queuepool.protocol import codec
from queuepool.protocol.keys import Keyspace
from queuepool.routing.moves import Move, asked, asked_slots, move_text, read_move
from queuepool.routing.topology import build
from queuepool.servers import Reply
from queuepool.testing import FakeClock, MemoryServer
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w

EPOCH = 7
KEYS = [f"k{n}" for n in range(12)]
ORDER = {key: list(range(3)) for key in KEYS}  # of what `fill` enqueues


class Died(BaseException):
    """The process is gone."""


class Mortal(MemoryServer):
    """A server whose caller dies at one of its calls. at: the number of the call."""

    def __init__(self) -> None:
        self.fake = FakeClock()
        super().__init__(self.fake)
        self.calls, self.at, self.executed = 0, 0, True
        self.before: Callable[[int], None] = lambda _n: None

    def run_many(self, calls: Sequence[tuple[bytes, Verb[Any]]]) -> list[Reply]:
        self.calls += 1
        self.before(self.calls)
        if self.calls == self.at and not self.executed:
            raise Died
        replies = super().run_many(calls)
        if self.calls == self.at:
            raise Died
        return replies


class Queue:
    """A queue of two partitions, the second one on a server of its own if there are two."""

    def __init__(self, servers: int = 1) -> None:
        self.server, self.now_s = Mortal(), 0.0
        self.servers = {"main": self.server}
        self.verdicts, self.auto_moves, self.told = VerdictBoard(), 0, list[object]()
        if servers == 2:
            self.servers["big"] = Mortal()
        self.app, self.ops = self.pool(), self.pool()
        self.app.route.read(Leave.RECORD)
        self.driver = self.pool()
        self.mover = self.elect()

    def pool(self, retry_for_s: float = 0.0) -> QueuePool:
        placement = "" if len(self.servers) == 1 else "0=main,1=big"
        topology = build(dict.fromkeys(self.servers, "memory:"), 2, placement)
        config = PoolConfig(topology=topology, keyspace=Keyspace("t"), retry_for_s=retry_for_s)
        return QueuePool(config=config, servers=dict(self.servers))

    def elect(self) -> Mover:
        """Let another process lead, which knows nothing."""
        self.driver = self.pool()
        self.driver.route.read()
        self.board = MoveBoard()
        self.mover = Mover(
            self.driver,
            lambda: EPOCH,
            share=100,
            board=self.board,
            reliever=Reliever(
                self.verdicts,
                self.auto_moves,
                emit=self.told.append,
                clock=lambda: self.now_s,
                wall=lambda: self.now_s + 1e9,
            ),
            interval_s=0.0,
            drain_s=0.0,
            clock=lambda: self.now_s,
        )
        return self.mover

    def fill(self, jobs: int = 3, keys: Sequence[str] = KEYS) -> None:
        for key in keys:
            rows = ({"key": key, "n": n} for n in range(jobs))
            self.app.enqueue_many("t", rows, partition_key=key)

    @property
    def move(self) -> Move | None:
        return read_move(self.ops.route.read())

    def change(self, made: Callable[[Move | None], Move]) -> None:
        record = self.ops.route.read()
        assert record is not None
        server, key = self.ops.system
        changes = {"move": move_text(made(read_move(record)))}
        verb = operate.change_route(record.version, secrets.token_hex(4), changes)
        assert verb.read(server.run(key, [verb])[0])[0]

    def ask(self, partitions: int, *, on: str = "") -> None:
        """Ask for so many partitions; where there are several servers, new ones on this one."""
        self.ops.route.read()
        view = self.ops.config.topology.view
        places = [*view.placement, *view.retired]
        places += [on] * (partitions - len(places))
        servers = ",".join(f"{n}={at}" for n, at in enumerate(places))
        named = servers if len(self.servers) > 1 else ""
        self.change(lambda _: asked(view, partitions, servers=named))

    def ask_slots(self, slots: Mapping[int, int]) -> None:
        self.change(lambda _: asked_slots(self.ops.config.topology.view, slots))

    def abort(self) -> None:
        """Let the move go back; one that has ended stays as it is, as for an operator."""

        def back(move: Move | None) -> Move:
            assert move is not None
            return move.aborted() if move.under_way else move

        self.change(back)

    def look(self) -> bool:
        """Let the leader do a step, and pause; return whether a move is under way still."""
        self.now_s += self.mover.look()
        move = read_move(self.driver.config.topology.view.record)
        return move is not None and move.under_way

    def drive(self, most: int = 300) -> int:
        """Let it go to the end; return how many steps that took."""
        for n in range(most):
            if not self.look():
                return n
        raise AssertionError(f"no end: {self.move}")

    def jobs(self) -> dict[int, int]:
        self.ops.route.read()
        return {place.number: place.observe().jobs for place in self.ops.partitions()}

    def totals(self) -> dict[str, tuple[int, int, int, int]]:
        """Return what a user sees of each group."""
        found = {key: self.app.group(key).status() for key in KEYS}
        return {key: (s.total, s.left, s.done, s.dead) for key, s in found.items()}

    def run_all(self) -> dict[str, list[int]]:
        """Run everything; return the numbers of each key's jobs in the order of their starts."""
        ran: dict[str, list[int]] = {}
        self.ops.route.read()
        for place in self.ops.places():
            owned = place.acquire(lease_s=600)
            assert not isinstance(owned, own.Held)
            while (claims := w.claim(owned)).taken:
                for body in claims.bodies:
                    payload: Any = codec.decode_envelope(body).payload
                    ran.setdefault(payload["key"], []).append(payload["n"])
                w.finish(owned, claims)
            owned.run(own.release(owned.ownership, drain_lease_ms=0))
        return ran

    def tell_nobody(self, number: int) -> int:
        """Return the least version that a partition accepts."""
        return self.ops.partition(number).run(lead.turn_away(0))
