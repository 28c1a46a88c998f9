"""A coordinator whose API ends by itself does not stay behind without one."""

import asyncio
from typing import Any, cast

import pytest

import coordinator.__main__ as process
from coordinator.api import methods
from coordinator.api.server import ApiEndedError
from coordinator.snapshots.store import SnapshotStore


class Server:
    """Ends when it is told to."""

    def __init__(self) -> None:
        self.over = asyncio.Event()

    def set_serving(self, serving: bool) -> None:
        raise AssertionError(f"nothing was seen yet, and serving={serving}")

    async def ended(self) -> None:
        await self.over.wait()


@pytest.mark.parametrize("stops", [True, False])
def test_only_an_end_that_nobody_asked_for_is_an_error(stops: bool) -> None:
    async def scenario() -> None:
        server: Any = Server()
        stopping = asyncio.Event()
        waiting = asyncio.ensure_future(process._until(stopping, SnapshotStore(), server))
        (stopping if stops else server.over).set()
        await asyncio.wait_for(waiting, 10)

    if stops:
        asyncio.run(scenario())
        return
    with pytest.raises(ApiEndedError, match="supervisor restarts it"):
        asyncio.run(scenario())


def test_waiting_for_the_end_may_be_given_up() -> None:
    async def scenario() -> None:
        server = methods.make_server(cast(Any, None))
        server.add_insecure_port("127.0.0.1:0")
        await server.start()
        waiting = asyncio.ensure_future(methods.ended(server))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        await server.stop(0)
        await asyncio.wait_for(methods.ended(server), 20)

    asyncio.run(scenario())
