"""A pool asks once whether its partition count is that of the keyspace, and refuses another."""

import asyncio
import os
from collections.abc import Sequence
from typing import Any

import pytest

from queuepool import AsyncQueuePool, ConfigurationError, PoolConfig, QueuePool, UnavailableError
from queuepool.errors import ScriptError, SealedError
from queuepool.models import JobState, RouteRecord
from queuepool.partitions.route import Leave, Verification, contradiction
from queuepool.process.keeping import RouteKeeper
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import Topology
from queuepool.routing.views import MOD, SEALED
from queuepool.servers import Reply
from queuepool.testing import FakeClock, MemoryServer
from queuepool.testing.server import AsyncMemoryServer
from queuepool.verbs import Verb
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import route
from tests.waiting import wait_until

NAMES = ("one", "two")


class Watched(MemoryServer):
    """A server in memory that notes the scripts it runs. away: what it answers instead."""

    def __init__(self, name: str = "one") -> None:
        super().__init__(FakeClock(), name=name)
        self.asked: list[str] = []
        self.away: Exception | None = None
        self.refused: set[str] = set()
        self.may_not_make = False

    def run_many(self, calls: Sequence[tuple[bytes, Verb[Any]]]) -> list[Reply]:
        self.asked += [verb.script for _, verb in calls]
        if self.away is not None:
            raise self.away
        return [
            ScriptError("NOPERM") if verb.script in self.refused else self._answer(key, verb)
            for key, verb in calls
        ]

    def _answer(self, key: bytes, verb: Verb[Any]) -> Reply:
        if verb.script == "route" and self.may_not_make:
            verb = route.look(key)
        return super().run_many([(key, verb)])[0]


def config(partitions: int, names: Sequence[str] = NAMES[:1], **more: Any) -> PoolConfig:
    """Return a config of partitions that are dealt out to the servers in turn."""
    placement = tuple(names[n % len(names)] for n in range(partitions))
    topology = Topology(dict.fromkeys(names, "memory:"), placement)
    return PoolConfig(topology=topology, retry_for_s=0.0, **more)


def pool(server: MemoryServer, partitions: int, **more: Any) -> QueuePool:
    return QueuePool(config=config(partitions, **more), servers={"one": server})


def key_of(pool: QueuePool, partition: int) -> str:
    """Return a partition key that leads to a partition."""
    return next(k for k in map(str, range(10_000)) if pool.producer.route(k).partition == partition)


def test_a_process_that_starts_unflagged_after_the_seal_is_told_so_by_its_own_error() -> None:
    """Not only one that was running when its queue was sealed."""
    server = Watched()
    server.run(Keyspace().system(), [route.record(2, MOD, SEALED)])
    topology = Topology({"one": "memory:"}, ("one", "one"), partitioned=False)

    late = QueuePool(config=PoolConfig(topology=topology, retry_for_s=0.0), servers={"one": server})
    for _ in range(2):
        with pytest.raises(SealedError, match="QUEUEPOOL_PARTITIONED=true"):
            late.enqueue("t", partition_key="a")


def test_a_process_that_places_partition_0_elsewhere_is_refused_and_told_where_it_was() -> None:
    """The record stays where partition 0 was at first, also when the partition has moved."""
    servers = {name: Watched(name) for name in NAMES}
    QueuePool(config=config(2, NAMES), servers=servers).enqueue("t", partition_key="a")

    wrong = QueuePool(config=config(2, NAMES[::-1]), servers=servers)
    for call in (lambda: wrong.enqueue("t", partition_key="a"), wrong.route.read):
        with pytest.raises(
            ConfigurationError, match=r"the route record of .* is on 'one'"
        ) as caught:
            call()
        assert "Set 0=one in QUEUEPOOL_PLACEMENT" in str(caught.value)
    assert sum(server.asked.count("enqueue") for server in servers.values()) == 1
    assert QueuePool(config=config(2, NAMES), servers=servers).route.read() is not None


