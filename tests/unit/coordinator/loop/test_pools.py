"""Pools besides the default one get a coordinator when they begin, or when somebody asks first."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from coordinator.loop.pools import PoolCoordinators
from queuepool.errors import UnavailableError


@dataclass
class Places:
    """A pool whose partitions have worker pools; asked: how often it was asked for them."""

    having: dict[str, int] = field(default_factory=dict)
    asked: int = 0
    away: bool = False

    @property
    def config(self) -> Any:
        return SimpleNamespace(keyspace=SimpleNamespace(pool="main"))

    def places(self) -> list[Any]:
        self.asked += 1
        if self.away:
            raise UnavailableError("no server")
        return [SimpleNamespace(pool=name, number=at) for name, at in self.having.items()]


@dataclass
class Coordinator:
    """Knows whether it runs."""

    name: str
    running: bool = False

    def start(self) -> None:
        self.running = True

    def stop(self, _timeout_s: float = 5.0) -> bool:
        self.running = False
        return True


def coordinators(places: Places) -> PoolCoordinators:
    pool: Any = places
    make: Any = Coordinator
    return PoolCoordinators(pool, make)


def test_a_pool_that_began_since_the_last_look_is_found_when_it_is_asked_for() -> None:
    places = Places({"main": 0})
    pools = coordinators(places)
    pools.look()
    places.having["video"] = 3

    found: Any = pools.find("video")

    assert (found.name, found.running) == ("video", True)
    assert pools.find("video") is found
    assert places.asked == 2


def test_a_pool_that_no_partition_has_is_not_found() -> None:
    places = Places({"main": 0})
    pools = coordinators(places)

    assert pools.find("video") is None


def test_a_pool_is_not_said_to_be_unknown_while_its_server_is_away() -> None:
    places = Places({"main": 0, "video": 3}, away=True)
    pools = coordinators(places)

    with pytest.raises(UnavailableError, match=r"'video' is not known.*nothing was done: no serv"):
        pools.find("video")

    places.away = False
    video: Any = pools.find("video")
    places.away = True
    assert pools.find("video") is video  # one that is known needs no look


def test_none_is_started_once_they_stop() -> None:
    places = Places({"video": 3})
    pools = coordinators(places)
    video: Any = pools.find("video")

    assert pools.stop(1.0)
    places.having["mail"] = 1

    assert not video.running
    assert pools.find("mail") is None
