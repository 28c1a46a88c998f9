"""Calls to other partitions are made beside the loop, whatever a server does."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from consumer.core.remote_call import Address, RemoteCall, ToAll, ToLimit, ToPartition
from consumer.loop import remote_calls
from consumer.loop.remote_calls import RemoteCalls
from queuepool.errors import UnavailableError
from queuepool.routing.slots import home_of
from queuepool.routing.topology import build
from queuepool.verbs import Verb
from tests.waiting import wait_until

NAMES = [next(n for n in map(str, range(99)) if home_of(n, 2) == number) for number in range(2)]


class Server:
    """Answers with the arguments of each verb, once it may."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.may = threading.Event()
        self.may.set()
        self.trips: list[int] = []
        self.fails = False

    def run(self, _key: bytes, verbs: Sequence[Verb[Any]]) -> list[Any]:
        self.may.wait(60)
        self.trips.append(len(verbs))
        if self.fails:
            raise UnavailableError("down")
        return [verb.args[0] for verb in verbs]


class World:
    """Two partitions, each on a server of its own."""

    def __init__(self) -> None:
        self.servers = [Server("one"), Server("two")]
        self.rung = 0
        places = [SimpleNamespace(key=b"k", server=server) for server in self.servers]
        config = SimpleNamespace(topology=build({"one": "redis://one"}, 2, ""))
        route = SimpleNamespace(follow=self._follow)
        pool: Any = SimpleNamespace(
            config=config, partition=lambda n, _pool="default": places[n], route=route
        )
        self.elsewhere: Sequence[int | str] | None = ()
        self.followed: Sequence[int | str] | None = None  # elsewhere, once the route is read
        self.calls = RemoteCalls(pool, self._ring, lambda: self.elsewhere)
        self.heard: list[Any] = []

    def _ring(self) -> None:
        self.rung += 1

    def _follow(self) -> None:
        self.elsewhere = self.followed

    def hears(self, replies: int) -> list[Any]:
        """Wait for so many replies in all; return them."""

        def enough() -> bool:
            self.heard += [reply for _, reply in self.calls.take_replies()]
            return len(self.heard) >= replies

        wait_until(enough)
        return self.heard


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    for server in made.servers:
        server.may.set()
    made.calls.close()


def call(to: str | Address, text: object) -> RemoteCall:
    address = ToLimit(to) if isinstance(to, str) else to
    return RemoteCall(address, Verb("ask", [str(text)], lambda r: r))


def test_replies_come_in_the_order_of_the_calls_and_ring(world: World) -> None:
    world.calls.send([call(NAMES[0], n) for n in range(50)])

    assert world.hears(50) == [str(n) for n in range(50)]
    wait_until(lambda: world.rung >= 1)  # after the reply is there
    assert len(world.servers[0].trips) < 50


def test_a_server_that_does_not_answer_delays_no_other(world: World) -> None:
    world.servers[0].may.clear()

    world.calls.send([call(NAMES[0], "late"), call(NAMES[1], "soon")])

    assert world.hears(1) == ["soon"]
    world.servers[0].may.set()
    assert world.hears(2) == ["soon", "late"]


def test_a_server_that_is_down_is_an_answer(world: World) -> None:
    world.servers[0].fails = True

    world.calls.send([call(NAMES[0], n) for n in range(3)])

    assert all(isinstance(reply, UnavailableError) for reply in world.hears(3))


def test_a_call_to_all_goes_to_every_partition(world: World) -> None:
    world.calls.send([call(ToAll(), "end")])

    assert world.hears(2) == ["end", "end"]
    assert [server.trips for server in world.servers] == [[1], [1]]


def test_a_call_to_one_partition_goes_only_there(world: World) -> None:
    world.calls.send([call(ToPartition(1), "end")])

    assert world.hears(1) == ["end"]
    assert [server.trips for server in world.servers] == [[], [1]]


def test_other_places_are_named_once_the_route_was_read(world: World) -> None:
    world.elsewhere, world.followed = None, ["other"]
    answers: list[tuple[RemoteCall, Any]] = []

    def heard(replies: int) -> list[Any]:
        def enough() -> bool:
            answers.extend(world.calls.take_replies())
            return len(answers) >= replies

        wait_until(enough)
        return sorted(str(reply) for _, reply in answers if not isinstance(reply, Exception))

    world.calls.send([call(ToAll(), "mine")])
    assert heard(3) == ["mine", "mine"]
    (later,) = [one for one, reply in answers if isinstance(reply, UnavailableError)]
    world.calls.send([later])
    assert heard(5) == ["mine", "mine", "other", "other"]


def test_no_more_calls_wait_than_may(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_calls, "_MOST", 5)
    world.servers[0].may.clear()

    world.calls.send([call(NAMES[0], n) for n in range(20)])

    assert len(world.hears(10)) >= 10  # those beyond what may wait, at once
    world.servers[0].may.set()
    heard = world.hears(20)
    assert sum(isinstance(reply, UnavailableError) for reply in heard) >= 10
    assert [reply for reply in heard if isinstance(reply, str)][:5] == ["0", "1", "2", "3", "4"]


def test_no_thread_without_a_call_and_none_after_the_end(world: World) -> None:
    before = set(threading.enumerate())

    def started() -> list[threading.Thread]:
        threads = (thread for thread in threading.enumerate() if thread.name == "remote-calls")
        return [thread for thread in threads if thread not in before]

    RemoteCalls(SimpleNamespace(), lambda: None).close()  # type: ignore[arg-type]
    assert started() == []
    world.calls.send([call(NAMES[0], 1)])
    world.hears(1)
    assert len(started()) == 1

    world.calls.close()

    wait_until(lambda: not started())