@pytest.mark.parametrize(("made", "given"), [(4, 8), (4, 1), (4, 3), (1, 4096)])
def test_a_producer_with_another_count_is_refused_with_both_values(made: int, given: int) -> None:
    server = Watched()
    pool(server, made).enqueue("t", partition_key="a")
    wrong = pool(server, given)

    for call in (
        lambda: wrong.enqueue("t", partition_key="a"),
        lambda: wrong.enqueue_many("t", [{}], partition_key="a"),
        lambda: wrong.status("id", partition_key="a"),
        lambda: wrong.status("id"),
        lambda: wrong.cancel("id", partition_key="a"),
        lambda: wrong.group("a").status(),
    ):
        with pytest.raises(ConfigurationError) as caught:
            call()
        (line,) = str(caught.value).splitlines()
        assert f"{given} partitions are configured" in line
        assert f"has {made}: " in line
        assert f"QUEUEPOOL_PARTITIONS={made}" in line
    assert server.asked.count("enqueue") == 1


def test_an_asyncio_producer_with_another_count_is_refused() -> None:
    server = Watched()
    pool(server, 4).enqueue("t", partition_key="a")

    async def run() -> None:
        wrong = AsyncQueuePool(config=config(8), servers={"one": AsyncMemoryServer(server)})
        calls = (
            lambda: wrong.enqueue("t", partition_key="a"),
            lambda: wrong.enqueue_many("t", [{}], partition_key="a"),
            lambda: wrong.status("id", partition_key="a"),
            lambda: wrong.status("id"),
            lambda: wrong.group("a").cancel(),
        )
        for call in calls:
            with pytest.raises(ConfigurationError, match=r"8 partitions .* has 4: "):
                await call()
        await wrong.close()

    asyncio.run(run())
    assert server.asked.count("enqueue") == 1


def test_the_record_is_asked_for_once_and_no_later_call_pays_for_it() -> None:
    server = Watched()
    first, second = pool(server, 4), pool(server, 4)

    for one in (first, second):
        for n in range(20):
            one.enqueue("t", {"n": n}, partition_key=str(n))
        one.enqueue_many("t", [{}] * 500, partition_key="many")
        one.group("many").status()

    assert server.asked.count("route") == 1  # made by the first
    assert server.asked.count("") == 2  # both looked
    assert server.asked.count("peek") == 32


def test_an_asyncio_pool_asks_once_though_many_tasks_begin_together() -> None:
    server = Watched()
    pool(server, 4).enqueue("t", partition_key="a")
    server.asked.clear()

    async def run() -> None:
        async with AsyncQueuePool(
            config=config(4), servers={"one": AsyncMemoryServer(server)}
        ) as p:
            await asyncio.gather(*(p.enqueue("t", partition_key=str(n)) for n in range(50)))

    asyncio.run(run())
    assert (server.asked.count(""), server.asked.count("route")) == (1, 0)
    assert server.asked.count("enqueue") == 50


def test_one_asyncio_pool_in_two_loops_asks_in_each_until_it_knows() -> None:
    server = Watched()
    server.refused = {""}  # no rights, until someone grants them
    p = AsyncQueuePool(config=config(4), servers={"one": AsyncMemoryServer(server)})

    for _ in range(2):
        asyncio.run(p.enqueue("t", partition_key="a"))
        p._network.verifier.state.again_s = 0.0
        server.refused = set()

    assert p._network.verifier.state.verified


def test_to_ask_about_a_job_makes_no_record() -> None:
    server = Watched()

    assert pool(server, 8).status("id", partition_key="a").state is JobState.UNKNOWN

    assert pool(server, 4).enqueue("t", partition_key="a").job_id


