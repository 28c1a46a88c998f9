"""A server whose caller dies at one of its calls, before it or after."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import pytest

from queuepool import QueuePool
from queuepool.servers import Reply
from queuepool.testing import FakeClock, MemoryServer
from queuepool.verbs import Verb

LEASE_S = 3600.0  # of run_jobs


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
        if any(
            verb.script in ("route", "peek") or b"HGETALL" in verb.args[:1] for _, verb in calls
        ):
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


class World(Protocol):
    """A program over a deadly server. life: run it once, and again by whoever comes after."""

    clock: FakeClock
    server: Deadly
    pool: QueuePool

    def fresh(self) -> QueuePool: ...

    def life(self) -> object: ...


W = TypeVar("W", bound=World)


PARTS = 3
DEATHS = [
    pytest.param(part, mode, marks=[pytest.mark.slow] if part else [])
    for part in range(PARTS)
    for mode in ("before", "after")
]


def deaths(make: Callable[[], W], part: int, mode: str) -> Iterator[tuple[W, list[object], str]]:
    """Yield a world for each call at which its program died, and was then run four times more.

    part: of the calls, one of three. mode: it died before the call, or after it. Also yields what
    these runs returned, and which death it was.
    """
    world = make()
    world.life()
    points = world.server.calls
    assert points > 40
    for number in range(1 + part, points + 1, PARTS):
        world = make()
        world.server.at = number, mode
        with pytest.raises(Died):
            world.life()

        world.server.at, world.server.dead = None, False
        world.pool = world.fresh()
        returned = []
        for _ in range(4):  # a job that ran when the process died runs again
            world.clock.advance(LEASE_S + 60)
            returned.append(world.life())
        yield world, returned, f"{mode} call {number}"
