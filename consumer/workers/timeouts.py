"""Timeouts of plain functions, as far as Python allows.

A thread cannot be killed. What can be done is to raise JobTimeoutError inside it: it appears at
the handler's next bytecode, so a loop or a chain of calls ends, while one long C call (a sleep, a
socket without a timeout, a query) ends first. A handler can catch it, and Python itself drops one
that appears in a finalizer (a __del__, a callback of a weak reference). docs/lifecycle.md says so.

    open --the worker decides first--> closed      nothing was sent, nothing will be
      `----the keeper decides first--> struck --> sent --> arrived     in the block, or around it
                                                   `-----> met         by the worker, in __exit__

Such an exception can appear between any two bytecodes of the worker, also between the acquisition
of a lock and the block that would release it. Therefore, between `__enter__` and `__exit__`:

1. A worker takes no lock and makes no partial changes. It arms with one append and decides with one
   `setdefault`: each happens completely or not at all. 2. The first decision counts: both use the
   same `setdefault`, and a repetition gives the same answer. The keeper sends nothing unless it was
   first, so at most one exception is ever sent. 3. An exception that arrived leaves nothing to
   clean up: there is no lock and no entry to release. So it is harmless wherever it appears, even
   in `__exit__` or just before it.
4. One that was sent and has not arrived is met in `__exit__`, once the keeper has said that it is
   sent. The worker waits for that, a few bytecodes of the keeper, in a place of its own. It is not
   taken back (by sending None): CPython 3.11 would keep its flag of a pending exception forever,
   which slows every loop of the process, and makes a tracer (a debugger, coverage) hang.

Invariant: after the block is left, no exception of ours is pending for the thread.

The keeper's thread starts when first needed, before anything is armed. It sleeps until the next
deadline; a worker wakes it for an earlier one, or after many appends. The keeper writes `_wakes_s`
before it checks for appended limits, and workers read it after the append: one of them sees the
other.
"""

from __future__ import annotations

import contextlib
import ctypes
import heapq
import itertools
import os
import threading
from collections import deque
from queue import Empty, SimpleQueue
from time import monotonic
from types import TracebackType
from typing import Any, Final

from queuepool.errors import JobTimeoutError

_WORKER, _KEEPER = "worker", "keeper"
_AWAKE: Final = float("-inf")  # the keeper checks before it sleeps: no need to wake it
_SWEEP = 1024  # ended limits are discarded in batches of this size
_IDLE_S = 60.0
_SENDING_S = 10.0  # the longest wait of a worker for three bytecodes of the keeper
_LOOK_S = 0.001
_STEPS = 100  # a pending exception arrives when a loop iterates


class _StrikeError(JobTimeoutError):
    """Raised in a handler; the class distinguishes it from a handler's own JobTimeoutError."""

    def __str__(self) -> str:
        return super().__str__() or "exceeded its timeout"

    def __reduce__(self) -> tuple[Any, ...]:
        return JobTimeoutError, (str(self),), self.__dict__ or None


_StrikeError.__name__ = _StrikeError.__qualname__ = JobTimeoutError.__qualname__


class _Limit:
    """One block of one thread. See the states above; used once."""

    __slots__ = ("_decided", "_keeper", "_timeout_s", "deadline", "sent", "thread_id")

    def __init__(self, keeper: Timekeeper, timeout_s: float) -> None:
        self._keeper, self._timeout_s = keeper, timeout_s
        self._decided: dict[str, str] = {}
        self.thread_id, self.deadline, self.sent = threading.get_ident(), 0.0, False

    def __enter__(self) -> None:
        self._keeper.start()
        self.deadline = monotonic() + self._timeout_s
        try:
            self._keeper.arm(self)
        except _StrikeError:
            raise
        except BaseException:
            self.decide(_WORKER)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self.decide(_WORKER):
            return
        if not isinstance(error, _StrikeError):
            # One that arrives in here is the only one. The block ended before: that counts.
            with contextlib.suppress(_StrikeError):
                self._meet()
        else:
            text = f"exceeded its timeout of {self._timeout_s:g} s"
            raise JobTimeoutError(text).with_traceback(error.__traceback__) from None

    @property
    def open(self) -> bool:
        """Return whether no one has decided yet."""
        return not self._decided

    def decide(self, who: str) -> bool:
        """Return whether `who` decides how this limit ends. Atomic, and the same when repeated."""
        return self._decided.setdefault("by", who) == who

    def _meet(self) -> None:
        if not self.sent:
            self._wait_until_sent()
        for _ in range(_STEPS):  # it arrives at the first, if a handler has not caught it
            pass

    def _wait_until_sent(self) -> None:
        place = threading.Lock()  # no other thread knows it: it may be left in any state
        place.acquire()
        until = monotonic() + _SENDING_S
        # A forked child has no keeper, and nothing is sent to it.
        while not self.sent and monotonic() < until and self._keeper.pid == os.getpid():
            place.acquire(timeout=_LOOK_S)


