"""A server that does not answer keeps no one waiting for longer than they want to wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from queuepool import AsyncQueuePool, PoolConfig, QueuePool, UnavailableError, WaitTimeoutError
from queuepool.client import waiting
from queuepool.client.effects import Pause, Steps
from queuepool.routing.topology import Topology
from queuepool.servers import Reply
from queuepool.testing import FakeClock, MemoryServer
from queuepool.testing.server import AsyncMemoryServer
from queuepool.verbs import Verb

BATCH = "AAbbbbbbbbbbbb"
WAITS: dict[str, Callable[[Any, float], Any]] = {
    "job": lambda pool, s: pool.result("mine", partition_key="k", timeout_s=s),
    "job, by its id": lambda pool, s: pool.result("mine", timeout_s=s),
    "group": lambda pool, s: pool.group("k").wait(timeout_s=s),
    "batch": lambda pool, s: pool.batch(BATCH).wait(timeout_s=s),
    "flow": lambda pool, s: pool.flow(BATCH).wait(timeout_s=s),
}


class Silent(MemoryServer):
    """A server that leaves so many calls without an answer; `unanswered` counts them."""

    left, unanswered = 0, 0

    def run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Reply]:
        return self.run_many([(key, verb) for verb in verbs])

    def run_many(self, calls: Sequence[tuple[bytes, Verb[Any]]]) -> list[Reply]:
        if self.left:
            self.left, self.unanswered = self.left - 1, self.unanswered + 1
            raise UnavailableError("no answer")
        return super().run_many(calls)


@pytest.fixture
def server() -> Silent:
    return Silent(FakeClock())


@pytest.fixture
def config() -> PoolConfig:
    return PoolConfig(topology=Topology({"m": "memory:"}, ("m",)), retry_for_s=30.0)


@pytest.fixture
def pool(server: Silent, config: PoolConfig) -> QueuePool:
    pool = QueuePool(config=config, servers={"m": server})
    pool.status("mine")  # the route is known from now on
    return pool


@pytest.fixture
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_GRACE_S", 0.0)


@pytest.mark.usefixtures("_no_grace")
@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_once_the_time_is_over_it_is_not_asked_again(
    pool: QueuePool, server: Silent, wait: Callable[[Any, float], Any]
) -> None:
    server.left = 3

    with pytest.raises(UnavailableError, match="no answer"):
        wait(pool, 0.0)

    assert server.unanswered == 1


@pytest.mark.usefixtures("_no_grace")
@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_so_it_is_with_asyncio(
    server: Silent, config: PoolConfig, wait: Callable[[Any, float], Any]
) -> None:
    async def waiting() -> None:
        async with AsyncQueuePool(config=config, servers={"m": AsyncMemoryServer(server)}) as pool:
            await pool.status("mine")
            server.left = 3
            with pytest.raises(UnavailableError, match="no answer"):
                await wait(pool, 0.0)

    asyncio.run(waiting())
    assert server.unanswered == 1


@pytest.mark.parametrize("name", ["group", "batch", "flow"])
def test_before_that_it_is_asked_again(pool: QueuePool, server: Silent, name: str) -> None:
    server.left = 2

    assert WAITS[name](pool, 30.0) is not None

    assert server.unanswered == 2


def test_a_connection_that_broke_is_bridged_whatever_the_time(
    pool: QueuePool, server: Silent
) -> None:
    server.left = 1

    assert pool.group("k").wait(timeout_s=0.0).left == 0
    assert server.unanswered == 1


@pytest.mark.parametrize("time", [0.0, 0.004, 0.3, 1.0, 7.3])
@pytest.mark.parametrize("ends", [True, False])
def test_the_last_look_is_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch, time: float, ends: bool
) -> None:
    now = [100.0]
    looks: list[float] = []
    monkeypatch.setattr(waiting, "monotonic", lambda: now[0])

    def look() -> Steps[bool]:
        yield from ()
        looks.append(now[0] - 100.0)
        return ends and looks[-1] > time - 1e-9

    def wait() -> None:
        steps = waiting.wait_for(look, time, has_ended=bool, left=lambda _seen: "it runs")
        for pause in steps:
            assert isinstance(pause, Pause)
            now[0] += pause.seconds

    if ends:
        wait()
    else:
        with pytest.raises(WaitTimeoutError, match=f"after {time:g} s, it runs"):
            wait()
    assert looks[-1] == pytest.approx(time)
    assert looks == sorted(set(looks))
