"""Moves of slots as people see, ask for and abort them. A coordinator carries them out.

    set N, or move P to a server, or slots to P
          --checks--> asked --the leader takes it up--> moving ... --> ended
                       `--nobody does--> taken back, with the reason

All that can be known is checked before anything is written; the leader checks what may have come
since, before it moves anything.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection import relocating
from queuepool.cli.inspection.pools import has_leader
from queuepool.client.pool import QueuePool
from queuepool.errors import ConfigurationError, ScriptError, UnavailableError
from queuepool.models import PartitionState
from queuepool.partitions.partition import Partition
from queuepool.routing.moves import (
    Move,
    Stage,
    asked,
    asked_slots,
    asked_to,
    differing,
    move_text,
    read_move,
    table_of,
)
from queuepool.routing.progress import Facts
from queuepool.routing.ranges import slots_text
from queuepool.routing.slots import SLOTS
from queuepool.routing.topology import MAX_PARTITIONS
from queuepool.routing.views import OPEN
from queuepool.verbs.operator import verbs as operate

TAKEN_UP_S = 15.0
MOST_SLOTS = 256  # one sixteenth of all; more of them is `partitions set`
_LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class Line:
    """One partition: its slots, and what it has. state: None when its server does not answer."""

    number: int
    server: str
    slots: int
    goal: int
    state: PartitionState | None


class Moves:
    """Reads the move of a queue, asks for one, and aborts it."""

    def __init__(self, pool: QueuePool) -> None:
        self._pool = pool

    def facts(self) -> Facts:
        """Return where it stands. Raises CommandError for a queue without a route record."""
        record = self._pool.route.read()
        if record is None:
            raise CommandError(
                f"this queue has no route record on server {self._pool.config.topology.system!r}: "
                "start a consumer or a coordinator, which makes it; if some run, their warnings "
                "say why they cannot",
                Exit.USAGE,
            )
        return Facts(record, self._pool.config.topology.view, read_move(record))

    def lines(self, facts: Facts) -> list[Line]:
        """Return all partitions."""
        slots = Counter(table_of(facts.view))
        goal = slots if facts.under_way is None else Counter(facts.under_way.table())
        found = []
        for number in facts.view.owned:
            server = self._pool.config.topology.server_of(number)
            try:
                state = self._pool.partition(number).observe()
            except UnavailableError:
                state = None
            found.append(Line(number, server, slots[number], goal[number], state))
        return found

    def set_partitions(self, count: int, *, on: str = "") -> Facts:
        """Ask for a move to so many partitions, and wait until it begins. Raises CommandError."""
        if not 1 <= count <= MAX_PARTITIONS:
            raise CommandError(
                f"{count} partitions are not possible: use 1 to {MAX_PARTITIONS}", Exit.USAGE
            )
        facts = self._may_begin()
        if count == len(facts.view.placement) and not differing(
            table_of(facts.view), asked(facts.view, count).table()
        ):
            raise CommandError(f"there are {count} partitions already; nothing was done")
        servers = self._servers(facts, count, on)
        self._all_answer(facts, count, on)
        return self._ask_for(facts, asked(facts.view, count, servers=servers, at_ms=_now_ms()))

    def move_to(self, partitions: Sequence[int], server: str) -> Facts:
        """Ask for a move of partitions to a server, as set_partitions. Raises CommandError."""
        facts, numbers = self._may_begin(), sorted(set(partitions))
        try:
            relocating.check(self._pool, facts, numbers, server)
        except UnavailableError as error:
            raise _silent(error) from None
        self._all_answer(facts, len(facts.view.placement), server)
        to = dict.fromkeys(numbers, server)
        return self._ask_for(facts, asked_to(facts.view, to, at_ms=_now_ms()))

    def move_slots(self, slots: Sequence[int], partition: int) -> Facts:
        """Ask for a move of slots to a partition, as set_partitions. Raises CommandError."""
        facts, wanted = self._may_begin(), sorted(set(slots))
        count, table = len(facts.view.placement), table_of(facts.view)
        if not wanted or wanted[-1] >= SLOTS or len(wanted) > MOST_SLOTS:
            raise CommandError(
                f"name 1 to {MOST_SLOTS} slots, from 0 to {SLOTS - 1}; nothing was done", Exit.USAGE
            )
        if partition >= count:
            raise CommandError(
                f"there is no partition {partition}: use 0 to {count - 1}; nothing was done",
                Exit.USAGE,
            )
        to = {slot: partition for slot in wanted if table[slot] != partition}
        if not to:
            raise CommandError(
                f"slot {slots_text(wanted)} is in partition {partition} already; nothing was done"
            )
        self._all_answer(facts, count, "")
        return self._ask_for(facts, asked_slots(facts.view, to, at_ms=_now_ms()))

    def _ask_for(self, facts: Facts, move: Move) -> Facts:
        self._has_leader()
        self._change(facts, move)
        facts = self._begun()
        if facts.move is not None and facts.move.stage is Stage.REFUSED:
            raise CommandError(f"{facts.move.reason}; nothing was moved")
        return facts

    def abort(self) -> Facts:
        """Let a move go back. Raises CommandError if there is none, or it is going back already."""
        for _ in range(20):
            facts = self.facts()
            move = facts.under_way
            if move is None:
                raise CommandError("no move is under way; nothing was done")
            if move.stage is Stage.ABORTING:
                raise CommandError("the move has already been aborted and is being reverted")
            is_asked = move.stage is Stage.ASKED
            try:
                self._change(facts, move.over(Stage.ABORTED) if is_asked else move.aborted())
            except _ChangedError:  # the leader made a step meanwhile
                continue
            return self.facts()
        raise CommandError("the move is between two steps: try again")

    def _may_begin(self) -> Facts:
        facts = self.facts()
        if facts.record.migration == OPEN:
            raise CommandError(
                "this queue is being moved to partitions (`queuepool migrate status`): seal that "
                "first; nothing was done"
            )
        if facts.under_way is not None:
            raise CommandError(f"{_in_the_way(facts.under_way)}; nothing was done")
        return facts

    def _servers(self, facts: Facts, count: int, on: str) -> str:
        """Return the placement during and after the move; empty: there is one server."""
        known = self._pool.config.topology.servers
        if on and on not in known:
            raise CommandError(
                f"there is no server {on!r}: QUEUEPOOL_SERVERS names {', '.join(known)}", Exit.USAGE
            )
        if len(known) == 1:
            return ""
        places = [*facts.view.placement, *facts.view.retired]
        if count > len(places) and not on:
            raise CommandError(
                f"name the server of partitions {len(places)} to {count - 1}: --on "
                f"{next(iter(known))}, for example; nothing was done",
                Exit.USAGE,
            )
        places += [on] * (count - len(places))
        return ",".join(f"{n}={name}" for n, name in enumerate(places))

    def _all_answer(self, facts: Facts, count: int, on: str) -> None:
        """Raise unless all partitions answer, and the servers of new ones can run our scripts."""
        topology, keyspace = self._pool.config.topology, self._pool.config.keyspace
        name = on or next(iter(topology.servers))
        try:
            for place in self._pool.places():
                place.observe()
            for number in range(len(facts.view.homes), count):
                relocating.try_out(
                    Partition(number, keyspace.partition(number), self._pool.servers[name])
                )
        except UnavailableError as error:
            raise _silent(error) from None
        except ConfigurationError as error:
            raise relocating.unusable(name, error) from None

    def _has_leader(self) -> None:
        if not has_leader(self._pool):
            raise CommandError(
                "no coordinator leads, so nothing would move: start one (`queuepool "
                "coordinator`); nothing was done"
            )

    def _begun(self) -> Facts:
        """Wait for the leader to take a move up; else take it back."""
        until_s, pause = time.monotonic() + TAKEN_UP_S, threading.Event()
        while True:
            facts = self.facts()
            if facts.under_way is None or facts.under_way.stage is not Stage.ASKED:
                return facts
            if time.monotonic() >= until_s:
                break
            pause.wait(_LOOK_S)
        said = f" It says: {facts.under_way.reason}." if facts.under_way.reason else ""
        try:
            self._change(facts, facts.under_way.over(Stage.ABORTED))
        except _ChangedError:
            return self.facts()
        raise CommandError(
            f"no coordinator started the move within {TAKEN_UP_S:g} s, so it was withdrawn and "
            f"nothing was moved.{said} Does the leader run this version, and does it have the "
            "permissions of `ops` (docs/moves.md)?"
        )

    def _change(self, facts: Facts, move: Move) -> None:
        server, key = self._pool.system
        changes = {"move": move_text(move)}
        verb = operate.change_route(facts.record.version, secrets.token_hex(8), changes)
        try:
            changed, _ = verb.read(server.run(key, [verb])[0])
        except ScriptError as error:
            raise CommandError(
                f"{error} This command needs the permissions of an operator"
            ) from None
        if not changed:
            raise _ChangedError


def _in_the_way(move: Move) -> str:
    """Return what is said of a move that is under way, when another one is asked for."""
    if move.stage is Stage.ABORTING:
        return (
            f"a move {move.wanted} was aborted and is being reverted (`queuepool moves`): wait "
            "until that has ended"
        )
    return (
        f"a move {move.text} is running (`queuepool moves`): wait until it ends, or abort it "
        "(`queuepool moves abort`)"
    )


def _silent(error: UnavailableError) -> CommandError:
    return CommandError(f"not all partitions respond; nothing was done: {error}", Exit.UNAVAILABLE)


def _now_ms() -> int:
    return round(time.time() * 1000)


class _ChangedError(CommandError):
    """Someone else changed the record."""

    def __init__(self) -> None:
        super().__init__("the route was changed in the meantime; nothing was done: try again")
