"""What an owner has of one limit: tokens, each for one start, and permits to run at once. Pure.

    enough --jobs want more--> asking --granted--> enough
                                  `-- refused, paused, unreachable --> waits, as told

A token may be used from its time on, for TOKEN_S: later it is dropped, since others may have what
it stood for. Permits are absolute: an ask names how many jobs run and how many shall, so that what
is asked twice, or lost, changes nothing wrongly. What is granted is never used beyond its number.

While jobs run, the home is asked at least every 5 s, also by an owner that wants no more: if the
limit got a concurrency in the meantime, the home counts them from then on.
"""

from __future__ import annotations

from bisect import insort
from collections import OrderedDict, deque
from math import inf
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from consumer.core.limits.gate import GateView
    from queuepool.verbs.limits.verbs import Granted

TOKEN_S = 2.0
MAX_TOKENS = 1000  # at hand or on the way
_SOONEST_S, _LATEST_S = 0.05, 2.0  # between asks of a home that does not answer
_WEIGHT = 0.3  # of the latest grant in the pace of grants
_ANY = 10**9  # permits of a limit without a concurrency
_HEAR_S = 5.0  # while jobs run, between asks of a home that told no time: it may get a concurrency
_LEAST_S = 0.005  # between asks of one that told when
_LONG_S = 0.3  # to wait for tokens: others that the same jobs need are not asked meanwhile


class Asked(Struct, frozen=True):
    """What an ask names: tokens, jobs that run, and how many are to run at once, these included."""

    tokens: int
    held: int
    wanted: int


