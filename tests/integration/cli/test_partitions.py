"""queuepool partitions and moves on a real server: under load, refused, aborted, and watched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from coordinator.loop.moving import Mover
from queuepool import PoolConfig, QueuePool
from queuepool.cli.exits import Exit
from queuepool.partitions.partition import OwnedPartition
from queuepool.partitions.route import Leave
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import build, single
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.integration.cli.load import KEYS, MakePool, Producer, Work, leading
from tests.shell import Shell
from tests.waiting import wait_until


@pytest.fixture
def make_pool(redis_url: str, stage: str) -> Iterator[MakePool]:
    with ExitStack() as pools:

        def make() -> QueuePool:
            config = PoolConfig(topology=single(redis_url, 2), keyspace=Keyspace(stage))
            return pools.enter_context(QueuePool(config=config))

        yield make


@pytest.fixture
def app(make_pool: MakePool) -> QueuePool:
    made = make_pool()
    made.route.read(Leave.RECORD)
    return made


@pytest.fixture
def commands(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("QUEUEPOOL_PARTITIONS", "2")
    monkeypatch.setattr("queuepool.cli.inspection.moving.TAKEN_UP_S", 60.0)
    return shell


def set_to(shell: Shell, count: int, *more: str) -> dict[str, object]:
    assert shell.run("partitions", "set", str(count), "--wait", "--json", *more) == Exit.OK, (
        shell.err
    )
    found: dict[str, object] = shell.lines[-1]
    return found


def take(app: QueuePool, number: int) -> tuple[OwnedPartition, own.Claims]:
    """Claim a job of a partition, as its owner, once it has one that may start."""
    owned = app.partition(number).acquire(lease_s=60)
    assert not isinstance(owned, own.Held)
    found: list[own.Claims] = []

    def claim() -> bool:
        found.append(w.claim(owned, 1))
        return found[-1].taken == 1

    wait_until(claim, 30)
    return owned, found[-1]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_partitions_grow_and_shrink_under_load(
    commands: Shell, app: QueuePool, make_pool: MakePool
) -> None:
    work = Work()
    with leading(make_pool), work.consumers(make_pool, 4):
        with Producer([app, make_pool()]) as producer:
            producer.goes_on()
            for count in (4, 1, 3):
                assert set_to(commands, count)["stage"] == "ended"
                producer.goes_on()
        wait_until(lambda: work.has_run(producer.sent), 120)
        wait_until(lambda: not any(p.observe().jobs for p in app.partitions()), 30)

    assert work.count == producer.sent, "nothing ran twice"
    for key, numbers in work.ran.items():
        assert numbers == sorted(numbers), key
    counts = [app.group(f"k{n}").status() for n in range(KEYS)]
    assert sum(status.total for status in counts) <= producer.sent


def test_jobs_move_and_the_command_tells(
    commands: Shell, app: QueuePool, make_pool: MakePool
) -> None:
    for n in range(KEYS):
        app.enqueue_many("note", ({"key": "", "n": i} for i in range(5)), partition_key=f"k{n}")
    with leading(make_pool):
        found = set_to(commands, 4, "--reason", "more work")
        assert (found["partitions"], found["stage"]) == (4, "ended")
        assert commands.run("partitions", "show") == Exit.OK
        assert commands.out.count("1024") == 8
        lines = commands.json("partitions", "show")
        assert sum(line["jobs"] for line in lines) == 5 * KEYS
        assert commands.run("moves") == Exit.OK
        assert "from 2 to 4 partitions, has ended" in commands.out
        commands.run("log", "--kind", "act")
        assert "partitions set 4" in commands.out
        found = set_to(commands, 1)
        assert found["partitions"] == 1
    assert sum(app.group(f"k{n}").status().total for n in range(KEYS)) == 5 * KEYS
    assert app.partition(0).audit().clean


@pytest.mark.parametrize("count", ["0", "4097"])
def test_a_count_that_is_not_possible_is_refused(
    commands: Shell, app: QueuePool, count: str
) -> None:
    assert commands.run("partitions", "set", count) == Exit.USAGE
    assert "use 1 to 4096" in commands.err


def test_what_cannot_begin_is_refused_and_changes_nothing(
    commands: Shell, app: QueuePool, make_pool: MakePool
) -> None:
    before = app.route.read()
    assert commands.run("partitions", "set", "4") == Exit.FAILED
    assert "no coordinator leads" in commands.err
    with leading(make_pool):
        assert commands.run("partitions", "set", "2") == Exit.FAILED
        assert "2 partitions already" in commands.err
        assert commands.run("partitions", "set", "4", "--on", "big") == Exit.USAGE
    assert app.route.read() == before
    assert commands.run("moves", "abort") == Exit.FAILED
    assert "no move is under way" in commands.err


def test_a_move_that_nobody_takes_up_is_taken_back(
    commands: Shell, app: QueuePool, make_pool: MakePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queuepool.cli.inspection.moving.TAKEN_UP_S", 0.0)
    monkeypatch.setattr(Mover, "look", lambda _self: 1.0)
    with leading(make_pool):
        assert commands.run("partitions", "set", "4") == Exit.FAILED
    assert "no coordinator started the move" in commands.err
    assert len(app.partitions()) == 2


def test_a_second_move_is_refused_and_an_abort_goes_back(
    commands: Shell, app: QueuePool, make_pool: MakePool
) -> None:
    stays, goes = "import-42", "import-3"  # both of partition 1
    app.enqueue_many("note", ({"key": stays, "n": n} for n in range(9)), partition_key=stays)
    at_1 = take(app, 1)
    app.enqueue("note", {"key": goes, "n": 0}, partition_key=goes)
    with leading(make_pool):
        assert commands.run("partitions", "set", "1") == Exit.OK, commands.err
        assert commands.run("partitions", "set", "8") == Exit.FAILED
        assert "is running" in commands.err
        at_0 = take(app, 0)  # so that its slot cannot go back, nor the one of the other job go
        assert commands.run("moves", "abort") == Exit.OK
        assert "reverting the move from 2 to 1 partition" in commands.out
        assert commands.run("partitions", "set", "8") == Exit.FAILED
        assert "a move from 2 to 1 partition was aborted and is being reverted" in commands.err
        for owned, claims in (at_0, at_1):
            w.finish(owned, claims)
        assert commands.run("moves", "watch", "--interval", "0.05s") == Exit.OK
        assert commands.out.endswith("2 partitions; the last move was aborted\n")
    assert app.partition(1).group(stays.encode()).left == 8


def test_new_partitions_are_placed_on_a_server(
    redis_url: str, stage: str, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = {"main": redis_url, "big": redis_url.removesuffix("/0") + "/1"}
    topology = build(servers, 2, "0-1=main")
    config = PoolConfig(topology=topology, keyspace=Keyspace(stage))
    monkeypatch.delenv("QUEUEPOOL_URL")
    monkeypatch.setenv("QUEUEPOOL_SERVERS", json.dumps(servers))
    monkeypatch.setenv("QUEUEPOOL_PLACEMENT", "0-1=main")
    monkeypatch.setenv("QUEUEPOOL_PARTITIONS", "2")
    with QueuePool(config=config) as app, QueuePool(config=replace(config)) as pool:
        app.route.read(Leave.RECORD)
        for n in range(KEYS):
            app.enqueue("note", {"key": "", "n": n}, partition_key=f"k{n}")
        with leading(lambda: pool):
            assert shell.run("partitions", "set", "4") == Exit.USAGE
            assert "--on main" in shell.err
            set_to(shell, 4, "--on", "big")
        lines = shell.json("partitions", "show")
        assert [line["server"] for line in lines] == ["main", "main", "big", "big"]
        assert sum(line["jobs"] for line in lines) == KEYS
        assert all(line["jobs"] for line in lines)
        assert sum(app.group(f"k{n}").status().left for n in range(KEYS)) == KEYS
