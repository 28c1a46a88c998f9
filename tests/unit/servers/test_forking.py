"""What a forked child must not share, and servers of HTTP that cannot have a thread."""

import asyncio
import os
import threading
from collections.abc import Iterator
from typing import Any
from urllib.request import urlopen

import pytest
from prometheus_client import CollectorRegistry

from queuepool import QueuePool
from queuepool.errors.hindrances import NoThreadError
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single
from queuepool.servers import forking
from queuepool.servers.aio import AsyncServer
from queuepool.servers.sync import Server
from queuepool.settings.config import PoolConfig
from queuepool.telemetry.metrics_server import MetricsServer


def pool_of(url: str, stage: str) -> QueuePool:
    return QueuePool(config=PoolConfig(topology=single(url, 1), keyspace=Keyspace(stage)))


def status_of_child(act: Any) -> int:
    """Return the exit status of a forked child: 0 when act() returned something true."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if act() else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_child_closes_its_copies_of_the_connections_and_the_parent_goes_on(
    redis_url: str,
) -> None:
    with_one_free, with_one_lent = Server(redis_url), Server(redis_url)
    assert with_one_free.ask("PING") == b"PONG"
    lent = with_one_lent.borrow()
    sockets = [lent.connection._sock, with_one_free.connections._free[0].connection._sock]

    def begins_anew() -> bool:
        closed = [each.fileno() == -1 for each in sockets]
        answers = [server.ask("PING") for server in (with_one_free, with_one_lent)]
        return answers == [b"PONG"] * 2 and all(closed)

    assert status_of_child(begins_anew) == 0
    assert with_one_free.ask("PING") == b"PONG"
    with_one_lent.connections.give_back(lent)
    assert with_one_lent.ask("PING") == b"PONG"
    for server in (with_one_free, with_one_lent):
        server.close()


@pytest.mark.parametrize("raised", [SystemExit("its own"), ValueError("its own")], ids=repr)
def test_a_child_forked_by_an_item_of_a_bulk_call_ends_by_its_own_exception(
    redis_url: str, stage: str, raised: BaseException
) -> None:
    children: list[int] = []

    def rows() -> Iterator[dict[str, int]]:
        yield from ({"n": n} for n in range(3_000))  # some calls await their replies now
        children.append(os.fork())
        if children == [0]:
            raise raised
        yield {"n": 3_000}

    with pool_of(redis_url, stage) as pool:
        try:
            added = pool.enqueue_many("t", rows(), partition_key="k").accepted
        except BaseException as error:
            if children == [0]:
                os._exit(0 if error is raised else 1)
            raise
        assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0
        assert added == 3_001


def test_a_pool_for_asyncio_begins_anew_in_a_child(redis_url: str) -> None:
    server = AsyncServer(redis_url)

    async def ask() -> bool:
        return bool(await server.ask("PING") == b"PONG")

    async def parent() -> int:
        assert await ask()
        status = status_of_child(lambda: asyncio.run(ask()))
        assert await ask()
        await server.close()
        return status

    assert asyncio.run(parent()) == 0


def test_one_thing_that_fails_in_a_child_keeps_no_other_from_its_turn() -> None:
    told: list[str] = []

    class Broken:
        def after_fork(self) -> None:
            raise OSError("broken")

    class Sound:
        def after_fork(self) -> None:
            told.append("told")

    kept: list[forking.Inherited] = [Broken(), Sound(), Broken()]
    for thing in kept:
        forking.keep(thing)

    assert status_of_child(lambda: told == ["told"]) == 0
    assert told == []


@pytest.fixture
def exposition() -> Any:
    made = MetricsServer(CollectorRegistry(), lambda: None)
    yield made
    made.stop()


def test_health_is_told_when_no_thread_can_be_had(
    exposition: MetricsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    exposition.start()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with urlopen(f"http://127.0.0.1:{exposition.port}/healthz", timeout=10) as answer:
        assert answer.read() == b"ok\n"


def test_a_refused_start_gives_the_port_back(
    exposition: MetricsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(NoThreadError, match="metrics and health"):
            exposition.start()

    again = MetricsServer(CollectorRegistry(), lambda: None, port=exposition.port)
    again.start()
    again.stop()
