"""Jobs that were running when their consumer died, and when each of them runs again. Pure.

    take --> first --one crash so far: together, beside others------> start confirmed --> running
      `----> last  --the next crash may bury it: one at a time, on trial--^

One crash proves little: a kill, a machine that went down. So jobs with one crash run again beside
other work, as many as there are workers. A job that the next crash may bury is *on trial*, one at a
time, those with the fewest crashes first. `recover` charges the crash of a trial to the job that
started last, so a trial takes place in a *pause*, in which nothing else starts:

    others start | SETTLE_S: these may crash first | trial starts, its window | others

- A job that crashes the consumer within its window is therefore the one that started last. One that
  survived its window is not buried for others' crashes, but its next window is longer.
- Trials that end at once share a pause, in which they start within SHARED_S of each other.
- Others may start for as long as the pause took, so that pauses take at most half of the time.

Every start here is reported before the job starts. Jobs that wait for a trial take no slot. At most
MOST_WAITING wait; others are delayed, uncharged.
"""

from __future__ import annotations

from bisect import insort
from math import inf
from typing import TYPE_CHECKING

from consumer.core.jobs import End, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.jobs import ClaimedJob

SETTLE_S = 2.0
WINDOWS_S = (1.0, 4.0, 16.0)  # of a first, a second and each later trial
SHARED_S = 1.0
MOST_WAITING = 200
_AGAIN_MS = 5000  # a delay, not the front of the lane: the next claim would return it at once


class Suspects:
    """last_crashes: with this many, the next crash may bury a job."""

    def __init__(self, last_crashes: int) -> None:
        self.last_crashes = last_crashes
        self._first: list[ClaimedJob] = []
        self._last: list[ClaimedJob] = []
        self._on_trial: ClaimedJob | None = None  # from when its start is planned
        self._began_s: float | None = None  # when that was confirmed
        self._pause_s: float | None = None  # when the first trial of this pause started
        self._next_s = self._other_s = 0.0  # when a pause may begin; when others started

    def __len__(self) -> int:
        return len(self._first) + len(self._last)

    def take(self, job: ClaimedJob, now_s: float) -> Outcome | None:
        """Let a job wait; returns an outcome that delays it if too many already wait."""
        if len(self) >= MOST_WAITING:
            return Outcome(job, End.RETRY, now_s, now_s, delay_ms=_AGAIN_MS, charged=False)
        if job.crashes < self.last_crashes:
            self._first.append(job)
        else:
            begins = int(bool(self._last) and self._on_trial is self._last[0])  # it stays the first
            insort(self._last, job, lo=begins, key=lambda waiting: waiting.crashes)
        return None

    @property
    def slots(self) -> int:
        """Return how many waiting jobs take a slot, because they start like others."""
        return len(self._first)

    def to_start(self, now_s: float, free: int) -> list[ClaimedJob]:
        """Return those whose start may be reported now, with this many free workers."""
        if free <= 0:
            return []
        if self._trial_wait_s(now_s) == 0.0:
            return self._last[:1]
        return self._first[:free] if self.hold_s(now_s) == 0.0 else []

    def on_start_sent(self, jobs: Sequence[ClaimedJob]) -> None:
        """Note that these starts are being sent to the server."""
        if self._last and self._last[0] in jobs:
            self._on_trial, self._began_s = self._last[0], None

    def on_started(self, begun: Sequence[ClaimedJob], now_s: float) -> list[ClaimedJob]:
        """Note that the server knows these starts; returns those of them that waited for it."""
        began = [job for job in (*self._last[:1], *self._first) if job in begun]
        if not began:
            return began
        if began[0] is self._on_trial:
            self._began_s = now_s
            self._pause_s = now_s if self._pause_s is None else self._pause_s
            del self._last[0]
        else:
            self._first = [job for job in self._first if job not in began]
            self.on_other_start(now_s)
        return began

    @property
    def watches(self) -> bool:
        """Return whether the end of a job matters here."""
        return self._on_trial is not None or bool(self._last)

    def on_ended(self, job: ClaimedJob, now_s: float) -> None:
        """Note that a job ended, or went back."""
        if job is not self._on_trial:
            return
        over_s = now_s
        if self._began_s is not None:
            over_s = min(now_s, self._began_s + self._window_s(job))
        self._on_trial = self._began_s = None
        began_s = over_s if self._pause_s is None else self._pause_s
        if not self._last or now_s >= began_s + SHARED_S:
            self._next_s, self._pause_s = over_s + SETTLE_S + over_s - began_s, None

    def withdraw(self) -> list[ClaimedJob]:
        """Take back those that wait."""
        waiting = [*self._last, *self._first]
        self._last, self._first = [], []
        return waiting

    def on_other_start(self, now_s: float) -> None:
        """Note that other jobs start."""
        self._other_s = max(self._other_s, now_s)

    def hold_s(self, now_s: float) -> float:
        """Return for how long no other job may start; 0 if they may."""
        if self._on_trial is None:
            wait_s = self._trial_wait_s(now_s)
            return 0.0 if wait_s is None or now_s < self._next_s else wait_s or SETTLE_S
        window_s = self._window_s(self._on_trial)
        return window_s if self._began_s is None else max(0.0, self._began_s + window_s - now_s)

    def due_s(self, now_s: float) -> float:
        """Return when a free worker may get a job here, inf for never."""
        hold_s, wait_s = self.hold_s(now_s), self._trial_wait_s(now_s)
        waits = [inf if wait_s is None else wait_s, hold_s or inf]
        return now_s + min(waits if hold_s or not self._first else [0.0])

    def _trial_wait_s(self, now_s: float) -> float | None:
        """Return in how many seconds a trial may start; None if it does not depend on time."""
        if not self._last or self._on_trial not in (None, self._last[0]):
            return None
        if self._on_trial is not None:
            return 0.0  # its start is not confirmed yet
        return max(0.0, max(self._next_s, self._other_s + SETTLE_S) - now_s)

    def _window_s(self, job: ClaimedJob) -> float:
        trials = job.crashes - self.last_crashes
        return WINDOWS_S[max(0, min(trials, len(WINDOWS_S) - 1))]
