"""When an owner reads which jobs are booked as its own, and what it makes of them. Pure.

A claim whose answer was lost is in the book and not in memory: it is handed back. The book is read
now and then, at once after a turn without an answer, and soon again after a find.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from consumer.core import events

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from consumer.core.in_flight import InFlight
    from consumer.core.turn import OnReply

_EVERY_S, _SOON_S = 15.0, 1.0


class Reconciling:
    """at_s: when the book is read next."""

    def __init__(self, in_flight: InFlight, now_s: float) -> None:
        self._holdings = in_flight
        self.at_s = now_s + _EVERY_S

    def soon(self, now_s: float) -> None:
        """Read the book within a second."""
        self.at_s = min(self.at_s, now_s + _SOON_S)

    def reader(self, now_s: float, tell: Callable[[object], None]) -> OnReply:
        """Return who heeds the book, read by a turn that is planned now. tell: takes an event."""
        known = set(self._holdings.claimed)

        def on_reply(book: Sequence[bytes]) -> None:
            unknown = [id for id in book if id not in known]
            self.at_s = now_s + (_SOON_S if unknown else _EVERY_S)
            if unknown:
                self._holdings.hand_back_lost_claims(unknown, now_s)
                tell(events.Reconciled(len(unknown)))

        return on_reply
