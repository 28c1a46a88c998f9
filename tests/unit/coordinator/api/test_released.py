"""A call that was refused ends at once, and not when garbage is collected."""

from __future__ import annotations

import asyncio
import gc
from typing import Any, cast

from pydantic import SecretStr

from coordinator.api.server import StatusServer
from coordinator.settings import CoordinatorSettings
from tests.security.http2 import RawConnection

CALLS = 200  # a connection may have 128 at a time


def test_calls_that_were_refused_leave_room_on_their_connection() -> None:
    settings = CoordinatorSettings(
        grpc_port=0, grpc_token=SecretStr("t" * 32), grpc_host="127.0.0.1"
    )

    def call(address: str) -> int:
        with RawConnection(address) as connection:
            for _ in range(CALLS):
                assert b"token" in connection.answer(connection.call(b"/no.such.Service/Call"))
        return CALLS

    async def scenario() -> int:
        server = StatusServer(settings)
        address = server.bind()
        await server.start(cast(Any, _Nothing()))
        try:
            return await asyncio.to_thread(call, address)
        finally:
            await server.stop(0)

    gc.disable()
    try:
        assert asyncio.run(scenario()) == CALLS
    finally:
        gc.enable()


class _Nothing:
    """A service whose calls nobody makes."""

    def __getattr__(self, _name: str) -> None:
        return None
