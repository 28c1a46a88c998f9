"""A server whose caller dies at one of its calls, before it or after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queuepool.servers import Reply
from queuepool.testing import FakeClock, MemoryServer
from queuepool.verbs import Verb


class Died(BaseException):
    """The process is gone."""


class Deadly:
    """A server in memory whose caller dies at one of its calls. at: which one, None for none."""

    def __init__(self, clock: FakeClock) -> None:
        self.server = MemoryServer(clock)
        self.calls = 0
        self.at: tuple[int, str] | None = None
        self.dead = False

    def run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Reply]:
        return self.run_many([(key, verb) for verb in verbs])

    def run_many(self, calls: Sequence[tuple[bytes, Verb[Any]]]) -> list[Reply]:
        if any(verb.script in ("route", "peek") for _, verb in calls):
            return self.server.run_many(calls)  # by a thread of its own, whose death is no event
        if self.dead:
            raise Died
        self.calls += 1
        number, mode = self.at or (0, "")
        if self.calls == number and mode == "before":
            self.dead = True
            raise Died
        replies = self.server.run_many(calls)
        if self.calls == number:
            self.dead = True
            raise Died
        return replies

    def __getattr__(self, name: str) -> Any:
        return getattr(self.server, name)
