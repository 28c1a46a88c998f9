"""Permits of earlier ownerships of a partition: whether they may be there, and their end. Pure.

possible --nobody was ever at a gate--> none
   |  ^                                  ^
   |  `--jobs of dead owners came back   | every partition answered
   `--no job of theirs can run--> ending-'   each page by page; what gets no answer is repeated
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING

from consumer.core.remote_call import ToAll
from queuepool.errors import QueuePoolError
from queuepool.verbs.limits import verbs as homes

if TYPE_CHECKING:
    from consumer.core.remote_call import Address
    from queuepool.servers import Reply
    from queuepool.verbs import Verb
    from queuepool.verbs.owner.replies import Ownership

    Ending = Verb[tuple[bytes, int]]
    _Due = tuple[float, int, Address, Ending]  # s, its place in the order of all

_AGAIN_S = 2.0


class EarlierPermits:
    """Each partition may be the home of limits. possible: as above."""

    def __init__(self, ownership: Ownership) -> None:
        self._ownership = ownership
        self.possible = True
        self._calls: list[_Due] = []  # a heap
        self._made = 0

    def suspect(self) -> None:
        """Note that jobs of earlier owners came back: their permits are to be ended once more."""
        self.possible = True

    def on_quiet(self, *, used: bool) -> None:
        """Note that no job of earlier owners can run. used: whether jobs ever were at a gate."""
        if self.possible and used:
            self._calls.clear()
            self._add(0.0, ToAll(), homes.end_permits(self._ownership.asker, self._ownership.epoch))
        self.possible = False

    def next_s(self) -> float:
        """Return when the next call is due; inf for never."""
        return self._calls[0][0] if self._calls else inf

    def due(self, now_s: float) -> list[tuple[Address, Ending]]:
        """Return (to, verb) of the calls that are due; each partition gives an answer."""
        found = []
        while self._calls and self._calls[0][0] <= now_s:
            _, _, to, verb = heappop(self._calls)
            found.append((to, verb))
        return found

    def on_reply(self, to: Address, verb: Ending, reply: Reply, now_s: float) -> None:
        """Go on with the next page, or repeat a call that failed."""
        try:
            cursor, _freed = verb.read(reply)
        except QueuePoolError:
            self._add(now_s + _AGAIN_S, to, verb)
        else:
            if cursor != b"0":
                self._add(now_s, to, homes.next_page(verb, cursor))

    def _add(self, due_s: float, to: Address, verb: Ending) -> None:
        self._made += 1  # so that no two verbs are compared
        heappush(self._calls, (due_s, self._made, to, verb))
