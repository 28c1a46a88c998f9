"""The servers of tests, watched: emptied, ended when they hang; their logs; a test's time."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
import redis

from queuepool.process.embedded import EmbeddedServer


class OutOfTimeError(BaseException):
    """A test did not end in its time. No `except Exception` of a test or of hypothesis stops it."""


class Servers:
    """Every embedded server of this process, from its start on."""

    def __init__(self) -> None:
        self._known: list[EmbeddedServer] = []

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Notice each start within this context."""
        begin: Callable[[EmbeddedServer], None] = EmbeddedServer.start

        def start(server: EmbeddedServer) -> None:
            begin(server)
            if server not in self._known:
                self._known.append(server)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(EmbeddedServer, "start", start)
            yield

    def kill(self) -> None:
        """End them all at once: what waits for a reply gets an error."""
        for server in self._known:
            server.kill()

    def in_order(self) -> bool:
        """Empty those that were not stopped; return whether all of them live and obey."""
        self._known = [s for s in self._known if s._process is not None]
        return all(s._process.poll() is None and _emptied(s) for s in self._known if s._process)

    def logged(self) -> dict[Path, int]:
        """Return the size of the log of each that runs."""
        running = [s._directory for s in self._known if s._process and s._directory]
        logs = [directory.path / "server.log" for directory in running]
        return {log: log.stat().st_size for log in logs}

    def logged_since(self, before: Mapping[Path, int]) -> bytes | None:
        """Return what those of `logged` have logged since; None if others run now."""
        if self.logged().keys() != before.keys():
            return None
        return b"".join(_end(log, size) for log, size in before.items())

    @contextmanager
    def time_limit(self, seconds: float) -> Iterator[None]:
        """Raise OutOfTimeError, after the end of every server, when the time is over."""

        def over(_signal: int, _frame: FrameType | None) -> None:
            self.kill()
            raise OutOfTimeError(f"{seconds:g} s")

        before = signal.signal(signal.SIGALRM, over)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def _end(log: Path, start: int) -> bytes:
    with log.open("rb") as file:
        file.seek(start)
        return file.read()


def _emptied(server: EmbeddedServer) -> bool:
    client = redis.Redis.from_url(server.url, socket_timeout=2.0)
    try:
        client.config_set("maxmemory", 0)
        client.flushall()
    except redis.RedisError:
        return False
    finally:
        client.close()
    return True
