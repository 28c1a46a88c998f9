"""Calls servers no more than is allowed: a share of the time, the rest of which is a pause.

Pauses that calls have earned servers are made together, as soon as they are long enough. In a
hurry they are made later: the debt is paid before, and a credit lets short work be done at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

_SHORTEST_PAUSE_S = 0.001  # a shorter one would be longer than that
_LONGEST_PAUSE_S = 1.0
_CREDIT_S = 0.03  # of pauses


class InterruptedMoveError(Exception):
    """The process is stopping, or leads no more."""


class Pacer:
    """Makes calls, and leaves servers alone for a while.

    share: of the time, for calls; going: whether to go on, asked before each call.
    """

    def __init__(
        self,
        share: float,
        *,
        going: Callable[[], bool],
        rest: Callable[[float], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._share, self._going, self._rest, self._clock = share, going, rest, clock
        self._owed_s = self._credit_s = 0.0

    def __call__(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Make a call. Raises InterruptedMoveError, and what it raises."""
        if not self._going():
            raise InterruptedMoveError
        began_s = self._clock()
        reply = call(*arguments)
        spent_s = self._clock() - began_s
        self._owed_s += spent_s * (1 / self._share - 1)
        if self._owed_s >= self._credit_s + _SHORTEST_PAUSE_S:
            self._pause()
        return reply

    def hurry(self) -> None:
        """Make the pause that is due now, and the next one a little later."""
        self._pause()
        self._credit_s = _CREDIT_S

    def _pause(self) -> None:
        self._rest(min(self._owed_s, _LONGEST_PAUSE_S))
        self._owed_s = self._credit_s = 0.0
