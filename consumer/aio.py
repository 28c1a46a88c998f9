"""The event loop on which all async handlers of a process run.

A slot is a worker thread: it hands its coroutine to the loop and waits, so sync and async jobs
share one count, and async handlers see each other on one loop, as their clients expect. The loop
starts with the first async job.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from typing import Any

from queuepool.errors import JobTimeoutError


class _Exit:
    """Carries an exception, that would end the whole loop, to the thread that shall raise it."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class HandlerLoop:
    """Runs coroutines for worker threads. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, coroutine: Coroutine[Any, Any, Any], timeout_s: float | None) -> Any:
        """Run a coroutine to its end and return its value, from a worker thread.

        A timeout cancels it at its next await and raises JobTimeoutError.
        """
        try:
            loop = self._started()
        except RuntimeError:
            coroutine.close()
            raise
        future = asyncio.run_coroutine_threadsafe(_limited(coroutine, timeout_s), loop)
        try:
            value = future.result()
        except CancelledError:
            raise RuntimeError("the handler was cancelled from within") from None
        if isinstance(value, _Exit):
            raise value.error
        return value

    def stop(self) -> None:
        """Stop the loop; what still runs on it is cancelled. Idempotent, legal before start."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
            self._ending.set()
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(timeout=5)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._ending.is_set():
                raise RuntimeError("the consumer stops; the handler was not started")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve,
                    args=(self._loop, self._ending),
                    name="queuepool-handlers",
                    daemon=True,
                )
                self._thread.start()
            return self._loop


async def _limited(coroutine: Coroutine[Any, Any, Any], timeout_s: float | None) -> Any:
    try:
        if timeout_s is None:
            return await coroutine
        async with asyncio.timeout(timeout_s) as limit:
            return await coroutine
    except TimeoutError:
        if timeout_s is not None and limit.expired():
            raise JobTimeoutError(f"took longer than its timeout of {timeout_s:g} s") from None
        raise  # the handler's own
    except (SystemExit, KeyboardInterrupt) as error:
        return _Exit(error)


def _serve(loop: asyncio.AbstractEventLoop, ending: threading.Event) -> None:
    asyncio.set_event_loop(loop)
    try:
        while not ending.is_set():
            # A task that a handler left behind may still raise SystemExit out of the loop.
            with contextlib.suppress(SystemExit, KeyboardInterrupt):
                loop.run_forever()
        pending = asyncio.all_tasks(loop)
        for task in pending:
            task.cancel()
        if pending:
            loop.run_until_complete(asyncio.wait(pending, timeout=2))
    finally:
        loop.close()
