"""What an owner has of one limit: tokens, each for one start, and permits to run at once. Pure.

    enough --jobs want more--> asking --granted--> enough
                                  `-- refused, paused, unreachable --> waits, as told

A token may be used from its time on, for TOKEN_S: later it is dropped, since others may have what
it stood for. Permits are absolute: `ask` names how many jobs run and how many shall, so that what
is asked twice, or lost, changes nothing wrongly. What is granted is never used beyond its number.
"""

from __future__ import annotations

from collections import deque
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queuepool.verbs.limits.verbs import Granted

TOKEN_S = 2.0
MAX_TOKENS = 1000  # at hand or on the way
_SOONEST_S, _LATEST_S = 0.05, 2.0  # between asks of a home that does not answer
_ANY = 10**9  # permits of a limit without a concurrency
_LEAST_S = 0.005  # between asks of one that told when


class Share:
    """One limit. gates: the names of those that need it. used: jobs that run or were admitted.

    tokens: the times from which each may be used, in order. told: permits that the home counts as
    ours. scarce: it grants fewer than were wanted.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.gates: set[str] = set()
        self.tokens: deque[float] = deque()
        self.used = self.permits = self.told = 0
        self.apart_s = 0.0
        self.asking = self.scarce = False
        # No ask for tokens, for permits, at all before; one is due by _again_s
        self._tokens_s = self._permits_s = self._retry_s = 0.0
        self._again_s = inf
        self._batch = self._failed = 0

    def ready(self, now_s: float) -> int:
        """Return how many jobs may be admitted now."""
        while self.tokens and self.tokens[0] < now_s - TOKEN_S:
            self.tokens.popleft()
        due = 0
        for at_s in self.tokens:
            if at_s > now_s:
                break
            due += 1
        return max(0, min(due, self.permits - self.used))

    def spend(self, jobs: int) -> None:
        """Use the oldest tokens."""
        for _ in range(jobs):
            self.tokens.popleft()

    def give_back(self, jobs: int, now_s: float) -> None:
        """Take back tokens that were not used after all."""
        self.tokens.extendleft([now_s] * jobs)

    def lacks(self, wanted: int) -> int:
        """Return how many tokens to ask for, if so many jobs could be admitted; 0 or less: none."""
        if self.scarce and self.apart_s:  # tokens that no permit matches would be wasted
            wanted = min(wanted, self.permits - self.used)
        enough = len(self.tokens) > self._batch // 5
        return 0 if enough else min(wanted, MAX_TOKENS) - len(self.tokens)

    def must_ask(self, wanted: int, now_s: float) -> bool:
        """Return whether an ask is due. wanted: jobs that could be admitted, with the means."""
        return not self.asking and self._ask_at_s(wanted) <= now_s

    def next_s(self, wanted: int, now_s: float) -> float:
        """Return when something can change by time alone: a token is due, or an ask."""
        token_s = next((at for at in self.tokens if at > now_s), inf) if wanted else inf
        return token_s if self.asking else min(token_s, self._ask_at_s(wanted))

    def _ask_at_s(self, wanted: int) -> float:
        at_s = inf
        if self.lacks(wanted) > 0:
            at_s = self._tokens_s
        if wanted > 0 and self.used + wanted > self.permits:
            at_s = min(at_s, self._permits_s)
        if self.told + wanted + self.used > 0:
            at_s = min(at_s, self._again_s)
        if self.told > 0 and self.used + wanted == 0:
            at_s = 0.0  # others may have them
        return max(at_s, self._retry_s)

    def begin_ask(self) -> None:
        """Note that an ask names the jobs that run now: until its answer there may not be more.

        Others may be granted what we had beyond these, whether we hear the answer or not.
        """
        self.asking = True
        if self.permits < _ANY:
            self.permits = min(self.permits, self.used)

    def on_granted(
        self, granted: Granted, tokens: int, held: int, wanted: int, now_s: float
    ) -> None:
        """Take what the home grants. tokens, held, wanted: what was asked for."""
        self.asking, self._failed, self._retry_s = False, 0, 0.0
        if granted.tokens:
            first_s = now_s + (granted.first_us - granted.now_us) / 1e6
            self.apart_s = granted.apart_us / 1e6
            due = (max(now_s, first_s + n * self.apart_s) for n in range(granted.tokens))
            self.tokens.extend(due)
            self._batch = granted.tokens
        self.scarce, again_s = granted.permits < wanted, inf
        bounded = self.scarce or granted.again_us > 0  # of permits, a home tells when to ask again
        self.permits = granted.permits if bounded else _ANY
        self.told = max(held, granted.permits) if bounded else 0
        if granted.again_us:
            again_s = now_s + max(_LEAST_S, (granted.again_us - granted.now_us) / 1e6)
        self._again_s = again_s
        if tokens:
            self._tokens_s = now_s if granted.tokens else min(again_s, now_s + _LATEST_S)
        self._permits_s = again_s if self.scarce else now_s

    def on_failure(self, now_s: float) -> None:
        """Note that an ask got no answer: it may or may not have been heard."""
        self.asking = False
        self._retry_s = now_s + min(_LATEST_S, _SOONEST_S * 2**self._failed)
        self._failed = min(self._failed + 1, 10)
