"""What an owner has of one limit: tokens, each for one start, and permits to run at once. Pure.

    enough --jobs want more--> asking --granted--> enough
                                  `-- refused, paused, unreachable --> waits until ask_s

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


class Share:
    """One limit. gates: the names of those that need it. used: jobs that run or were admitted.

    tokens: the times from which each may be used, in order. ask_s: no ask before; again_s: one is
    due by then. scarce: the home grants less than was wanted, so it hears of each job that ends.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.gates: set[str] = set()
        self.tokens: deque[float] = deque()
        self.permits = self.used = self.told = 0
        self.apart_s = 0.0
        self.ask_s, self.again_s = 0.0, inf
        self.asking = self.scarce = False
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
        """Return how many tokens to ask for, if so many jobs could be admitted."""
        enough = len(self.tokens) > self._batch // 5
        return 0 if enough else min(wanted, MAX_TOKENS) - len(self.tokens)

    def must_ask(self, wanted: int, now_s: float) -> bool:
        """Return whether an ask is due. wanted: jobs that could be admitted, with the means."""
        if self.asking or now_s < self.ask_s:
            return False
        if self.lacks(wanted) > 0 or (wanted > 0 and self.used + wanted > self.permits):
            return True
        if self.told > 0 and self.used < self.told and (self.scarce or self.used + wanted == 0):
            return True  # others may have what ended here
        return now_s >= self.again_s and self.told + wanted > 0

    def next_s(self, wanted: int, now_s: float) -> float:
        """Return when something can change by time alone: a token is due, or an ask."""
        token_s = next((at for at in self.tokens if at > now_s), inf) if wanted else inf
        if self.asking:
            return token_s
        ask_s = self.ask_s if self.must_ask(wanted, max(now_s, self.ask_s)) else self.again_s
        return min(token_s, ask_s if self.told + wanted + self.used > 0 else inf)

    def on_granted(self, granted: Granted, held: int, wanted: int, now_s: float) -> None:
        """Take what the home grants. held, wanted: the permits that the ask named."""
        self.asking, self._failed = False, 0
        if granted.tokens:
            first_s = now_s + (granted.first_us - granted.now_us) / 1e6
            self.apart_s = granted.apart_us / 1e6
            due = (max(now_s, first_s + n * self.apart_s) for n in range(granted.tokens))
            self.tokens.extend(due)
            self._batch = granted.tokens
        self.permits = granted.permits
        self.told = max(held, granted.permits)
        self.scarce = granted.permits < wanted
        again_s = now_s + (granted.again_us - granted.now_us) / 1e6 if granted.again_us else inf
        self.again_s = max(again_s, now_s)
        refused = granted.paused or not granted.tokens or self.scarce
        self.ask_s = self.again_s if refused and again_s < inf else now_s

    def on_failure(self, now_s: float) -> None:
        """Note that an ask got no answer: it may or may not have been heard."""
        self.asking = False
        self.ask_s = now_s + min(_LATEST_S, _SOONEST_S * 2**self._failed)
        self._failed = min(self._failed + 1, 10)
