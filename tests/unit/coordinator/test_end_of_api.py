"""A coordinator whose API ends by itself does not stay behind without one."""

import asyncio
from typing import Any, cast

import grpc.aio
import pytest

import coordinator.__main__ as process
import coordinator.server as api_server
from coordinator import methods
from coordinator.board import Board
from coordinator.settings import load
from coordinator.status import StatusService
from tests.security.http2 import RawConnection


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
        waiting = asyncio.ensure_future(process._until(stopping, Board(), server))
        (stopping if stops else server.over).set()
        await asyncio.wait_for(waiting, 10)

    if stops:
        asyncio.run(scenario())
        return
    with pytest.raises(process.ApiEndedError, match="supervisor starts a new one"):
        asyncio.run(scenario())


@pytest.mark.skipif(not methods.TAKEN_OUT, reason="such a call ends itself alone in this grpcio")
def test_an_api_that_breaks_down_while_callers_hold_streams_is_seen_to_have_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unprotected(_refuse: object, **arguments: Any) -> grpc.aio.Server:
        return grpc.aio.server(**arguments)

    async def scenario() -> None:
        monkeypatch.setattr(api_server, "make_server", unprotected)
        server, nothing = api_server.StatusServer(load({"grpc_port": 0})), None
        address = server.bind()
        service: Any = StatusService(cast(Any, nothing), Board(), cast(Any, nothing))
        await server.start(service)
        with RawConnection(address) as holder, RawConnection(address) as stranger:
            holder.call(b"/grpc.health.v1.Health/Watch", b"")
            stranger.call(b"/\xff", b"")
            await asyncio.wait_for(server.ended(), 20)

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
