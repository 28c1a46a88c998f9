"""Writes what becomes of a move into the route record, with the version that was read.

So whoever drives late, or beside someone who aborts, finds the record changed, and reads it again.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
from collections.abc import Callable

from coordinator.loop.carrying import ChangedError, InterruptedMoveError
from queuepool.client.pool import QueuePool
from queuepool.models import RouteRecord
from queuepool.routing.moves import Move, move_text, read_move
from queuepool.verbs.operator import verbs as operate

_log = logging.getLogger("coordinator.moves")


class MoveRecord:
    """The move in the record. going: whether to go on, asked before each change."""

    def __init__(self, pool: QueuePool, going: Callable[[], bool]) -> None:
        self._pool, self._going = pool, going
        self._trouble = ""

    def change(self, record: RouteRecord, move: Move | None, **fields: str) -> int:
        """Change the record that was read, and follow it; return its version."""
        server, key = self._pool.system
        changes = {"move": move_text(move), **fields} if move is not None else fields
        if not self._going():
            raise InterruptedMoveError
        verb = operate.change_route(record.version, secrets.token_hex(8), changes)
        changed, version = verb.read(server.run(key, [verb])[0])
        if not changed:
            raise ChangedError
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
