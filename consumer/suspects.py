"""Jobs that were running when their consumer died, and when each of them runs again. Pure.

    take --> first --one crash was seen: together, beside others------> start confirmed --> running
      `----> last  --the next crash buries it: one at a time, before those with fewer--^

One crash tells little: a kill, a machine that went down. So what ran in one crash runs again beside
other work, as many as there are workers. A job whose next crash buries it is a suspect *on trial*,
and its guilt must be plain by then:

- at most one is on trial, and no other job is claimed just before it begins and for WINDOW_S after:
  what begins in the same moment could be the culprit of a crash of that moment;
- once one was seen, the consumer is *cautious* for the rest of its life: of the jobs with fewer
  crashes the next one begins when the last one, or a trial, has ended or run for LONG_S;
- for as long as a trial kept others from beginning, the next one waits, so that trials never take
  more than half of the time.

Every start here is booked before the job begins. What waits takes no slot, unless it will begin in
the next turn. At most MOST_WAITING wait; others are delayed, uncharged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import inf

from consumer.jobs import Claimed, End, Outcome

WINDOW_S, _QUIET_S = 1.0, 0.05
LONG_S = 5.0
MOST_WAITING = 200
_AGAIN_MS = 5000  # a delay, not the front of the lane: the next claim would bring it back at once


class Suspects:
    """last_crashes: with so many, a job dies of the next crash. is_cautious: see above."""

    def __init__(self, last_crashes: int) -> None:
        self.last_crashes, self.is_cautious = last_crashes, False
        self._first: deque[Claimed] = deque()
        self._last: deque[Claimed] = deque()
        self._on_trial: Claimed | None = None  # from when its start is planned
        self._began_s: float | None = None  # when that was confirmed
        self._alone: Claimed | None = None  # the newest one that began cautiously
        self._next_trial_s = self._next_s = self._quiet_s = 0.0

    def __len__(self) -> int:
        return len(self._first) + len(self._last)

    def take(self, job: Claimed, now_s: float) -> Outcome | None:
        """Let a job wait; returns an outcome that delays it when too many wait already."""
        if len(self) >= MOST_WAITING:
            return Outcome(job, End.RETRY, now_s, now_s, delay_ms=_AGAIN_MS, charged=False)
        if job.crashes >= self.last_crashes:
            self.is_cautious = True
            self._last.append(job)
        else:
            self._first.append(job)
        return None

    @property
    def slots(self) -> int:
        """Return how many of those that wait take a slot, because they will begin at once."""
        return 0 if self.is_cautious else len(self._first)

    def to_book(self, now_s: float, free: int) -> list[Claimed]:
        """Return those whose start may be booked now, with so many workers free."""
        if free <= 0 or self.wait_s(now_s) != 0.0:
            return []
        if not self.is_cautious:
            return list(self._first)[:free]
        if self._last and self._on_trial in (None, self._last[0]):
            return [self._last[0]]
        return [self._first[0]]

    def wait_s(self, now_s: float) -> float | None:
        """Return in how many seconds one may begin; None when that is not up to time."""
        if not len(self):
            return None
        if not self.is_cautious:
            return 0.0
        if self._on_trial is None:
            at_s = max(self._trial_due_s, self._quiet_s) if self._last else self._next_s
        elif self._last and self._on_trial is self._last[0]:
            return 0.0  # its start is not confirmed yet
        elif self._first:
            at_s = self._next_s
        else:
            return None
        return max(0.0, at_s - now_s)

    def on_booking(self, jobs: Sequence[Claimed]) -> None:
        """Note that these starts are on their way to the server."""
        if self._last and self._last[0] in jobs:
            self._on_trial, self._began_s = self._last[0], None

    def on_booked(self, begun: Sequence[Claimed], now_s: float) -> list[Claimed]:
        """Note that these starts are booked; returns those of them that waited for it."""
        began: list[Claimed] = []
        for waiting in (self._last, self._first):
            while waiting and waiting[0] in begun:
                began.append(waiting.popleft())
        if self._on_trial in began:
            self._began_s = now_s
        if self.is_cautious and began:
            self._alone, self._next_s = began[-1], now_s + LONG_S
        return began

    @property
    def watches(self) -> bool:
        """Return whether the end of a job matters here."""
        return self._on_trial is not None or self._alone is not None

    def on_ended(self, job: Claimed, now_s: float) -> None:
        """Note that a job ended, or went back."""
        if job is self._alone:
            self._alone, self._next_s = None, now_s
        if job is self._on_trial:
            tried_s = 0.0 if self._began_s is None else now_s - self._began_s
            self._next_trial_s = now_s + min(WINDOW_S, tried_s)
            self._on_trial = self._began_s = None

    def withdraw(self) -> list[Claimed]:
        """Take back those that wait."""
        waiting = [*self._last, *self._first]
        self._last.clear()
        self._first.clear()
        return waiting

    def on_other_start(self, now_s: float) -> None:
        """Note that other jobs begin."""
        self._quiet_s = now_s + _QUIET_S

    def hold_s(self, now_s: float) -> float:
        """Return for how long no other job may be claimed; 0 for not at all."""
        if self._on_trial is None:
            return _QUIET_S if self._last and now_s >= self._trial_due_s else 0.0
        return WINDOW_S if self._began_s is None else max(0.0, self._began_s + WINDOW_S - now_s)

    def due_s(self, now_s: float) -> float:
        """Return when a worker that is free may get something new to do here, inf for never."""
        wait_s, hold_s = self.wait_s(now_s), self.hold_s(now_s)
        return now_s + min(inf if wait_s is None else wait_s, hold_s or inf)

    @property
    def _trial_due_s(self) -> float:
        return max(self._next_s, self._next_trial_s)
