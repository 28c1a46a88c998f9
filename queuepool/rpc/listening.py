"""Reads a stream of a coordinator until it ends or falls silent.

The stream of a machine that is lost never ends: nobody is left to say so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any, Final

import grpc

from queuepool.errors import UnavailableError
from queuepool.errors.hindrances import start_thread

SILENT_S: Final = 15.0
_CYCLES: Final = 3  # while no server answers, a coordinator pauses for two, and one is underway
_LONGEST_STEP_S: Final = 1.0


def silent_after_s(cycle_s: float) -> float:
    """Return how long a coordinator with such cycles may say nothing; 0: it did not tell."""
    return max(SILENT_S, _CYCLES * cycle_s)


class SilentError(UnavailableError):
    """A stream said nothing for too long."""

    def __init__(self, silent_s: float) -> None:
        super().__init__(f"the coordinator has been silent for {silent_s:.0f} s")


class Listening:
    """The messages of one stream, to be iterated once; `stopping` ends it from outside.

    silent_s: may be changed meanwhile. Time that the reader takes for a message does not count.
    """

    def __init__(self, stream: Any, stopping: threading.Event) -> None:
        self.silent_s = silent_after_s(0.0)
        self._stream, self._stopping = stream, stopping
        self._waits_since_s: float | None = None
        self._over = self._is_silent = False

    def __iter__(self) -> Iterator[Any]:
        """Yield messages. Raises SilentError, NoThreadError, grpc.RpcError."""
        guard = threading.Thread(target=self._guard, name="stream-guard", daemon=True)
        try:
            start_thread(guard, "to notice a silent coordinator")
            yield from self._messages()
        except grpc.RpcError:
            if not self._is_silent and not self._stopping.is_set():
                raise
        finally:
            self._over = True
            self._stream.cancel()
        if self._is_silent:
            raise SilentError(self.silent_s)

    def _messages(self) -> Iterator[Any]:
        self._waits_since_s = time.monotonic()
        for message in self._stream:
            self._waits_since_s = None
            yield message
            self._waits_since_s = time.monotonic()

    def _guard(self) -> None:
        while not self._stopping.wait(min(self.silent_s / 4, _LONGEST_STEP_S)):
            since_s = self._waits_since_s
            if self._over:
                return
            if since_s is not None and time.monotonic() - since_s >= self.silent_s:
                self._is_silent = True
                break
        self._stream.cancel()
