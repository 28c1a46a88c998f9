"""A few threads for blocking calls, started on demand, and again after a failed start.

Work without a thread is never left in a queue, to run when no one waits for it any more.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from queuepool.errors import UnavailableError

T = TypeVar("T")
_Item = tuple[Future[Any], Callable[[], Any]]


class Crew:
    """At most `size` threads. Safe to share between threads.

    They are daemons, so that a hanging server does not keep the process from exiting.
    """

    def __init__(self, size: int, name: str) -> None:
        self._size, self._name = size, name
        self._waiting: deque[_Item] = deque()
        self._ready = threading.Condition()
        self._alive = self._idle = 0
        self._closed = False

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Run work. Raises UnavailableError, without running it, if no thread can be started.

        If a start fails while other threads live, they do the work.
        """
        future: Future[T] = Future()
        with self._ready:
            if self._closed:
                raise UnavailableError("this process is stopping; nothing was done")
            if self._idle <= len(self._waiting) and self._alive < self._size:
                self._start()
            self._waiting.append((future, work))
            self._ready.notify()
        return future

    def close(self) -> None:
        """Accept no more work, and cancel what waits. Idempotent; running work continues."""
        with self._ready:
            self._closed = True
            waiting, self._waiting = self._waiting, deque()
            self._ready.notify_all()
        for future, _ in waiting:
            future.cancel()

    def _start(self) -> None:
        thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            if not self._alive:
                raise UnavailableError(
                    f"no thread for it ({error}); nothing was done. Raise the limit of threads "
                    "(ulimit -u, pids.max), then retry."
                ) from None
        else:
            self._alive += 1

    def _serve(self) -> None:
        while True:
            with self._ready:
                self._idle += 1
                while not self._waiting and not self._closed:
                    self._ready.wait()
                self._idle -= 1
                if not self._waiting:
                    self._alive -= 1
                    return
                future, work = self._waiting.popleft()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:  # its waiter gets the exception
                    future.set_exception(error)
            del future, work
