"""Waits that downstreams asked for (429), until the homes of their limits know them. Pure.

    noted --sent--> unanswered --an answer--> forgotten
      ^                |  `--and since then a job was told to wait longer--> noted
      `---a failure----'

Invariants
  D1 a wait is repeated until its home answers, at the latest KEEP_S after its end.
  D2 its end is a time of our clock: each repetition tells what is left of it.
  D3 the home of a limit is told of a wait before it is asked for the limit's tokens again.

The home takes the longest wait, so repetitions change nothing. An adaptive limit slows down once,
since it does not while it waits; if all replies until the end of a wait were lost, it may twice.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import ceil, inf
from typing import TYPE_CHECKING

from msgspec import Struct

from queuepool.errors import QueuePoolError
from queuepool.verbs.limits import verbs as homes

if TYPE_CHECKING:
    from collections.abc import Callable

    from queuepool.servers import Reply
    from queuepool.verbs import Verb

MOST = 10_000  # limits; with more, the oldest are dropped
KEEP_S = 60.0  # after its end, an adaptive limit is still to slow down
_LONGEST_S = 86_400.0  # as in slow.lua
_SOONEST_S, _LATEST_S = 0.05, 2.0  # between repetitions


class _Wait(Struct):
    """due_s: when it is to be sent; inf while it is unanswered. sent_s: the end that was sent."""

    end_s: float
    due_s: float
    sent_s: float = 0.0
    failed: int = 0


class DownstreamWaits:
    """The waits of one owner, at most one for each limit.

    definition_of: what code declares of a limit, "" for nothing.
    """

    def __init__(self, definition_of: Callable[[str], str]) -> None:
        self._definition_of = definition_of
        self._waits: dict[str, _Wait] = {}
        self._heap: list[tuple[float, str]] = []  # when which is due; may be out of date

    def note(self, name: str, end_s: float, now_s: float) -> None:
        """Note that no job of a limit is to start before a time."""
        end_s = min(end_s, now_s + _LONGEST_S)
        wait = self._waits.get(name)
        if wait is not None:
            wait.end_s = max(wait.end_s, end_s)
            return
        if len(self._waits) >= MOST:
            del self._waits[next(iter(self._waits))]
        self._waits[name] = _Wait(end_s, now_s)
        heappush(self._heap, (now_s, name))

    def next_s(self) -> float:
        """Return when the next one is to be sent; inf for never."""
        heap = self._heap
        while heap and not self._is_due(*heap[0]):
            heappop(heap)
        return heap[0][0] if heap else inf

    def due(self, now_s: float) -> list[tuple[str, Verb[int]]]:
        """Return (limit, verb) of those that are to be sent now; each gets an answer."""
        found = []
        while self.next_s() <= now_s:
            found += self.of(heappop(self._heap)[1], now_s)
        return found

    def of(self, name: str, now_s: float) -> list[tuple[str, Verb[int]]]:
        """Return what is to be sent before the home of a limit is asked, as `due` does."""
        wait = self._waits.get(name)
        if wait is None or wait.due_s == inf:
            return []
        wait.due_s, wait.sent_s = inf, wait.end_s
        wait_ms = max(0, ceil((wait.end_s - now_s) * 1000))
        return [(name, homes.slow(name, wait_ms, self._definition_of(name)))]

    def on_reply(self, name: str, verb: Verb[int], reply: Reply, now_s: float) -> None:
        """Forget a wait that its home knows, and repeat one that got no answer."""
        wait = self._waits.get(name)
        if wait is None:
            return
        try:
            verb.read(reply)
        except QueuePoolError:
            wait.due_s = now_s + min(_LATEST_S, _SOONEST_S * 2**wait.failed)
            wait.failed = min(wait.failed + 1, 10)
            known = now_s > wait.end_s + KEEP_S
        else:
            wait.due_s, known = now_s, wait.end_s <= wait.sent_s
        if known:
            del self._waits[name]
        else:
            heappush(self._heap, (wait.due_s, name))

    def _is_due(self, due_s: float, name: str) -> bool:
        wait = self._waits.get(name)
        return wait is not None and wait.due_s == due_s