@pytest.mark.parametrize("how", ["away", "no rights", "rights to read alone", "damaged"])
def test_an_enqueue_is_never_refused_because_the_record_cannot_be_had(how: str) -> None:
    server, other = Watched(), Watched("two")
    if how == "away":
        server.away = UnavailableError("one: away")
    server.refused = {"", "route", "peek"} if how == "no rights" else set()
    server.may_not_make = how == "rights to read alone"
    if how == "damaged":
        server._systems.setdefault(Keyspace().system(), _damaged())
    p = QueuePool(config=config(4, NAMES), servers={"one": server, "two": other})

    for n in range(10):
        assert p.enqueue("t", {"n": n}, partition_key=key_of(p, 1)).job_id

    assert not p.route.state.verified
    assert server.asked.count("") <= 2  # not once a call


AWAY = UnavailableError("two: away")


@pytest.mark.parametrize("count", [2, 8])
def test_a_server_without_partitions_that_is_away_prevents_neither_record_nor_check(
    count: int,
) -> None:
    servers = {name: Watched(name) for name in NAMES}
    servers["two"].away = AWAY

    QueuePool(config=spare(4), servers=servers).enqueue("t", partition_key="a")

    found = QueuePool(config=spare(4), servers=servers).route.read()
    assert found is not None
    assert (found.partitions, found.unheard) == (4, "two")
    wrong = QueuePool(config=spare(count), servers=servers)
    with pytest.raises(ConfigurationError, match=rf"{count} partitions .* has 4: "):
        wrong.enqueue("t", partition_key="a")


def test_an_asyncio_pool_makes_the_record_without_a_server_that_is_away_and_asks_it_once() -> None:
    servers = {name: Watched(name) for name in NAMES}
    servers["two"].away = AWAY

    async def run() -> None:
        ports = {name: AsyncMemoryServer(server) for name, server in servers.items()}
        async with AsyncQueuePool(config=spare(4), servers=ports) as p:
            for n in range(20):
                await p.enqueue("t", partition_key=str(n))
            assert p._network.verifier.state.doubtful

    asyncio.run(run())
    assert servers["one"]._systems[Keyspace().system()].route[b"unheard"] == b"two"
    assert servers["two"].asked == [""]


def test_a_server_that_was_away_when_the_record_was_made_is_asked_by_all_until_it_answers() -> None:
    servers = {name: Watched(name) for name in NAMES}
    servers["two"].away = AWAY
    pools = [QueuePool(config=spare(4), servers=servers) for _ in range(2)]
    for one in pools:
        for n in range(10):
            one.enqueue("t", partition_key=str(n))
        wait_until(lambda one=one: one.route.state.doubtful)  # type: ignore[misc]
        assert not one.route.state.verified
    assert len(servers["two"].asked) == 66  # looked for a record and 32 partitions, once a pool

    servers["two"].away = None
    for one in pools:
        one.route.read()  # as a thread does that does not delay calls
        assert (one.route.state.verified, one.route.state.doubtful) == (True, False)


def test_jobs_beyond_on_a_server_that_was_away_are_not_cut_off_in_silence() -> None:
    servers = {name: Watched(name) for name in NAMES}
    old = QueuePool(config=config(8, NAMES), servers=servers)  # 5 is on "two"
    old.route.state.verified = True
    old.enqueue("t", partition_key=key_of(old, 5))
    servers["two"].away = AWAY
    made = QueuePool(config=spare(4), servers=servers)
    made.enqueue("t", partition_key="a")

    servers["two"].away = None
    with pytest.raises(ConfigurationError):
        made.route.read()

    for one in (made, QueuePool(config=spare(4), servers=servers)):
        with pytest.raises(ConfigurationError, match=r"partition 5 on server 'two' holds 1 jobs"):
            one.enqueue("t", partition_key="a")


