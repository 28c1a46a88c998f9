"""The keeper of a process pool: one thread that has all its children.

It starts them, hands out jobs, reads what they say, looks at the clock, and lets go of those that
died. It lives as long as the pool: Linux kills a child when the *thread* that started it ends
(PR_SET_PDEATHSIG), so a keeper that fails leaves no one behind, either.
"""

from __future__ import annotations

import contextlib
import logging
import random
import selectors
import socket
import threading
from collections import Counter
from collections.abc import Callable
from time import monotonic

from consumer.core.jobs import ClaimedJob, End, Outcome
from consumer.workers.processes.bounds import Bounds
from consumer.workers.processes.frames import (
    BrokenFrameError,
    Ended,
    Progress,
    Ready,
    Start,
    ToPool,
)
from consumer.workers.processes.seat import Seat, State
from consumer.workers.runner import Attempt, Runner
from queuepool.errors.hindrances import start_thread
from queuepool.tasks.backoff import Backoff

_log = logging.getLogger("consumer.pool")
_LOOK_S = 0.2  # at cancel requests, memory, and ends where the system does not tell them
_STARTS = 4  # children that start at once
_START_S = 120.0  # that an import may take
_LEAVE_S = 5.0  # that a child without a job may take to end
_SILENT_S = 1.0  # from the end of what a child says to its own
_AGAIN = Backoff(base_s=1.0, cap_s=30.0, floor_s=0.5)  # after children that did not become ready