class Timekeeper:
    """Interrupts worker threads whose job takes too long. One thread, started when first needed."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._armed: deque[_Limit] = deque()  # by workers, not yet seen by the keeper
        self._heap: list[tuple[float, int, _Limit]] = []  # the keeper's own, as is all below
        self._order = itertools.count()
        self._wakes_s = _AWAKE
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = False

    def limit(self, timeout_s: float) -> _Limit:
        """Return a context: JobTimeoutError is raised in this thread when its block takes longer.

        One limit per thread: a thread can have only one pending exception, so of two limits that
        end together one would be lost. Entering raises RuntimeError, without running the block, if
        no keeper thread can be started.
        """
        return _Limit(self, timeout_s)

    def stop(self) -> None:
        """End the thread. Idempotent, legal before start."""
        with self._starting:
            self._stopped = True
            thread = self._thread
        self._wake.put(None)
        if thread is not None:
            thread.join(timeout=5)

    def start(self) -> None:
        """Ensure that the thread runs. No limit of the caller may be armed: this takes a lock.

        Raises RuntimeError; the next call tries again.
        """
        if self._thread is not None and not self._stopped:
            return
        with self._starting:
            if self._stopped:
                raise RuntimeError("the consumer is stopping; the handler was not started")
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="queuepool-timeouts", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:
                    raise RuntimeError(
                        f"no thread to enforce the handler's timeout ({error}); it was not "
                        "started. Raise the limit of threads (ulimit -u, pids.max), or lower "
                        "CONSUMER_WORKERS"
                    ) from None
                self._thread = thread

    def arm(self, limit: _Limit) -> None:
        """Enforce a limit from now on; it may strike before this returns."""
        self._armed.append(limit)
        if limit.deadline < self._wakes_s or len(self._armed) > _SWEEP:
            self._wake.put(None)

    def _run(self) -> None:
        try:
            while not self._stopped:
                self._keep()
        finally:
            self._thread = None  # however it ended, the next limit starts another

    def _keep(self) -> None:
        self._sort_in()
        now = monotonic()
        while self._heap and self._heap[0][0] <= now:
            limit = heapq.heappop(self._heap)[2]
            if limit.decide(_KEEPER):
                try:
                    _raise_in(limit.thread_id, _StrikeError)
                finally:
                    limit.sent = True
        wakes_s = self._heap[0][0] if self._heap else now + _IDLE_S
        self._wakes_s = wakes_s
        try:
            if not self._armed:  # checked after the line above, see the module's docstring
                self._wake.get(timeout=max(0.0, wakes_s - monotonic()))
                while True:
                    self._wake.get_nowait()
        except Empty:
            pass
        finally:
            self._wakes_s = _AWAKE

    def _sort_in(self) -> None:
        for _ in range(len(self._armed)):
            limit = self._armed.popleft()
            if limit.open:  # most jobs have ended by now
                heapq.heappush(self._heap, (limit.deadline, next(self._order), limit))
        if len(self._heap) > _SWEEP // 2:
            self._heap = [entry for entry in self._heap if entry[2].open]
            heapq.heapify(self._heap)


def _raise_in(thread_id: int, error: type[BaseException]) -> None:
    """Raise an exception in another thread."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), ctypes.py_object(error))
