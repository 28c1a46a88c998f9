"""Timeouts of plain functions, as far as Python allows.

A thread cannot be killed. What can be done is to raise JobTimeoutError inside it: it appears at
the handler's next bytecode, so a loop or a chain of calls ends, while one long C call (a sleep, a
socket without a timeout, a query) ends first. A handler can catch it, and Python itself drops one
that appears in a finalizer (a __del__, a callback of a weak reference). docs/lifecycle.md says so.

    armed --deadline--> struck (exception is on its way) --> disarmed
      +----- handler returns first -------------------------->+

Invariant: after `limit` is left, no exception of ours is on its way to the thread. The lock makes
strike and disarm exclude each other; disarm takes back an exception that was not delivered yet.
"""

from __future__ import annotations

import ctypes
import heapq
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from queuepool.errors import JobTimeoutError


class _Limit:
    __slots__ = ("armed", "struck", "thread_id")

    def __init__(self, thread_id: int) -> None:
        self.thread_id, self.armed, self.struck = thread_id, True, False


class Timekeeper:
    """Strikes the worker threads whose job took too long. One thread, started when first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._heap: list[tuple[float, int, _Limit]] = []
        self._order = itertools.count()
        self._thread: threading.Thread | None = None
        self._stopped = False

    @contextmanager
    def limit(self, timeout_s: float) -> Iterator[None]:
        """Raise JobTimeoutError in this thread when the block takes longer.

        One limit a thread: a thread has room for one exception on its way, so of two limits that
        end together one would be forgotten.
        """
        limit = _Limit(threading.get_ident())
        self._arm(limit, monotonic() + timeout_s)
        try:
            try:
                yield
            finally:
                self._disarm(limit)
        except JobTimeoutError:
            self._disarm(limit)  # it struck between the block and the line above
            if not limit.struck:
                raise  # the handler's own
            raise JobTimeoutError(f"took longer than its timeout of {timeout_s:g} s") from None

    def stop(self) -> None:
        """End the thread. Idempotent, legal before start."""
        with self._lock:
            self._stopped = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(timeout=5)

    def _arm(self, limit: _Limit, deadline: float) -> None:
        with self._lock:
            heapq.heappush(self._heap, (deadline, next(self._order), limit))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._keep, name="queuepool-timeouts", daemon=True
                )
                self._thread.start()
            elif self._heap[0][2] is limit:
                self._changed.notify_all()

    def _disarm(self, limit: _Limit) -> None:
        with self._lock:
            if limit.armed:
                limit.armed = False
                if limit.struck:
                    _raise_in(limit.thread_id, None)
            # Entries of ended jobs wait for their deadline; sweep when they are the majority.
            if len(self._heap) > 1024 and sum(e[2].armed for e in self._heap) < len(self._heap) / 2:
                self._heap = [e for e in self._heap if e[2].armed]
                heapq.heapify(self._heap)

    def _keep(self) -> None:
        with self._lock:
            while not self._stopped:
                now = monotonic()
                while self._heap and self._heap[0][0] <= now:
                    limit = heapq.heappop(self._heap)[2]
                    if limit.armed:
                        limit.struck = True
                        _raise_in(limit.thread_id, JobTimeoutError)
                self._changed.wait(self._heap[0][0] - now if self._heap else 60.0)


def _raise_in(thread_id: int, error: type[BaseException] | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread_id), None if error is None else ctypes.py_object(error)
    )
