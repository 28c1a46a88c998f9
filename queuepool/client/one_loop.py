"""Keeps an AsyncQueuePool to the event loop in which its connections are."""

from __future__ import annotations

import asyncio
import threading

from queuepool.errors import InvalidInputError
from queuepool.servers import forking


class OneLoop:
    """The first event loop that calls `stay`, until `leave`. A forked child has its own."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        forking.keep(self)

    def stay(self) -> None:
        """Raise InvalidInputError in another event loop than that of earlier calls."""
        here = asyncio.get_running_loop()
        if self._loop is here:
            return
        with self._lock:
            if self._loop is None:
                self._loop = here
            if self._loop is here:
                return
        raise InvalidInputError(
            "this AsyncQueuePool is in use in another event loop: create one AsyncQueuePool per "
            "event loop, or close it in that loop before"
        )

    def leave(self) -> None:
        """Let the next call be in any event loop: no connection is open."""
        self._loop = None

    def after_fork(self) -> None:
        """Start over in a forked child, as connections do."""
        self._loop, self._lock = None, threading.Lock()
