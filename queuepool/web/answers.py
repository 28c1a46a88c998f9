"""What blocking calls returned lately, for all who look.

Whoever asks what somebody else asks already waits for the same call.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool

T = TypeVar("T")
_MOST = 500  # kept
_Key = tuple[int, int, str]  # event loop, era, name


class Answers:
    """Used from event loops, usually of one; bounded."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[float, Any]] = {}
        self._asking: dict[_Key, asyncio.Task[Any]] = {}
        self._era = 0  # another one once everything was forgotten
        self._lock = threading.Lock()

    async def get(
        self, name: str, keep_s: float, ask: Callable[[], T], *, stale_s: float = 0.0
    ) -> T:
        """Return an answer that is not older than keep_s; if there is none, ask.

        stale_s: give an answer that is not older than this at once, and ask meanwhile.
        """
        with self._lock:
            at_s, kept = self._kept.get(name, (float("-inf"), None))
        age_s = time.monotonic() - at_s
        if age_s >= keep_s:
            asking = self._ask(name, ask)
            if age_s >= stale_s:
                kept = await asyncio.shield(asking)
        found: T = kept
        return found

    def _ask(self, name: str, ask: Callable[[], T]) -> asyncio.Task[T]:
        with self._lock:
            key = (id(asyncio.get_running_loop()), self._era, name)
            task = self._asking.get(key)
            if task is None:
                task = self._asking[key] = asyncio.create_task(self._asked(key, ask))
                task.add_done_callback(_is_known)
        return task

    async def _asked(self, key: _Key, ask: Callable[[], T]) -> T:
        _, era, name = key
        try:
            fresh = await run_in_threadpool(ask)
            with self._lock:
                if era == self._era:
                    self._kept[name] = (time.monotonic(), fresh)
                while len(self._kept) > _MOST:
                    self._kept.pop(next(iter(self._kept)))
        finally:
            with self._lock:
                self._asking.pop(key, None)
        return fresh

    def forget(self) -> None:
        """Forget all answers, also those that are still to come: what they tell has changed."""
        with self._lock:
            self._kept.clear()
            self._era += 1

    def close(self) -> None:
        """Wait for no answer any more."""
        with self._lock:
            tasks = list(self._asking.values())
        for task in tasks:
            loop = task.get_loop()
            if not loop.is_closed():
                loop.call_soon_threadsafe(task.cancel)


def _is_known(task: asyncio.Task[Any]) -> None:
    """Take note of an error that nobody waited for: whoever asks next gets it."""
    if not task.cancelled():
        task.exception()
