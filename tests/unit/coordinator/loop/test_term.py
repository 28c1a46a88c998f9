from typing import Any

import pytest
import redis

from coordinator.core.events import CommandFailed, CommandRefused, CommandSent
from coordinator.core.model import Observation
from coordinator.core.planner import Planner
from coordinator.decisions.explain import sentences
from coordinator.decisions.ledger import DecisionBook
from coordinator.decisions.stored import DecisionRecord, decode
from coordinator.loop.fleet import Fleet
from coordinator.loop.term import Term
from coordinator.policy import make_policy
from queuepool.models import RouteRecord
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import build
from queuepool.servers import wire
from queuepool.verbs import Verb
from tests.unit.coordinator.observed import owner, state
from tests.unit.coordinator.ports import Clock, FakeServer

EPOCH = 50


class Rig:
    """A term over two partitions on one server, whose newest command a test may set."""

    def __init__(self) -> None:
        self.server = FakeServer(self.answer)
        self.newest: dict[bytes, str] = {}
        self.events: list[Any] = []
        self.leads = True
        self.failure: Exception | None = None  # of every command
        self.clock = Clock()
        self.topology = build({"main": "redis://fake"}, 2, "")
        self.fleet = Fleet(self.topology, Keyspace(), {"main": self.server})
        self.planner = Planner(policy=make_policy("static", workers=12))
        self.term = Term(
            EPOCH,
            planner=self.planner,
            fleet=self.fleet,
            book=DecisionBook(self.server, b"sys", keep=100),
            may_act=lambda: self.leads,
            checkpoint_interval_s=5.0,
            emit=self.events.append,
            clock=self.clock,
        )

    def answer(self, key: bytes, verb: Verb[Any]) -> Any:
        if verb.script != "command":
            return 1
        if self.failure is not None:
            return wire.translate("fake", self.failure)
        ours, newest = "-".join(map(str, verb.args[:2])), self.newest.get(key, "0-0")
        if [int(n) for n in newest.split("-")] >= [int(n) for n in ours.split("-")]:
            return [0, newest.encode()]
        self.newest[key] = ours
        return [1, ours.encode()]

    def act(self, *, noted_ms: int = 1_000_000) -> None:
        self.clock.now_s += 1.0
        seen = [
            Observation(
                partition=n,
                at_s=self.clock.now_s,
                state=state(owner(8), partition=n, checkpoint=8, checkpoint_ms=noted_ms),
            )
            for n in (0, 1)
        ]
        self.term.begin(self.planner, {}, now_ms=1_000_000)
        self.term.consider(seen[1:])
        self.term.consider(seen[:1])
        self.term.act({})

    def scripts(self) -> list[str]:
        return [verb.script for _, verb in self.server.asked]

    def records(self) -> list[DecisionRecord]:
        texts = [text for _, verb in self.server.asked if verb.script == "record"
                 for text in verb.args if isinstance(text, bytes)]  # fmt: skip
        return [one for text in texts if isinstance(one := decode(text, 0), DecisionRecord)]

    def commands(self) -> list[tuple[Any, ...]]:
        return [tuple(verb.args[1:4]) for _, verb in self.server.asked if verb.script == "command"]


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_a_partition_that_is_new_hears_first_who_leads(rig: Rig) -> None:
    rig.act()
    known = len(rig.commands())
    rig.topology.follow(RouteRecord(version=2, partitions=3, layout="mod", created_ms=1))
    rig.fleet.follow()
    rig.server.asked.clear()

    rig.act()

    said = [(key, verb.args[2]) for key, verb in rig.server.asked if verb.script == "command"]
    assert known >= 2
    assert said[0] == (Keyspace().partition(2), "NOOP")
    assert [kind for _, kind in said].count("NOOP") == 1


def test_the_first_words_of_a_leader_are_a_noop_in_every_partition(rig: Rig) -> None:
    rig.act()

    assert rig.commands() == [(0, "NOOP", 0), (0, "NOOP", 0)]
    assert rig.server.asked[0][1].script == "command"


def test_commands_follow_in_the_next_cycle_and_are_recorded(rig: Rig) -> None:
    rig.act()
    rig.act()

    assert rig.commands()[2:] == [(1, "SCALE_UP", 12), (1, "SCALE_UP", 12)]
    sent = [event for event in rig.events if isinstance(event, CommandSent)]
    assert [(e.command.partition, e.command_id) for e in sent] == [(0, "50-1"), (1, "50-1")]
    assert rig.scripts()[-1] == "record"


def test_a_stale_leader_is_refused_and_decides_nothing_there(rig: Rig) -> None:
    key = Keyspace().partition(0)
    rig.newest[key] = "51-0"  # a newer leader has spoken

    rig.act()
    rig.act()

    refused = [event for event in rig.events if isinstance(event, CommandRefused)]
    assert {event.newest for event in refused} == {"51-0"}
    assert 0 not in rig.term.memories
    assert 1 in rig.term.memories


def test_a_leader_replaced_later_sees_its_commands_refused(rig: Rig) -> None:
    rig.act()
    rig.newest = dict.fromkeys(rig.newest, "51-0")

    rig.act()

    refused = [event for event in rig.events if isinstance(event, CommandRefused)]
    assert [event.command.partition for event in refused] == [0, 1]


