import threading
from typing import Any

import pytest

from coordinator.core.events import ObservationFailed
from coordinator.loop.fleet import Fleet
from coordinator.loop.observer import Observer
from queuepool.errors import UnavailableError
from queuepool.models import RouteRecord
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import build
from queuepool.verbs import Verb
from tests.unit.coordinator.ports import Clock, FakeServer, observation

TOPOLOGY = build({"a": "redis://a", "b": "redis://b"}, 4, "0=a,1=b,2=a,3=b")


class Rig:
    """Two servers with two partitions each, on which jobs are finished at a test's will."""

    def __init__(self) -> None:
        self.done = 0
        self.a, self.b = FakeServer(self.answer), FakeServer(self.answer)
        self.fleet = Fleet(TOPOLOGY, Keyspace(), {"a": self.a, "b": self.b})
        self.clock, self.events = Clock(), list[Any]()
        self.observer = Observer(self.fleet, emit=self.events.append, clock=self.clock)

    def answer(self, _key: bytes, _verb: Verb[Any]) -> Any:
        return observation(self.clock.now_s * 1000, done=self.done)


@pytest.fixture
def rig() -> Any:
    made = Rig()
    yield made
    made.fleet.close()


def test_every_server_is_asked_once_and_replies_keep_their_order(rig: Rig) -> None:
    calls = [(n, Verb("status", [n], int)) for n in (3, 0, 1, 2)]
    rig.a.answer = rig.b.answer = lambda _key, verb: verb.args[0]

    assert rig.fleet.run(calls) == [3, 0, 1, 2]
    assert [verb.args[0] for _, verb in rig.a.asked] == [0, 2]
    assert [verb.args[0] for _, verb in rig.b.asked] == [3, 1]


def test_a_slow_server_does_not_make_the_others_wait(rig: Rig) -> None:
    answered = threading.Event()

    def slow(_key: bytes, verb: Verb[Any]) -> Any:
        assert answered.wait(60.0), "the other server was not asked meanwhile"
        return verb.args[0]

    def quick(_key: bytes, verb: Verb[Any]) -> Any:
        answered.set()
        return verb.args[0]

    rig.a.answer, rig.b.answer = slow, quick

    assert rig.fleet.run([(n, Verb("status", [n], int)) for n in range(4)]) == [0, 1, 2, 3]


