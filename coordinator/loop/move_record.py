"""Writes what becomes of a move into the route record, with the version that was read.

So whoever drives late, or beside someone who aborts, finds the record changed, and reads it again.

The leader makes the changes, so it knows the newest version. A record that was lost is written
again as it knows it. Another process may have been faster, and known less; or a failover has lost
the last versions. Then it gets a higher version than anybody knows, so that everybody follows it:

    a partition accepts only later versions   slots went on: it says what the leader knows
    none does                                 the partitions are of that time, too: it says what it
                                              says
"""

from __future__ import annotations

import contextlib
import logging
import secrets
from collections.abc import Callable, Mapping
from typing import TypeVar

from coordinator.loop.carrying import ChangedError
from coordinator.loop.pacing import InterruptedMoveError
from queuepool.client.pool import QueuePool
from queuepool.models import RouteRecord
from queuepool.routing.moves import Move, move_text, read_move
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.producer import route

_log = logging.getLogger("coordinator.moves")
T = TypeVar("T")


class MoveRecord:
    """The move in the record. going: whether to go on, asked before each change."""

    def __init__(self, pool: QueuePool, going: Callable[[], bool]) -> None:
        self._pool, self._going = pool, going
        self._trouble = ""

    def follow(self) -> None:
        """Read the record, and follow it; write it again if it fell back."""
        known = self._pool.config.topology.view.record
        if known is not None and self._stands(known):
            return
        self._pool.route.follow()

    def _stands(self, known: RouteRecord) -> bool:
        """Return whether the record is the one that is known; write it again if it fell back."""
        found = self._run(route.look(self._pool.system[1]))
        if found is None:
            self._run(route.restore(known))
        elif found.version < known.version:
            least = max(place.run(lead.turn_away(0)) for place in self._pool.places())
            self._raise(found, known if least > found.version else found, known.version)
            _log.warning(
                "the route record fell back from version %d to %d: it is as in version %d again",
                known.version,
                found.version,
                known.version if least > found.version else found.version,
            )
        return found is not None and found.version == known.version

    def _raise(self, found: RouteRecord, content: RouteRecord, above: int) -> None:
        """Let the record that was found say this, by a higher version than that."""
        fields: dict[str, str] = route.contents(content)
        for version in range(found.version, above + 1):
            self._write(version, fields)
            fields = {}

    def _write(self, version: int, fields: Mapping[str, str]) -> int:
        """Change the record of this version, and return its next one."""
        if not self._going():
            raise InterruptedMoveError
        changed, new = self._run(operate.change_route(version, secrets.token_hex(8), fields))
        if not changed:
            raise ChangedError
        return new

    def _run(self, verb: Verb[T]) -> T:
        server, key = self._pool.system
        return verb.read(server.run(key, [verb])[0])

    def change(self, record: RouteRecord, move: Move | None, **fields: str) -> int:
        """Change the record that was read, and follow it; return its version."""
        changes = {"move": move_text(move), **fields} if move is not None else fields
        version = self._write(record.version, changes)
        self._pool.route.follow()
        return version

    def wait_for(self, record: RouteRecord, move: Move, what: str) -> None:
        """Say what the move waits for, unless the record says so."""
        waiting = move.because(f"waits for {what}")
        if move.reason != waiting.reason:
            self.change(record, waiting)

    def note(self, trouble: str) -> None:
        """Tell of trouble once: in the log, and in the record, if that can be written."""
        record = self._pool.config.topology.view.record
        nothing_moves = record is None or not record.move  # others tell of servers that are away
        if trouble and trouble != self._trouble and not nothing_moves:
            _log.warning("moving slots: %s", trouble)
            with contextlib.suppress(Exception):
                if record is not None and (move := read_move(record)) and move.under_way:
                    self.change(record, move.because(trouble))
        self._trouble = trouble