def test_a_leader_whose_time_is_over_writes_nothing(rig: Rig) -> None:
    rig.leads = False

    rig.act()
    rig.act()

    assert rig.server.asked == []


def test_a_leader_whose_time_ends_between_two_cycles_writes_nothing_more(rig: Rig) -> None:
    rig.act()
    rig.server.asked.clear()
    rig.leads = False

    rig.act()

    assert rig.server.asked == []


def test_an_outage_while_commanding_is_reported_and_survived(rig: Rig) -> None:
    rig.act()
    rig.server.away = True

    rig.act()

    assert len([event for event in rig.events if isinstance(event, CommandFailed)]) == 2
    rig.server.away = False
    for _ in range(3):
        rig.act()
    assert (2, "SCALE_UP", 12) in rig.commands()  # again, under the next number


@pytest.mark.parametrize(
    "failure",
    [
        redis.ResponseError("NOREPLICAS Not enough good replicas to write."),
        redis.ResponseError("MISCONF Errors writing to the RDB file."),
        redis.ReadOnlyError("You can't write against a read only replica."),
        redis.OutOfMemoryError("command not allowed when used memory > 'maxmemory'."),
        redis.ResponseError("WRONGTYPE Operation against a key of the wrong kind of value"),
    ],
    ids=str,
)
def test_a_command_that_a_server_refuses_informed_nobody(rig: Rig, failure: Exception) -> None:
    rig.act()
    rig.failure = failure
    rig.server.asked.clear()

    rig.act()

    records = rig.records()
    assert [(one.target, one.command, one.unsent) for one in records] == [(12, "", "refused")] * 2
    said = [" ".join(sentences(one)) for one in records]
    assert all("Its command could not be sent; it is repeated" in text for text in said)
    assert not any("informed" in text for text in said)
    assert rig.term.unsent == {0: "refused", 1: "refused"}


@pytest.mark.parametrize(
    "failure", [redis.TimeoutError("Timeout reading"), redis.ConnectionError("reset")], ids=str
)
def test_a_command_without_a_reply_may_have_arrived(rig: Rig, failure: Exception) -> None:
    rig.act()
    rig.failure = failure
    rig.server.asked.clear()

    rig.act()

    records = rig.records()
    assert [(one.command, one.unsent) for one in records] == [("", "unknown")] * 2
    assert all(
        "It is not known whether its command arrived; it is repeated" in " ".join(sentences(one))
        for one in records
    )


def test_a_command_that_a_newer_leader_forestalled_informed_nobody(rig: Rig) -> None:
    rig.act()
    rig.newest = dict.fromkeys(rig.newest, "51-0")
    rig.server.asked.clear()

    rig.act()

    assert [(one.command, one.unsent) for one in rig.records()] == [("", "refused")] * 2


def test_a_command_that_is_accepted_again_is_recorded_again(rig: Rig) -> None:
    rig.act()
    rig.failure = redis.ReadOnlyError("You can't write against a read only replica.")
    rig.act()
    rig.failure = None
    rig.server.asked.clear()

    for _ in range(2):
        rig.act()

    assert {(one.command, one.unsent) for one in rig.records()} == {("50-2", "")}
    assert "Command 50-2 informed the consumer." in sentences(rig.records()[0])
    assert rig.term.unsent == {}


def test_records_wait_while_their_server_is_away_and_are_bounded() -> None:
    rig = Rig()
    book = DecisionBook(rig.server, b"sys", keep=100)
    rig.act()
    records = [rig.term._record(r, 0, 0.0) for r in rig_rulings(rig)]
    rig.server.away = True

    lost = sum(book.write(EPOCH, records) for _ in range(1_200 // len(records)))
    rig.server.away = False
    rig.server.asked.clear()
    book.write(EPOCH, [])

    assert lost == 200
    assert sum(len(verb.args) - 2 for _, verb in rig.server.asked) == 2 * 1_000


def rig_rulings(rig: Rig) -> Any:
    planner = Planner(policy=make_policy("static"))
    seen = [Observation(partition=n, at_s=1.0, state=state(owner(8), partition=n)) for n in (0, 1)]
    return planner.plan(EPOCH, {}, seen, {}, 1.0).decisions


def test_a_quiet_partition_gets_a_fresh_checkpoint_when_the_old_one_has_aged(rig: Rig) -> None:
    rig.act()  # a new leader writes each once, so that an older one cannot
    rig.act(noted_ms=994_000)  # 6 s old, but a command writes its own
    rig.server.asked.clear()

    rig.act(noted_ms=994_000)
    notes = [verb.args for _, verb in rig.server.asked if verb.script == "checkpoint"]
    assert notes == [[EPOCH, 8], [EPOCH, 8]]
    rig.act(noted_ms=994_000)  # the command goes out once more
    rig.act(noted_ms=996_000)  # 4 s old
    assert rig.scripts().count("checkpoint") == 2


def test_a_new_leader_writes_every_checkpoint_once_however_fresh_it_is(rig: Rig) -> None:
    rig.act()

    assert rig.scripts().count("checkpoint") == 2
