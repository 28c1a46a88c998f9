"""queuepool move with two real servers: under load, refused, aborted, and watched."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest
import redis

from queuepool import After, PoolConfig, QueuePool
from queuepool.cli.commands.move import slots
from queuepool.cli.exits import Exit
from queuepool.errors import MovedError, QueuePoolError
from queuepool.partitions.route import Leave
from queuepool.process.embedded import EmbeddedServer
from queuepool.protocol.keys import Keyspace
from queuepool.routing.slots import slot_of
from queuepool.routing.topology import build
from queuepool.verbs.owner import verbs as own
from tests.conftest import ServerFactory
from tests.contract import world as w
from tests.integration.cli.load import KEYS, MakePool, Producer, Work, leading
from tests.old_server import old_server
from tests.shell import Shell
from tests.waiting import wait_until


@pytest.fixture
def big(server_factory: ServerFactory) -> EmbeddedServer:
    return server_factory()


@pytest.fixture
def config(redis_url: str, big: EmbeddedServer, stage: str) -> PoolConfig:
    topology = build({"main": redis_url, "big": big.url}, 2, "0-1=main")
    return PoolConfig(topology=topology, keyspace=Keyspace(stage))


@pytest.fixture
def make_pool(config: PoolConfig) -> Iterator[MakePool]:
    with ExitStack() as pools:
        yield lambda: pools.enter_context(QueuePool(config=replace(config)))


@pytest.fixture
def app(make_pool: MakePool) -> QueuePool:
    made = make_pool()
    made.route.read(Leave.RECORD)
    return made


@pytest.fixture
def commands(shell: Shell, config: PoolConfig, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.delenv("QUEUEPOOL_URL")
    monkeypatch.setenv("QUEUEPOOL_SERVERS", json.dumps(dict(config.topology.servers)))
    monkeypatch.setenv("QUEUEPOOL_PLACEMENT", "0-1=main")
    monkeypatch.setenv("QUEUEPOOL_PARTITIONS", "2")
    monkeypatch.setattr("queuepool.cli.inspection.moving.TAKEN_UP_S", 60.0)
    return shell


def move(shell: Shell, partitions: str, server: str) -> dict[str, object]:
    done = shell.run("move", partitions, "--to", server, "--wait", "--json")
    assert done == Exit.OK, shell.err
    found: dict[str, object] = shell.lines[-1]
    return found


def servers(shell: Shell) -> list[str]:
    return [str(line["server"]) for line in shell.json("partitions", "show")]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_partitions_go_to_another_server_and_back_under_load(
    commands: Shell, app: QueuePool, make_pool: MakePool
) -> None:
    work = Work()
    with leading(make_pool), work.consumers(make_pool, 4):
        with Producer([app, make_pool()]) as producer:
            producer.goes_on()
            for numbers, server in (("1", "big"), ("0", "big"), ("0,1", "main"), ("1", "big")):
                assert move(commands, numbers, server)["stage"] == "ended"
                producer.goes_on()
        wait_until(lambda: work.has_run(producer.sent), 120)
        wait_until(lambda: not any(p.observe().jobs for p in app.partitions()), 30)

    assert servers(commands) == ["main", "big"]
    assert work.count == producer.sent, "nothing ran twice"
    for key, numbers_run in work.ran.items():
        assert numbers_run == sorted(numbers_run), key


def test_jobs_move_and_the_command_tells(
    commands: Shell, app: QueuePool, make_pool: MakePool, big: EmbeddedServer
) -> None:
    for n in range(KEYS):
        app.enqueue_many("note", ({"key": "", "n": i} for i in range(5)), partition_key=f"k{n}")
    before = app.partition(1).observe().jobs
    with leading(make_pool):
        found = move(commands, "1", "big")
        assert (found["partitions"], found["stage"]) == (2, "ended")
        lines = commands.json("partitions", "show")
        assert [(line["server"], line["jobs"]) for line in lines] == [
            ("main", 5 * KEYS - before),
            ("big", before),
        ]
        assert commands.run("moves") == Exit.OK
        assert "of partition 1 to server big, has ended" in commands.out
        commands.run("log", "--kind", "act")
        assert "move 1 --to big" in commands.out
    app.route.read()
    assert [place.audit().clean for place in app.partitions()] == [True, True]
    assert sum(app.group(f"k{n}").status().left for n in range(KEYS)) == 5 * KEYS


def test_what_cannot_begin_is_refused_and_changes_nothing(
    commands: Shell, app: QueuePool, make_pool: MakePool, big: EmbeddedServer
) -> None:
    before = app.route.read()

    def refused(partitions: str, server: str, says: str) -> Exit:
        done = commands.run("move", partitions, "--to", server)
        assert says in commands.err
        assert app.route.read() == before
        return Exit(done)

    assert refused("1", "big", "no coordinator leads") == Exit.FAILED
    with leading(make_pool):
        assert refused("1", "huge", "QUEUEPOOL_SERVERS names main, big") == Exit.USAGE
        assert refused("2", "big", "there is no partition 2: use 0 to 1") == Exit.USAGE
        assert refused("1", "main", "on server 'main' already") == Exit.FAILED
        there = redis.Redis.from_url(big.url)
        there.config_set("maxmemory", 1)
        assert refused("1", "big", "raise its maxmemory") == Exit.FAILED
        there.config_set("maxmemory", 0)
        there.hset(app.partition(1).key + b":j", "x", "y")
        assert refused("1", "big", "1 jobs under the keys of partition 1 already") == Exit.FAILED
        big.kill()
        assert refused("1", "big", "not all partitions respond") == Exit.UNAVAILABLE


def _alias(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the settings name one server twice; main is database 0 of it."""
    known = {"main": url, "big": url.replace("127.0.0.1", "localhost") + "?db=0"}
    monkeypatch.setenv("QUEUEPOOL_SERVERS", json.dumps(known))


