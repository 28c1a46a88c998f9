"""The supervisor of a process pool: one thread that owns all its children.

It starts them, hands out jobs, reads their messages, enforces deadlines and limits, and reaps those
that died. It lives as long as the pool: Linux kills a child when the *thread* that started it ends
(PR_SET_PDEATHSIG), so a supervisor that fails leaves no child behind either.
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

from consumer.core.jobs import ClaimedJob, Outcome
from consumer.workers.processes.bounds import Bounds
from consumer.workers.processes.frames import (
    BrokenFrameError,
    Ended,
    Progress,
    Ready,
    Start,
    ToPool,
)
from consumer.workers.processes.handle import ChildHandle, ChildState
from consumer.workers.runner import Attempt, Runner
from queuepool.errors.hindrances import start_thread
from queuepool.tasks.backoff import Backoff

_log = logging.getLogger("consumer.pool")
_LOOK_S = 0.2  # between checks of cancel requests and memory
_STARTS = 4  # children that start at the same time
_START_S = 120.0  # maximum for the import of the application
_LEAVE_S = 5.0  # maximum for a child without a job to exit
_SILENT_S = 1.0  # from the end of its messages to its exit
_AGAIN = Backoff(base_s=1.0, cap_s=30.0, floor_s=0.5)  # after a child that did not become ready


class Supervisor:
    """See the module docstring and ProcessPool.

    take: returns the next waiting job, or None. end: receives an outcome. ring: called when a child
    becomes ready. alive: children that are idle or run a job. replaced: children that ended, by
    cause. broken: the error that ended the supervisor itself.
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
        self._children: list[ChildHandle] = []
        self._failed_starts, self._next_start_s = 0, 0.0
        self._leaving = self._stopping = False
        self._bell, self._wakeups = socket.socketpair()
        self._bell.setblocking(False)
        self._wakeups.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wakeups, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, name="queuepool-processes", daemon=True)

    def resize(self, target: int) -> None:
        """Set the number of children. Raises NoThreadError."""
        self.target = target
        if target and self._thread.ident is None and not self._leaving:
            start_thread(self._thread, "for the children of a process pool")
        self.wake()

    def wake(self) -> None:
        """Make the thread check for jobs and for a new target."""
        with contextlib.suppress(OSError):  # full: it will check anyway
            self._bell.send(b"!")

    def stop(self, until_s: float) -> None:
        """Let idle children exit, and kill those left at `until_s`. Idempotent."""
        self.target, self._leaving = 0, True
        self.wake()
        if self._thread.ident is not None:
            self._thread.join(max(0.0, until_s - monotonic()))
            self._stopping = True
            self.wake()
            self._thread.join(_LEAVE_S)
        if not self._thread.is_alive():
            self._selector.close()
            self._bell.close()
            self._wakeups.close()

    def _run(self) -> None:
        try:
            while not self._stopping and (self._children or not self._leaving):
                self._adjust()
                self._hand_out()
                for key, _ in self._selector.select(self._wait_s()):
                    self._on_event(key.data)
                for child in tuple(self._children):
                    self._check(child, monotonic())
        except BaseException as error:
            self.broken = error
            _log.exception("the process pool failed")
        finally:
            self._stopping = True
            for child in tuple(self._children):
                child.kill("stopped", "Stopped", "the consumer stops")
                self._reap(child)
            self._ring()

    def _adjust(self) -> None:
        """Start missing children, retire surplus ones."""
        now_s = monotonic()
        staying = [child for child in self._children if child.state is not ChildState.LEAVING]
        surplus = len(staying) - self.target
        for state in (ChildState.STARTING, ChildState.IDLE):
            for child in [s for s in staying if s.state is state][: max(0, surplus)]:
                self._retire(child, "resized", now_s)
                surplus -= 1
        starting = sum(child.state is ChildState.STARTING for child in staying)
        for _ in range(min(-surplus, _STARTS - starting)):
            if now_s < self._next_start_s or not self._spawn(now_s):
                break
        self._count()

    def _spawn(self, now_s: float) -> bool:
        try:
            child = ChildHandle(self._start, now_s)
        except OSError as error:
            self._failed_to_start(str(error))
            return False
        self._children.append(child)
        self._selector.register(child.socket, selectors.EVENT_READ, child)
        if child.pidfd >= 0:
            self._selector.register(child.pidfd, selectors.EVENT_READ, child)
        return True

    def _retire(self, child: ChildHandle, why: str, now_s: float) -> None:
        self.replaced[why] += 1
        if child.state is ChildState.STARTING:  # it imports, and does not listen yet
            child.kill("stopped", "Stopped", "it is no longer needed")
        child.leave(now_s)

    def _hand_out(self) -> None:
        free = self.target - sum(child.state is ChildState.BUSY for child in self._children)
        idle = [s for s in self._children if s.state is ChildState.IDLE and s.killed_for is None]
        for child in idle[: max(0, free)]:
            while child.state is ChildState.IDLE and (job := self._take()) is not None:
                attempt = self._runner.begin(job)
                if isinstance(attempt, Attempt):
                    child.run(job, attempt)
                else:
                    self._end(attempt)

    def _on_event(self, child: ChildHandle | None) -> None:
        """Handle what ended the wait: a wake-up, or a child."""
        if child is None:
            with contextlib.suppress(BlockingIOError):
                while self._wakeups.recv(1024):
                    pass
        elif child.silent_s is None:
            child.flush()
            try:
                self._read(child)
            except BrokenFrameError as error:
                self._selector.unregister(child.socket)
                child.silent_s = monotonic()
                text = f"its process wrote to the consumer's socket: {error}"
                child.kill("crashed", "Garbled", text)

    def _read(self, child: ChildHandle) -> None:
        for message in child.messages():
            if message is not None:
                self._on_message(child, message)
            elif child.silent_s is None:
                self._selector.unregister(child.socket)
                child.silent_s = monotonic()

    def _on_message(self, child: ChildHandle, message: ToPool) -> None:
        now_s = monotonic()
        if isinstance(message, Ready):
            if child.state is ChildState.STARTING:
                child.state, child.since_s, self._failed_starts = ChildState.IDLE, now_s, 0
                self._count()
                self._ring()
        elif child.job is None or message.job != child.jobs:
            return  # about a job that has ended
        elif isinstance(message, Progress):
            self._runner.progress[child.job.id] = message.text
        else:
            outcome = _outcome(child.job, child.since_s, message)
            if child.attempt is not None:
                outcome = child.attempt.traced(outcome)
            child.ended(now_s)
            why = self._bounds.why_replace(child.jobs, self._rss_bytes(child))
            if why is not None:
                self._retire(child, why, now_s)
            self._count()
            self._end(outcome)

    def _check(self, child: ChildHandle, now_s: float) -> None:
        """Reap a child that has exited; kill one that must not continue."""
        in_state_s = now_s - child.since_s
        self._selector_follows(child)
        if child.has_exited():
            self._reap(child)
        elif child.silent_s is not None and now_s > child.silent_s + _SILENT_S:
            child.kill("crashed", "Closed", "its process closed the socket of the consumer")
        elif child.state is ChildState.BUSY:
            child.tell_cancel()
            if child.is_late(now_s):
                child.kill("timeout", "JobTimeoutError", child.late_text)
            elif (why := self._bounds.why_kill(self._rss_bytes(child))) is not None:
                child.kill("crashed", "MemoryBound", why)
        elif child.state is ChildState.STARTING and in_state_s > _START_S:
            child.kill("stopped", "Slow", f"it was not ready within {_START_S:g} s")
        elif child.state is ChildState.LEAVING and in_state_s > _LEAVE_S:
            child.kill("stopped", "Slow", f"it did not exit within {_LEAVE_S:g} s")

    def _reap(self, child: ChildHandle) -> None:
        """Release a child that has exited or was killed, and end its job."""
        how = child.wait()
        if child.silent_s is None:
            with contextlib.suppress(BrokenFrameError):
                self._read(child)  # it may have reported its job before it died
        if child.silent_s is None:
            self._selector.unregister(child.socket)
        if child.pidfd >= 0:
            self._selector.unregister(child.pidfd)
        self._children.remove(child)
        child.close()
        self._count()
        if self._stopping:
            return
        if child.attempt is not None:
            reason, what, text = child.killed_for or ("crashed", how, f"its process died: {how}")
            self.replaced[reason] += 1
            self._end(child.attempt.lost(reason, what, text))
        elif child.state is ChildState.STARTING:
            self._failed_to_start(child.killed_for[2] if child.killed_for else how)
        elif child.state is ChildState.IDLE and child.killed_for is None:
            self.replaced["crashed"] += 1
            _log.warning("a child of the process pool died between two jobs: %s", how)

    def _failed_to_start(self, how: str) -> None:
        self._failed_starts += 1
        pause_s = _AGAIN.delay_s(self._failed_starts, random.random())
        self._next_start_s = monotonic() + pause_s
        _log.error(
            "a child of the process pool did not start: %s; next try in %.1f s", how, pause_s
        )

    def _selector_follows(self, child: ChildHandle) -> None:
        """Wait for room in the socket while there is more to send."""
        if child.silent_s is None and child.watched != child.has_unsent:
            child.watched = child.has_unsent
            both = selectors.EVENT_READ | selectors.EVENT_WRITE
            events = both if child.watched else selectors.EVENT_READ
            self._selector.modify(child.socket, events, child)

    def _rss_bytes(self, child: ChildHandle) -> int:
        return child.rss_bytes if self._bounds.max_rss_bytes else 0

    def _wait_s(self) -> float | None:
        now_s, waits = monotonic(), []
        for child in self._children:
            self._selector_follows(child)
            if child.deadline_s is not None:
                waits.append(child.deadline_s - now_s)
            if child.state is not ChildState.IDLE or child.pidfd < 0 or child.silent_s is not None:
                waits.append(_LOOK_S)
        if self.target > len(self._children):
            waits.append(max(self._next_start_s - now_s, 0.01))
        return max(0.0, min(waits)) if waits else None

    def _count(self) -> None:
        ready = (ChildState.IDLE, ChildState.BUSY)
        self.alive = sum(s.state in ready and s.killed_for is None for s in self._children)


def _outcome(job: ClaimedJob, started_s: float, e: Ended) -> Outcome:
    return Outcome(
        job, e.end, started_s, monotonic(), e.task, e.result, e.result_ttl_ms, e.delay_ms,
        e.charged, e.error, e.reason, e.max_attempts, aside=e.aside, slow_ms=e.slow_ms,
    )  # fmt: skip
