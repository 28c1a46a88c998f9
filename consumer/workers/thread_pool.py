"""The pool of worker threads, whose size changes while it runs.

    submit -> queue -> worker -> ended
                 ^        |
      withdraw --+        +-- surplus? retire, only ever between two jobs

One thread (the loop) submits, withdraws and resizes; workers only take from the queue and append
to `ended`. Shrinking lowers a number: a worker that ends a job sees that it is surplus and
retires; idle ones are nudged by an empty queue entry. Running jobs are never interrupted.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from itertools import starmap
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Protocol

from consumer.core.jobs import ClaimedJob, Outcome
from consumer.workers.base import Pool, Runs

_ONCE = ((),)  # the arguments of one call
_log = logging.getLogger("consumer.pool")


class RunsInThreads(Runs, Protocol):
    """Executes a job in the thread that calls it."""

    def run(self, job: ClaimedJob) -> Outcome:
        """Execute a job; never raises."""

    def failed(self, job: ClaimedJob, error: BaseException) -> Outcome:
        """Return the outcome of a job that had begun when its thread got this."""


class ThreadPool(Pool[RunsInThreads]):
    """Threads that run jobs."""

    def __init__(self, runner: RunsInThreads, ring: Callable[[], None]) -> None:
        super().__init__(runner, ring)
        self._queue: SimpleQueue[ClaimedJob | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._target = 0
        self._named = 0

    @property
    def alive(self) -> int:
        """Return how many threads there are; above the target while surplus ones end their job."""
        return len(self._threads)

    @property
    def target(self) -> int:
        """Return the target number of threads."""
        return self._target

    @property
    def queued(self) -> int:
        """Return how many jobs wait for a worker (nudges included)."""
        return self._queue.qsize()

    def resize(self, target: int) -> None:
        """Set the number of workers: new ones start at once, surplus ones leave after their job."""
        with self._lock:
            self._target = target
            surplus = len(self._threads) - target
            for _ in range(-surplus):
                self._named += 1
                # Daemons: a handler that never returns must not keep a drained process alive.
                thread = threading.Thread(
                    target=self._work, name=f"queuepool-worker-{self._named}", daemon=True
                )
                try:
                    thread.start()
                except RuntimeError:  # the machine allows no more: continue with the existing ones
                    self._target = len(self._threads)
                    break
                self._threads.add(thread)
        for _ in range(surplus):
            self._queue.put(None)

    def submit(self, jobs: Sequence[ClaimedJob]) -> None:
        """Hand jobs to the workers, in order."""
        for job in jobs:
            self._queue.put(job)

    def withdraw(self) -> list[ClaimedJob]:
        """Take back the jobs that no worker has started, in order."""
        jobs: list[ClaimedJob] = []
        try:
            while True:
                job = self._queue.get_nowait()
                if job is not None:
                    jobs.append(job)
        except Empty:
            # This may have removed nudges: repeat those that are still needed.
            for _ in range(len(self._threads) - self._target):
                self._queue.put(None)
            return jobs

    def close(self, timeout_s: float) -> bool:
        """Remove all threads, waiting at most this long; returns whether all have left.

        A handler that does not return keeps its thread, which cannot be ended.
        """
        self.resize(0)
        deadline = monotonic() + timeout_s
        for thread in tuple(self._threads):
            thread.join(max(0.0, deadline - monotonic()))
        return not self._threads

    def _work(self) -> None:
        held: list[ClaimedJob | None] = []
        while not self._serve(held):
            pass

    def _serve(self, held: list[ClaimedJob | None]) -> bool:
        """Run jobs; returns whether this thread has retired. held: what it has taken.

        What other code raises in this thread, as late timeouts of libraries do, ends it, too.
        """
        get, run, ended, ring = self._queue.get, self._runner.run, self._ended, self._ring
        try:
            while True:
                if not held:
                    held.extend(starmap(get, _ONCE))  # one call: what it takes cannot get lost
                job = held[0]
                if job is not None:
                    ended.append(run(job))
                    ring()
                held.clear()
                if len(self._threads) > self._target and self._retire():
                    return True
        except BaseException as error:
            self._struck(held, error)
            return False

    def _struck(self, held: list[ClaimedJob | None], error: BaseException) -> None:
        """Report a job that had begun; one that had not still runs. The thread goes on."""
        _log.warning("a worker got an exception from elsewhere: %s", type(error).__name__)
        job = held[0] if held else None
        if job is None or job.started_s:
            held.clear()
        if job is not None and job.started_s:
            self._ended.append(self._runner.failed(job, error))  # ignored if it has ended, too
            self._ring()

    def _retire(self) -> bool:
        with self._lock:
            if len(self._threads) <= self._target:
                return False
            self._threads.discard(threading.current_thread())
            return True