def test_a_server_under_another_name_is_refused(
    commands: Shell, app: QueuePool, make_pool: MakePool, redis_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    before = app.route.read()
    _alias(redis_url, monkeypatch)
    with leading(make_pool):
        assert commands.run("move", "1", "--to", "big") == Exit.FAILED
    assert "servers 'main' and 'big' are the same one" in commands.err
    assert app.route.read() == before


def test_a_leader_refuses_to_move_a_partition_to_where_it_is(
    commands: Shell, app: QueuePool, redis_url: str, config: PoolConfig,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("queuepool.cli.inspection.relocating.check", lambda *_: None)
    _alias(redis_url, monkeypatch)
    key = "import-42"  # of partition 1
    app.enqueue("note", {"key": key}, partition_key=key)
    servers_ = json.loads(os.environ["QUEUEPOOL_SERVERS"])
    known = replace(config, topology=build(servers_, 2, "0-1=main"))
    with ExitStack() as pools, leading(lambda: pools.enter_context(QueuePool(config=known))):
        assert commands.run("move", "1", "--to", "big", "--wait") == Exit.FAILED
        assert "are the same one, under two names" in commands.err
        assert commands.run("moves") == Exit.OK
        assert "refused" in commands.out
    assert app.group(key).status().left == 1


@pytest.mark.parametrize("spelled", ["/5", "?db=5"])
def test_another_database_of_a_server_is_another_place(
    commands: Shell, app: QueuePool, redis_url: str, config: PoolConfig, spelled: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    known = {"main": redis_url, "big": redis_url.removesuffix("/0") + spelled}
    monkeypatch.setenv("QUEUEPOOL_SERVERS", json.dumps(known))
    app.enqueue("note", {"key": "import-42"}, partition_key="import-42")
    two = replace(config, topology=build(known, 2, "0-1=main"))
    with ExitStack() as pools, leading(lambda: pools.enter_context(QueuePool(config=two))):
        assert move(commands, "1", "big")["stage"] == "ended"
        other = pools.enter_context(QueuePool(config=two))
        assert other.group("import-42").status().left == 1
    redis.Redis.from_url(known["big"]).flushdb()


def test_a_server_that_is_too_old_is_refused(
    commands: Shell, app: QueuePool, make_pool: MakePool, big: EmbeddedServer,
    config: PoolConfig, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    before = app.route.read()
    with leading(make_pool), old_server(big) as url:
        known = dict(config.topology.servers) | {"big": url}
        monkeypatch.setenv("QUEUEPOOL_SERVERS", json.dumps(known))
        for asked in (("move", "1", "--to"), ("partitions", "set", "3", "--on")):
            assert commands.run(*asked, "big") == Exit.FAILED
            assert "server 'big' cannot be used, and nothing was done: " in commands.err
            assert "older than Redis 7.0" in commands.err
    assert app.route.read() == before
    assert not redis.Redis.from_url(big.url).dbsize()


def test_a_second_move_is_refused_and_an_abort_goes_back(
    commands: Shell, app: QueuePool, make_pool: MakePool
) -> None:
    key = "import-42"  # of partition 1
    app.enqueue_many("note", ({"key": key, "n": n} for n in range(9)), partition_key=key)
    owned = app.partition(1).acquire(lease_s=60)
    assert not isinstance(owned, own.Held)
    claims = w.claim(owned, 1)
    with leading(make_pool):
        assert commands.run("move", "1", "--to", "big") == Exit.OK, commands.err
        assert "no consumer owns the new place yet" in commands.out + commands.err
        assert commands.run("move", "0", "--to", "big") == Exit.FAILED
        assert "is running" in commands.err
        assert commands.run("moves", "abort") == Exit.OK
        w.finish(owned, claims)
        assert commands.run("moves", "watch", "--interval", "0.05s") == Exit.OK
    assert servers(commands) == ["main", "main"]
    assert app.partition(1).group(key.encode()).left == 8


def test_a_server_that_fills_up_stops_the_move_and_an_abort_brings_everything_back(
    commands: Shell,
    app: QueuePool,
    make_pool: MakePool,
    big: EmbeddedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("queuepool.cli.inspection.relocating.check", lambda *_: None)
    key = "import-42"  # of partition 1
    rows = ({"key": key, "n": n, "text": "x" * 2000} for n in range(600))
    made = app.enqueue_many("note", rows, partition_key=key, then=After("note", partition_key=key))
    held = app.group(key)
    held.hold()
    there = redis.Redis.from_url(big.url)
    there.config_set("maxmemory", there.info("memory")["used_memory"] + 500_000)
    with leading(make_pool):
        assert commands.run("move", "1", "--to", "big") == Exit.OK, commands.err
        wait_until(lambda: "memory" in str(commands.json("moves")[0]), 30)
        with QueuePool(config=replace(app.config, retry_for_s=0.3)) as other:
            with pytest.raises(MovedError):
                other.enqueue("note", {}, partition_key=key)
            away = next(k for k in map(str, range(99)) if app.group(k).partition.number == 0)
            assert other.enqueue("note", {}, partition_key=away).status == "accepted"
        assert commands.run("moves", "abort") == Exit.OK
        assert commands.run("moves", "watch", "--interval", "0.05s") == Exit.OK, commands.err
    assert servers(commands) == ["main", "main"]
    app.route.read()
    status = held.status()
    assert (status.left, status.held_ms is not None) == (601, True)
    assert app.batch(made.batch.name).status().total == 600
    assert there.dbsize() <= 20


def test_a_consumer_of_the_partition_follows_it(
    commands: Shell, app: QueuePool, make_pool: MakePool
) -> None:
    work = Work()
    with leading(make_pool), work.consumer(make_pool(), partition="1"):
        app.enqueue("note", {"key": "import-42", "n": 0}, partition_key="import-42")
        wait_until(lambda: work.has_run(1), 30)
        move(commands, "1", "big")
        app.enqueue("note", {"key": "import-42", "n": 1}, partition_key="import-42")
        wait_until(lambda: work.has_run(2), 30)
    assert work.ran == {"import-42": [0, 1]}


def test_a_process_without_the_server_is_told_and_writes_nothing(
    commands: Shell, app: QueuePool, make_pool: MakePool, redis_url: str, stage: str
) -> None:
    config = PoolConfig(
        topology=build({"main": redis_url}, 2, "0-1=main"), keyspace=Keyspace(stage)
    )
    with QueuePool(config=replace(config, retry_for_s=0.5)) as without:
        without.enqueue("note", {"key": "import-42", "n": 0}, partition_key="import-42")
        with leading(make_pool):
            move(commands, "1", "big")
        with pytest.raises(QueuePoolError, match="names server 'big', which QUEUEPOOL_SERVERS"):
            without.enqueue("note", {"key": "import-42", "n": 1}, partition_key="import-42")
    app.route.read()
    assert [place.observe().jobs for place in app.partitions()] == [0, 1]


def test_slots_move_to_another_partition(
    commands: Shell, app: QueuePool, make_pool: MakePool
) -> None:
    key = "k0"
    app.enqueue_many("note", [{}] * 3, partition_key=key)
    slot = slot_of(key.encode())
    here = app.group(key).partition.number
    there = 1 - here
    goal = ("--to-partition", str(there))
    with leading(make_pool):
        assert commands.run("move", "--slot", str(slot), *goal, "--wait", "--json") == Exit.OK
        found = commands.lines[-1]
        assert (found["stage"], found["slot_goals"]) == ("ended", {str(slot): there})
        app.route.read()
        assert app.group(key).partition.number == there
        assert commands.run("moves") == Exit.OK
        assert f"of slot {slot} to partition {there}, has ended" in commands.out
        commands.run("log", "--kind", "act")
        assert f"move --slot {slot} --to-partition {there}" in commands.out
        route = app.route.read()
        for arguments, says in (
            (("--slot", f"{slot}-{slot}", *goal), f"slot {slot} is in partition {there} already"),
            (("--slot", str(slot), *goal), f"slot {slot} is in partition {there} already"),
            (("--slot", str(slot), "--to-partition", "2"), "there is no partition 2: use 0 to 1"),
            (("--slot", str(slot)), "which slots to which partition"),
            (("1", *goal), "which slots to which partition"),
            (("1", "--to", "big", "--slot", str(slot)), "which slots to which partition"),
        ):
            assert commands.run("move", *arguments) in {Exit.FAILED, Exit.USAGE}
            assert says in commands.err
        assert app.route.read() == route
    assert app.partition(there).group(key.encode()).left >= 3


@pytest.mark.parametrize("text", ["4096", "0-4096", "8-5", "3,8-5", "1-", "x"])
def test_what_is_no_slot_and_no_range_of_them_cannot_be_typed(text: str) -> None:
    assert slots("17,3221-3223") == [17, 3221, 3222, 3223]
    with pytest.raises(argparse.ArgumentTypeError, match="from 0 to 4095"):
        slots(text)