def test_two_records_are_named_by_both_servers_as_soon_as_they_can_be_seen() -> None:
    servers = {name: Watched(name) for name in NAMES}
    elsewhere = QueuePool(config=config(2, NAMES[::-1]), servers=servers)  # 0 is on "two"
    elsewhere.enqueue("t", partition_key="a")
    servers["two"].away = AWAY
    refusals = list[ConfigurationError]()
    keeper = RouteKeeper(QueuePool(config=spare(4), servers=servers), refusals.append)
    assert all(keeper.look() for _ in range(3))

    servers["two"].away = None

    assert not keeper.look()
    (refusal,) = refusals
    assert "has two route records: one on server 'one'" in str(refusal)


def test_a_keeper_names_the_silent_server_once_and_says_when_it_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    servers = {name: Watched(name) for name in NAMES}
    servers["two"].away = AWAY
    keeper = RouteKeeper(QueuePool(config=spare(4), servers=servers), lambda _: None)

    with caplog.at_level("INFO", logger="queuepool.route"):
        assert all(keeper.look() for _ in range(3))
        servers["two"].away = None
        assert keeper.look()

    assert [r.levelname for r in caplog.records] == ["WARNING", "INFO"]
    assert "goes on: 'two': two: away" in caplog.records[0].getMessage()


def test_a_keeper_does_not_complain_of_a_connection_that_its_process_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Watched()
    server.away = UnavailableError("Bad file descriptor")
    keeper = RouteKeeper(pool(server, 4), lambda _: None)
    keeper.stop()

    with caplog.at_level("INFO", logger="queuepool.route"):
        assert keeper.look()
    assert caplog.records == []


def test_a_record_that_was_changed_since_is_followed_without_asking_who_was_away() -> None:
    servers = {name: Watched(name) for name in NAMES}
    made = RouteRecord(
        version=2, partitions=2, layout=MOD, created_ms=0, servers="0-1=one", unheard="two"
    )
    servers["one"].run(Keyspace().system(), [route.restore(made)])

    p = QueuePool(config=spare(4), servers=servers)
    p.enqueue("t", partition_key="a")

    assert p.route.state.verified
    assert servers["two"].asked == []


def spare(partitions: int) -> PoolConfig:
    """Return a config of partitions that are all on the first of two servers."""
    topology = Topology(dict.fromkeys(NAMES, "memory:"), ("one",) * partitions)
    return PoolConfig(topology=topology, retry_for_s=0.0)


def _damaged() -> Any:
    from queuepool.testing.records import SystemData

    return SystemData(route={b"partitions": b"many"})


def test_the_record_is_asked_for_as_soon_as_its_server_is_back() -> None:
    server, other = Watched(), Watched("two")
    servers = {"one": server, "two": other}
    QueuePool(config=config(4, NAMES), servers=servers).enqueue("t", partition_key="a")
    wrong = QueuePool(config=config(8, NAMES), servers=servers)
    server.away = UnavailableError("one: away")
    assert wrong.enqueue("t", partition_key=key_of(wrong, 1)).job_id

    server.away = None
    wrong.route.state.again_s = 0.0  # the pause is over

    with pytest.raises(ConfigurationError, match="has 4: "):
        wrong.enqueue("t", partition_key=key_of(wrong, 1))


def test_a_record_that_was_mended_is_accepted_without_a_restart() -> None:
    server = Watched()
    pool(server, 4).route.read(Leave.RECORD)
    later = pool(server, 8)
    with pytest.raises(ConfigurationError):
        later.enqueue("t", partition_key="a")

    server._systems.clear()
    later.route.state.again_s = 0.0

    assert later.enqueue("t", partition_key="a").job_id


@pytest.mark.parametrize("busy", ["jobs", "an owner"])
def test_a_keyspace_without_a_record_is_not_recorded_smaller_than_it_is(busy: str) -> None:
    server = Watched()
    old = pool(server, 8)  # like a version without the record
    if busy == "jobs":
        old.route.state.verified = True
        old.enqueue("t", partition_key=key_of(old, 6))
    else:
        assert not isinstance(old.partition(6).acquire(lease_s=30), own.Held)

    with pytest.raises(ConfigurationError, match=r"4 partitions .* partition 6 .* 7 or more"):
        pool(server, 4).enqueue("t", partition_key="a")

    old.route.state.verified = False
    assert old.enqueue("t", partition_key="a").job_id
    with pytest.raises(ConfigurationError, match=r"4 partitions .* has 8: "):
        pool(server, 4).enqueue("t", partition_key="a")


