"""Keeps an AsyncQueuePool to the event loop in which its connections are."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from queuepool.errors import InvalidInputError
from queuepool.servers import forking


class OneLoop:
    """The first event loop that calls `stay`, until `leave` or until it is closed.

    forget: gives up all connections, without a wait; called in the next loop, before its first
    call. A forked child has a loop of its own.
    """

    def __init__(self, forget: Callable[[], None]) -> None:
        self._forget = forget
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        forking.keep(self)

    def stay(self) -> None:
        """Raise InvalidInputError in another event loop than that of earlier calls."""
        here = asyncio.get_running_loop()
        if self._loop is here:
            return
        with self._lock:
            if self._loop is not None and self._loop.is_closed():
                self._forget()  # no other thread passes meanwhile: a closed loop runs nothing
                self._loop = None
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