class Keeper:
    """See the module and ProcessPool.

    take: the next job that waits, or None. end: takes an outcome. ring: called when a child is
    ready. alive: children that are ready or run a job. replaced: children that ended, by why.
    broken: what ended the keeper itself.
    """

    def __init__(
        self,
        runner: Runner,
        start: Start,
        bounds: Bounds,
        *,
        take: Callable[[], ClaimedJob | None],
        end: Callable[[Outcome], None],
        ring: Callable[[], None],
    ) -> None:
        self._runner, self._start, self._bounds = runner, start, bounds
        self._take, self._end, self._ring = take, end, ring
        self.target = self.alive = 0
        self.replaced: Counter[str] = Counter()
        self.broken: BaseException | None = None
        self._seats: list[Seat] = []
        self._failed_starts, self._next_start_s = 0, 0.0
        self._leaving = self._stopping = False
        self._bell, self._hears = socket.socketpair()
        self._bell.setblocking(False)
        self._hears.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._hears, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, name="queuepool-processes", daemon=True)

    def resize(self, target: int) -> None:
        """Have so many children, sooner or later. Raises NoThreadError."""
        self.target = target
        if target and self._thread.ident is None and not self._leaving:
            start_thread(self._thread, "for the children of a process pool")
        self.wake()

    def wake(self) -> None:
        """Have it look for jobs, and at its target."""
        with contextlib.suppress(OSError):  # full: it will look anyway
            self._bell.send(b"!")

    def stop(self, until_s: float) -> None:
        """Let idle children end, kill all that are there at `until_s`. Idempotent."""
        self.target, self._leaving = 0, True
        self.wake()
        if self._thread.ident is not None:
            self._thread.join(max(0.0, until_s - monotonic()))
            self._stopping = True
            self.wake()
            self._thread.join(_LEAVE_S)

    def _run(self) -> None:
        try:
            while not self._stopping and (self._seats or not self._leaving):
                self._fit()
                self._hand_out()
                for key, _ in self._selector.select(self._wait_s()):
                    self._attend(key.data)
                for seat in tuple(self._seats):
                    self._mind(seat, monotonic())
        except BaseException as error:
            self.broken = error
            _log.exception("the process pool failed")
        finally:
            self._stopping = True
            for seat in tuple(self._seats):
                seat.kill("stopped", "Stopped", "the consumer stops")
                self._bury(seat)
            self._selector.close()
            self._ring()

    def _fit(self) -> None:
        """Start the children that are missing, let those go that are too many."""
        now_s = monotonic()
        staying = [seat for seat in self._seats if seat.state is not State.LEAVING]
        surplus = len(staying) - self.target
        for state in (State.STARTING, State.IDLE):
            for seat in [s for s in staying if s.state is state][: max(0, surplus)]:
                self._dismiss(seat, "resized", now_s)
                surplus -= 1
        starting = sum(seat.state is State.STARTING for seat in staying)
        for _ in range(min(-surplus, _STARTS - starting)):
            if now_s < self._next_start_s or not self._spawn(now_s):
                break
        self._count()

    def _spawn(self, now_s: float) -> bool:
        try:
            seat = Seat(self._start, now_s)
        except OSError as error:
            self._failed_to_start(str(error))
            return False
        self._seats.append(seat)
        self._selector.register(seat.socket, selectors.EVENT_READ, seat)
        if seat.pidfd >= 0:
            self._selector.register(seat.pidfd, selectors.EVENT_READ, seat)
        return True

    def _dismiss(self, seat: Seat, why: str, now_s: float) -> None:
        self.replaced[why] += 1
        if seat.state is State.STARTING:  # it imports, and would not hear
            seat.kill("stopped", "Stopped", "it is not needed any more")
        seat.leave(now_s)

    def _hand_out(self) -> None:
        free = self.target - sum(seat.state is State.BUSY for seat in self._seats)
        idle = [s for s in self._seats if s.state is State.IDLE and s.doom is None]
        for seat in idle[: max(0, free)]:
            while seat.state is State.IDLE and (job := self._take()) is not None:
                attempt = self._runner.begin(job)
                if isinstance(attempt, Attempt):
                    seat.run(job, attempt)
                else:
                    self._end(attempt)

    def _attend(self, seat: Seat | None) -> None:
        """Look at what ended the sleep: our bell, or a child."""
        if seat is None:
            with contextlib.suppress(BlockingIOError):
                while self._hears.recv(1024):
                    pass
        elif seat.silent_s is None:
            seat.flush()
            try:
                self._hear(seat)
            except BrokenFrameError as error:
                self._selector.unregister(seat.socket)
                seat.silent_s = monotonic()
                text = f"its process wrote into the consumer's socket: {error}"
                seat.kill("crashed", "Garbled", text)

    def _hear(self, seat: Seat) -> None:
        for message in seat.messages():
            if message is not None:
                self._heed(seat, message)
            elif seat.silent_s is None:
                self._selector.unregister(seat.socket)
                seat.silent_s = monotonic()

    def _heed(self, seat: Seat, message: ToPool) -> None:
        now_s = monotonic()
        if isinstance(message, Ready):
            if seat.state is State.STARTING:
                seat.state, seat.since_s, self._failed_starts = State.IDLE, now_s, 0
                self._count()
                self._ring()
        elif seat.job is None or message.job != seat.jobs:
            return  # of a job that ended
        elif isinstance(message, Progress):
            self._runner.progress[seat.job.id] = message.text
        else:
            outcome = _outcome(seat.job, seat.since_s, message)
            seat.ended(now_s)
            why = self._bounds.why_replace(seat.jobs, self._rss_bytes(seat))
            if why is not None:
                self._dismiss(seat, why, now_s)
            self._count()
            self._end(outcome)

    def _mind(self, seat: Seat, now_s: float) -> None:
        """Look whether a child is gone, or must go."""
        in_state_s = now_s - seat.since_s
        self._selector_follows(seat)
        if seat.has_exited():
            self._bury(seat)
        elif seat.silent_s is not None and now_s > seat.silent_s + _SILENT_S:
            seat.kill("crashed", "Closed", "its process closed the socket of the consumer")
        elif seat.state is State.BUSY:
            seat.tell_cancel()
            if seat.is_late(now_s):
                seat.kill("timeout", "JobTimeoutError", seat.late_text)
            elif (why := self._bounds.why_kill(self._rss_bytes(seat))) is not None:
                seat.kill("crashed", "MemoryBound", why)
        elif seat.state is State.STARTING and in_state_s > _START_S:
            seat.kill("stopped", "Slow", f"it was not ready after {_START_S:g} s")
        elif seat.state is State.LEAVING and in_state_s > _LEAVE_S:
            seat.kill("stopped", "Slow", f"it did not leave within {_LEAVE_S:g} s")

    def _bury(self, seat: Seat) -> None:
        """Let go of a child that is gone, or was killed, and end its job."""
        how = seat.wait()
        if seat.silent_s is None:
            with contextlib.suppress(BrokenFrameError):
                self._hear(seat)  # it may have said the end of its job before its own
        if seat.silent_s is None:
            self._selector.unregister(seat.socket)
        if seat.pidfd >= 0:
            self._selector.unregister(seat.pidfd)
        self._seats.remove(seat)
        seat.close()
        self._count()
        if self._stopping:
            return
        if seat.attempt is not None:
            reason, what, text = seat.doom or ("crashed", how, f"its process died: {how}")
            self.replaced[reason] += 1
            self._end(seat.attempt.lost(reason, what, text))
        elif seat.state is State.STARTING:
            self._failed_to_start(seat.doom[2] if seat.doom else how)
        elif seat.state is State.IDLE and seat.doom is None:
            self.replaced["crashed"] += 1
            _log.warning("a process of the pool died between two jobs: %s", how)

    def _failed_to_start(self, how: str) -> None:
        self._failed_starts += 1
        pause_s = _AGAIN.delay_s(self._failed_starts, random.random())
        self._next_start_s = monotonic() + pause_s
        _log.error("a process of the pool did not start: %s; next try in %.1f s", how, pause_s)

    def _selector_follows(self, seat: Seat) -> None:
        """Wake also when the socket takes more, while there is more for it."""
        if seat.silent_s is None and seat.watched != seat.has_unsent:
            seat.watched = seat.has_unsent
            both = selectors.EVENT_READ | selectors.EVENT_WRITE
            events = both if seat.watched else selectors.EVENT_READ
            self._selector.modify(seat.socket, events, seat)

    def _rss_bytes(self, seat: Seat) -> int:
        return seat.rss_bytes if self._bounds.max_rss_bytes else 0

    def _wait_s(self) -> float | None:
        now_s, waits = monotonic(), []
        for seat in self._seats:
            self._selector_follows(seat)
            if seat.deadline_s is not None:
                waits.append(seat.deadline_s - now_s)
            if seat.state is not State.IDLE or seat.pidfd < 0 or seat.silent_s is not None:
                waits.append(_LOOK_S)
        if self.target > len(self._seats):
            waits.append(max(self._next_start_s - now_s, 0.01))
        return max(0.0, min(waits)) if waits else None

    def _count(self) -> None:
        ready = (State.IDLE, State.BUSY)
        self.alive = sum(s.state in ready and s.doom is None for s in self._seats)


def _outcome(job: ClaimedJob, started_s: float, e: Ended) -> Outcome:
    return Outcome(
        job, End(e.end), started_s, monotonic(), e.task, e.result, e.result_ttl_ms, e.delay_ms,
        e.charged, e.error, e.reason, e.max_attempts, aside=e.aside,
    )  # fmt: skip
