"""Begins moves off hot partitions where COORDINATOR_AUTO_MOVES allows it; see core.moves.relief.

Called by the thread that moves slots while this process leads, and only when nothing moves.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from coordinator.core.events import MoveBegun
from coordinator.core.moves.relief import FRESH_S, SETTLE_S, Relief, may_begin, relief
from coordinator.snapshots.verdict import VerdictBoard
from queuepool.errors import ScriptError
from queuepool.models.advice import Advised
from queuepool.routing.moves import Move
from queuepool.routing.views import View
from queuepool.telemetry.events import Listener, ignore

_log = logging.getLogger("coordinator.moves")


class Reliever:
    """Decides when to begin a move. per_hour: how many; 0: none."""

    def __init__(
        self,
        board: VerdictBoard,
        per_hour: int,
        *,
        emit: Listener = ignore,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._board, self._per_hour = board, per_hour
        self._emit, self._clock, self._wall = emit, clock, wall
        self._problem = ""
        self._advised: tuple[Advised | None, float] = None, 0.0  # and since when
        self._last: tuple[int, float] | None = None  # asked for, and since when it is over

    def forget(self) -> None:
        """Count from now on since when the last move is over: another process led meanwhile."""
        self._last = None

    def wanted(self, view: View, last: Move | None) -> Relief | None:
        """Return the move to begin now; None for none. last: of the record, and over."""
        now_s, now_ms, advised = self._clock(), int(self._wall() * 1000), self._board.advised
        if advised is not self._advised[0]:
            self._advised = advised, now_s
        settled = True
        if last is not None:
            if self._last is None or last.at_ms != self._last[0]:
                self._last = last.at_ms, now_s
            settled = now_s - self._last[1] >= SETTLE_S
        if advised is None or not settled or now_s - self._advised[1] > FRESH_S:
            return None
        if not may_begin(view, last, per_hour=self._per_hour, now_ms=now_ms):
            return None
        return relief(view, advised.advice, at_ms=now_ms)

    @contextmanager
    def telling(self, relief: Relief) -> Iterator[None]:
        """Tell that a move has begun, or once why none can begin."""
        try:
            yield
        except ScriptError as error:  # such as missing permissions
            if str(error) != self._problem:
                self._problem = str(error)
                _log.warning("cannot move slots off a hot partition: %s", self._problem)
        else:
            self._problem = ""
            self._emit(MoveBegun(relief.move.text, relief.why))