def test_a_layout_of_a_newer_version_is_refused() -> None:
    server = Watched()
    (_made,) = server.run(Keyspace().system(), [route.record(4, "ranges")])

    with pytest.raises(ConfigurationError, match=r"'ranges'.*upgrade"):
        pool(server, 4).enqueue("t", partition_key="a")


def test_other_stages_and_queues_have_counts_of_their_own() -> None:
    server = Watched()
    pool(server, 4).enqueue("t", partition_key="a")

    for space in (Keyspace("dev", "other"), Keyspace("prod", "main")):
        assert pool(server, 8, keyspace=space).enqueue("t", partition_key="a").job_id


def test_a_forked_child_asks_for_itself_when_the_parent_had_no_answer_yet() -> None:
    server = Watched()
    p = pool(server, 4)
    p._network.verifier._attempt = attempt = type("Attempt", (), {})()
    attempt.under_way = lambda: os.getpid() == -1

    assert p.enqueue("t", partition_key="a").job_id

    assert p.route.state.verified


def test_a_record_that_got_lost_is_made_again_by_those_who_read_it() -> None:
    server, refusals = Watched(), list[ConfigurationError]()
    mine = pool(server, 4)
    keeper = RouteKeeper(mine, refusals.append)
    assert keeper.look()

    server._systems.clear()
    assert keeper.look()

    found = pool(server, 4).route.read()
    assert found is not None
    assert found.partitions == 4
    assert refusals == []


def test_who_waits_for_a_partition_looks_for_new_ones_each_second() -> None:
    mine, waiting = pool(Watched(), 4), True
    keeper = RouteKeeper(mine, lambda _: None, waits=lambda: waiting)
    assert keeper.look()
    assert mine.route.state.verified

    assert keeper.pause_s() == 1.0
    waiting = False
    assert keeper.pause_s() == 10.0


def test_a_process_is_refused_when_the_first_answer_contradicts_it() -> None:
    server, refusals = Watched(), list[ConfigurationError]()
    server.away = UnavailableError("one: away")
    keeper = RouteKeeper(pool(server, 8), refusals.append)
    assert keeper.look()
    server.away = None
    pool(server, 4).route.read(Leave.RECORD)

    assert not keeper.look()

    assert len(refusals) == 1


def test_a_process_that_runs_is_not_ended_by_a_record_that_changes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, refusals = Watched(), list[ConfigurationError]()
    mine = pool(server, 4)
    keeper = RouteKeeper(mine, refusals.append)
    keeper.look()
    server._systems.clear()
    server.run(Keyspace().system(), [route.record(8, "mod")])

    with caplog.at_level("INFO", logger="queuepool.route"):
        assert all(keeper.look() for _ in range(3))
        assert mine.enqueue("t", partition_key="a").job_id
        server._systems.clear()
        keeper.look()

    assert refusals == []
    assert [r.levelname for r in caplog.records] == ["WARNING", "INFO"]  # said at each end, once


def test_what_a_record_says_is_judged_without_a_server() -> None:
    def record(version: bytes, layout: bytes = b"mod") -> RouteRecord:
        reply = [b"version", version, b"partitions", b"4", b"layout", layout]
        found = route.look(b"").read(reply)
        assert found is not None
        return found

    assert contradiction(config(4), record(b"1")) == ""
    assert "has 4: " in contradiction(config(5), record(b"1"))
    assert contradiction(config(5), record(b"2")) == "", "it was changed since: it is followed"
    assert "supports only" in contradiction(config(4), record(b"2", b"rings"))
    assert Verification().due(0.0)