def test_what_a_server_has_answered_is_read_while_it_works_on_the_rest(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordinator.loop.fleet._ROUND_TRIP", 1)
    read = threading.Event()

    def second_after_first(_key: bytes, verb: Verb[Any]) -> Any:
        assert verb.args[0] == 0 or read.wait(60.0), "nothing was read meanwhile"
        return verb.args[0]

    rig.a.answer, found = second_after_first, dict[int, Any]()
    for places, replies in rig.fleet.stream([(n, Verb("status", [n], int)) for n in (0, 2)]):
        read.set()
        found.update(zip(places, replies, strict=True))

    assert found == {0: 0, 1: 2}


def test_a_server_with_many_partitions_works_while_its_replies_are_received(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordinator.loop.fleet._ROUND_TRIP", 1)
    monkeypatch.setattr("coordinator.loop.fleet._MANY", 3)
    topology = build({"a": "redis://a"}, 5, "")
    fleet = Fleet(topology, Keyspace(), {"a": rig.a})
    both = threading.Barrier(2)

    def first_of_either_half(_key: bytes, verb: Verb[Any]) -> Any:
        if verb.args[0] in (0, 2):
            both.wait(60.0)
        return verb.args[0]

    rig.a.answer = first_of_either_half
    calls = [(n, Verb("status", [n], int)) for n in range(5)]

    assert fleet.run(calls) == [0, 1, 2, 3, 4]
    monkeypatch.setattr("coordinator.loop.fleet._MANY", 5)
    both.abort()
    rig.a.answer = lambda _key, verb: verb.args[0]
    assert fleet.run(calls) == [0, 1, 2, 3, 4]
    fleet.close()


def test_round_trips_grow_from_a_small_one(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coordinator.loop.fleet._MANY", 1_000)
    fleet = Fleet(build({"a": "redis://a"}, 300, ""), Keyspace(), {"a": rig.a})
    rig.a.answer = lambda _key, verb: verb.args[0]

    sizes = [len(some) for some, _ in fleet.stream([(n, Verb("x", [n], int)) for n in range(300)])]

    assert sizes == [16, 32, 64, 64, 64, 60]
    fleet.close()


def test_a_server_that_fails_is_not_asked_again_in_a_run(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordinator.loop.fleet._ROUND_TRIP", 1)

    def away(_key: bytes, _verb: Verb[Any]) -> Any:
        raise UnavailableError("fake: no answer")

    rig.a.answer, rig.b.answer = lambda _key, verb: verb.args[0], away
    calls = [(n, Verb("status", [n], int)) for n in (0, 1, 2, 3, 1)]

    replies = rig.fleet.run(calls)

    assert replies[:1] + replies[2:3] == [0, 2]
    assert all(isinstance(reply, UnavailableError) for reply in (replies[1], *replies[3:]))
    assert len(rig.b.asked) == 1


def test_a_slow_server_is_asked_for_so_long_and_first_about_the_others_next_time(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordinator.loop.fleet._ROUND_TRIP", 1)
    topology = build({"a": "redis://a"}, 5, "")
    fleet = Fleet(topology, Keyspace(), {"a": rig.a}, patience_s=2.5, clock=rig.clock)

    def slow(_key: bytes, verb: Verb[Any]) -> Any:
        rig.clock.now_s += 1.0
        return verb.args[0]

    def answered() -> list[int]:
        replies = fleet.run([(n, Verb("status", [n], int)) for n in range(5)])
        assert all(r == n or isinstance(r, UnavailableError) for n, r in enumerate(replies))
        return [n for n, reply in enumerate(replies) if reply == n]

    rig.a.answer = slow
    assert answered() == [0, 1, 2]
    assert fleet.run([(0, Verb("status", [0], int))]) == [0]
    assert answered() == [0, 3, 4]
    assert answered() == [1, 2, 3]
    rig.a.answer = lambda _key, verb: verb.args[0]
    assert answered() == [0, 1, 2, 3, 4]
    assert answered() == [0, 1, 2, 3, 4]
    fleet.close()


def test_what_is_wrong_here_is_raised_and_not_taken_for_an_answer(rig: Rig) -> None:
    def wrong(_key: bytes, _verb: Verb[Any]) -> Any:
        raise KeyError("a fault of ours")

    rig.a.answer = wrong
    with pytest.raises(KeyError):
        rig.fleet.run([(n, Verb("status", [n], int)) for n in range(4)])
    with pytest.raises(KeyError):
        rig.fleet.run([(0, Verb("status", [0], int))])


def test_without_a_thread_the_servers_are_asked_one_after_the_other(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    calls = [(n, Verb("status", [n], int)) for n in range(4)]
    rig.a.answer = rig.b.answer = lambda _key, verb: verb.args[0]
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        assert rig.fleet.run(calls) == [0, 1, 2, 3]
        assert rig.fleet.run(calls) == [0, 1, 2, 3]

    assert rig.fleet.run(calls) == [0, 1, 2, 3]
    assert len(rig.a.asked) == len(rig.b.asked) == 6  # nothing of a refusal is done again


def test_a_server_that_is_away_costs_its_own_partitions_only(rig: Rig) -> None:
    rig.b.away = True

    seen = rig.observer.observe()

    assert [observation.state is not None for observation in seen] == [True, False, True, False]
    assert rig.observer.reached == {"a": True, "b": False}
    assert rig.events == [ObservationFailed("b", (1, 3), "fake: no answer")]
    assert all(isinstance(r, UnavailableError) for r in rig.fleet.run([(1, Verb("x", [], int))]))


def test_the_rate_is_the_difference_of_two_looks(rig: Rig) -> None:
    rig.observer.observe()
    rig.clock.now_s += 2.0
    rig.done = 50

    rig.observer.observe()

    assert rig.observer.finished_per_s == dict.fromkeys(range(4), 25.0)


def test_a_counter_that_lost_writes_is_no_negative_rate(rig: Rig) -> None:
    rig.done = 50
    rig.observer.observe()
    rig.clock.now_s += 1.0
    rig.done = 10

    rig.observer.observe()

    assert rig.observer.finished_per_s[0] == 0.0


def test_closing_is_idempotent(rig: Rig) -> None:
    rig.fleet.close()
    rig.fleet.close()


def test_a_newer_route_is_taken_when_the_next_cycle_begins(rig: Rig) -> None:
    topology = TOPOLOGY.apart()
    fleet = Fleet(topology, Keyspace(), {"a": rig.a, "b": rig.b})
    observer = Observer(fleet, clock=rig.clock)
    assert len(observer.observe()) == 4

    topology.follow(record(2, 6, "0-5=b"))
    assert (list(fleet.partitions), fleet.servers) == ([0, 1, 2, 3], ("a", "b"))
    rig.a.away = True
    assert [seen.state is not None for seen in observer.observe()] == [True] * 6
    assert (fleet.servers, observer.reached) == (("b",), {"b": True})

    topology.follow(record(3, 1, "0=b"))
    assert fleet.server_of(5) == "b", "until this cycle is over"
    assert len(observer.observe()) == 1
    fleet.close()


def record(version: int, partitions: int, servers: str) -> RouteRecord:
    return RouteRecord(
        version=version, partitions=partitions, layout="mod", created_ms=1, servers=servers
    )