class Share:
    """One limit.

    used: jobs that run or were admitted; wanted: jobs that could be admitted if limits allowed it.
    told: permits that the home counts as ours. scarce: it grants fewer than were wanted.
    gates: those that need it, by name; line: those of them that wait for it. blocked: as the last
    look at it found, see is_blocked. finished, worked_s: its jobs that ended, and what they took.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.gates: dict[str, GateView] = {}
        self.line: OrderedDict[str, GateView] = OrderedDict()
        self.used = self.wanted = self.permits = self.told = 0
        self.apart_s = 0.0
        self.finished, self.worked_s = 0, 0.0
        self._per_s = self._end_s = 0.0  # tokens granted a second, and the end of the last ones
        self._waits_s: float | None = None  # since when others have all tokens
        self.scarce = self.blocked = False
        self.asked: Asked | None = None  # in an ask that has no answer yet
        self._due: deque[float] = deque()
        self._coming: deque[float] = deque()
        # No ask for tokens, for permits, at all before; one is due by _again_s
        self._tokens_s = self._permits_s = self._retry_s = 0.0
        self._again_s = inf
        self._batch = self._failed = self._granted = 0
        self._refused = False

    @property
    def idle(self) -> bool:
        """Return whether nothing would be lost if it were forgotten."""
        return not (self.gates or self.used or self.told or self.asked)

    def is_blocked(self) -> bool:
        """Return whether none of its jobs can be admitted for long, whatever else they have."""
        if self._refused and not (self._due or self._coming):
            return True
        return self.scarce and self._granted <= self.used

    @property
    def may_start_per_s(self) -> float:
        """Return how many more jobs may start a second, in the long run; inf if no rate bounds it.

        None where permits are short: what may run was admitted already.
        """
        if self.scarce or self._failed > 1:
            return 0.0
        return self._per_s if self.apart_s else inf

    def ready(self, now_s: float) -> int:
        """Return how many jobs may be admitted now."""
        self._look_at_tokens(now_s)
        return max(0, min(len(self._due), self.permits - self.used))

    def _look_at_tokens(self, now_s: float) -> None:
        due, coming = self._due, self._coming
        while coming and coming[0] <= now_s:
            due.append(coming.popleft())
        while due and due[0] < now_s - TOKEN_S:
            due.popleft()

    def spend(self) -> float:
        """Use the oldest token; return its time."""
        return self._due.popleft()

    def take_back(self, token_s: float) -> None:
        """Take back a token that was not used after all."""
        insort(self._due, token_s)

    def lacks(self) -> int:
        """Return how many tokens to ask for; 0 or less: none."""
        wanted = self.wanted
        if self.scarce and self.apart_s:  # tokens that no permit matches would be wasted
            wanted = min(wanted, self.permits - self.used)
        tokens = len(self._due) + len(self._coming)
        return 0 if tokens > self._batch // 5 else min(wanted, MAX_TOKENS) - tokens

    def must_ask(self, now_s: float) -> bool:
        """Return whether an ask is due."""
        self._look_at_tokens(now_s)
        return self.asked is None and self._ask_at_s() <= now_s

    def next_s(self, now_s: float, *, admits: bool = True) -> float:
        """Return when something is to be done: now, at a time, or never by time alone (inf)."""
        admit_s, ready = inf, self.ready(now_s)
        if self.line and admits:
            if ready > 0:
                return now_s
            if self._coming and self.permits > self.used:
                admit_s = self._coming[0]
        return admit_s if self.asked else min(admit_s, max(now_s, self._ask_at_s()))

    def _ask_at_s(self) -> float:
        at_s = inf
        if self.lacks() > 0:
            at_s = self._tokens_s
        if self.wanted > 0 and self.used + self.wanted > self.permits:
            at_s = min(at_s, self._permits_s)
        if self.told + self.wanted + self.used > 0:
            at_s = min(at_s, self._again_s)
        if self.told > 0 and self.used + self.wanted == 0:
            at_s = 0.0  # others may have them
        return max(at_s, self._retry_s)

    def begin_ask(self) -> Asked:
        """Return what to ask for. Until the answer no more jobs may run than run now.

        Others may be granted what we had beyond these, whether we hear the answer or not.
        """
        self.asked = Asked(max(0, self.lacks()), self.used, self.used + self.wanted)
        if self.permits < _ANY:
            self.permits = min(self.permits, self.used)
        return self.asked

    def on_granted(self, granted: Granted, now_s: float) -> None:
        """Take what the home grants."""
        asked, self.asked = self.asked or Asked(0, 0, 0), None
        self._failed, self._retry_s = 0, 0.0
        if granted.tokens:
            first_s = now_s + (granted.first_us - granted.now_us) / 1e6
            self.apart_s = granted.apart_us / 1e6
            due = (max(now_s, first_s + n * self.apart_s) for n in range(granted.tokens))
            self._coming.extend(due)
            self._batch, self._refused = granted.tokens, False
            self._note_pace(granted.tokens, first_s, now_s)
        elif asked.tokens and self._waits_s is None:
            self._waits_s = now_s
        if granted.paused:
            self._per_s = 0.0
        self.scarce, again_s = granted.permits < asked.wanted, now_s + _HEAR_S
        # Of permits, a home tells when to ask again; of none, because none was wanted, nothing
        bounded = self.scarce or granted.again_us > 0 or granted.permits == 0
        self.permits = granted.permits if bounded else _ANY
        self._granted = granted.permits
        self.told = max(asked.held, granted.permits) if bounded else 0
        if granted.again_us:
            again_s = now_s + max(_LEAST_S, (granted.again_us - granted.now_us) / 1e6)
        self._again_s = again_s
        if asked.tokens:
            self._tokens_s = now_s if granted.tokens else min(again_s, now_s + _LATEST_S)
            self._refused = not granted.tokens and self._tokens_s >= now_s + _LONG_S
        self._permits_s = again_s if self.scarce else now_s

    def _note_pace(self, tokens: int, first_s: float, now_s: float) -> None:
        # Its own rate, less the time for which others have it. While we want nothing, no one has.
        asked_s = now_s if self._waits_s is None else self._waits_s
        spent_s = tokens * self.apart_s + max(0.0, first_s - max(asked_s, self._end_s))
        self._end_s, self._waits_s = first_s + tokens * self.apart_s, None
        per_s = tokens / spent_s if spent_s else 0.0
        self._per_s += (per_s - self._per_s) * (_WEIGHT if self._per_s else 1.0)

    def on_failure(self, now_s: float) -> None:
        """Note that an ask got no answer: it may or may not have been heard."""
        self.asked = None
        self._permits_s = now_s  # what was granted before is gone: others may have it
        self._retry_s = now_s + min(_LATEST_S, _SOONEST_S * 2**self._failed)
        self._failed = min(self._failed + 1, 10)
        self._refused = self._refused or self._failed > 1
