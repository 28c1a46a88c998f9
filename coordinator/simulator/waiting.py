"""Where jobs wait: in lanes, which take turns, or parked in front of a limit. Pure."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

from coordinator.simulator.scenario import Limit

TIER_WEIGHTS = (6, 3, 2, 1)  # the consumer's default
_ALMOST_ONE = 1 - 1e-9  # of a token, after sums of floating-point numbers


class Rings:
    """Jobs that may start: tiers by weight (smooth round-robin), the lanes of a tier in turn."""

    def __init__(self) -> None:
        self.count = 0
        self._lanes: tuple[dict[int, deque[int]], ...] = tuple({} for _ in TIER_WEIGHTS)
        self._turns: tuple[deque[int], ...] = tuple(deque() for _ in TIER_WEIGHTS)
        self._credit = [0] * len(TIER_WEIGHTS)

    def add(self, tier: int, lane: int, job: int, *, front: bool = False) -> None:
        """Put a job at the end of its lane, or in front of it."""
        waiting = self._lanes[tier].get(lane)
        if waiting is None:
            waiting = self._lanes[tier][lane] = deque()
        if not waiting:
            self._turns[tier].append(lane)
        if front:
            waiting.appendleft(job)
        else:
            waiting.append(job)
        self.count += 1

    def take(self) -> int:
        """Remove and return the job whose turn it is; there must be one."""
        tier = self._next_tier()
        turns, lanes = self._turns[tier], self._lanes[tier]
        waiting = lanes[turns[0]]
        job = waiting.popleft()
        if waiting:
            turns.rotate(-1)
        else:
            turns.popleft()
        self.count -= 1
        return job

    def _next_tier(self) -> int:
        active = [tier for tier, turns in enumerate(self._turns) if turns]
        if len(active) == 1:
            return active[0]
        credit = self._credit
        for tier in active:
            credit[tier] += TIER_WEIGHTS[tier]
        best = max(active, key=credit.__getitem__)
        credit[best] -= sum(TIER_WEIGHTS[tier] for tier in active)
        return best


@dataclass(slots=True)
class Gate:
    """Where the jobs of one limit are parked, in one partition.

    A token moves a job to its lane. Tokens that no job can use are kept up to the burst; a job
    that was let in and has not started counts among them, so that unused tokens are lost.
    """

    limit: Limit
    per_s: float
    parked: deque[int] = field(default_factory=deque)
    let_in: int = 0  # to their lanes, not started yet
    running: int = 0
    finished: int = 0
    service_s: float = 0.0  # of those that finished
    _tokens: float = 0.0
    _at_s: float = 0.0

    def __post_init__(self) -> None:
        self._tokens = self.limit.burst

    def admit(self, now_s: float) -> list[int]:
        """Return the parked jobs that may go to their lanes now."""
        self._refill(now_s)
        unlimited = math.isinf(self.per_s)
        admitted = []
        while self.parked and self._has_permit() and (unlimited or self._tokens >= _ALMOST_ONE):
            if not unlimited:
                self._tokens = max(self._tokens - 1, 0.0)
            self.let_in += 1
            admitted.append(self.parked.popleft())
        return admitted

    def due_s(self) -> float:
        """Return when the next token is there for a parked job; infinite when none will be."""
        room = self.limit.burst - self.let_in
        if not self.parked or not self._has_permit() or room < _ALMOST_ONE or self.per_s <= 0:
            return math.inf
        return self._at_s + max(1 - self._tokens, 0.0) / self.per_s

    def start(self, now_s: float) -> None:
        """Note that a job of the limit has started."""
        self._refill(now_s)
        self.let_in -= 1
        self.running += 1

    def end(self, service_s: float) -> None:
        """Note that a job of the limit has finished."""
        self.running -= 1
        self.finished += 1
        self.service_s += service_s

    def change_rate(self, per_s: float, now_s: float) -> None:
        """Let tokens come at another rate from now on."""
        self._refill(now_s)
        self.per_s = per_s

    def _has_permit(self) -> bool:
        return self.running + self.let_in < self.limit.concurrency

    def _refill(self, now_s: float) -> None:
        if not math.isinf(self.per_s):
            most = max(self.limit.burst - self.let_in, 0.0)
            self._tokens = min(self._tokens + self.per_s * (now_s - self._at_s), max(most, 0.0))
        self._at_s = now_s
