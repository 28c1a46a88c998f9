"""Too many connections: whose are closed, and that grpc takes it for a hang-up."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import Any

import grpc
import grpc.aio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.api.connections import (
    OPERATOR,
    STRANGER,
    VIEWER,
    Connection,
    Connections,
    limit,
    surplus,
)
from coordinator.api.methods import make_server
from tests.security.http2 import RawConnection
from tests.waiting import wait_until

CONNECTIONS = st.lists(
    st.builds(
        Connection,
        address=st.tuples(st.sampled_from(["10.0.0.1", "10.0.0.2", "::1"]), st.integers(1, 65535)),
        descriptor=st.integers(3, 1000),
        rank=st.sampled_from([STRANGER, VIEWER, OPERATOR]),
    ),
    max_size=60,
)


@given(CONNECTIONS, st.integers(0, 60))
def test_just_so_many_are_closed_that_most_are_left_and_strangers_before_others(
    connections: list[Connection], most: int
) -> None:
    chosen = surplus(connections, most)

    assert len(chosen) == max(0, len(connections) - most)
    left = list(connections)
    for connection in chosen:
        left.remove(connection)
    if chosen and left:
        assert max(c.rank for c in chosen) <= min(c.rank for c in left)


def test_the_address_with_most_loses_its_oldest() -> None:
    honest = Connection(("10.0.0.1", 1), 3, STRANGER)
    greedy = [Connection(("10.0.0.2", n), 3 + n, STRANGER) for n in range(1, 6)]

    assert surplus([honest, *greedy], 4) == greedy[:2]
    assert surplus([honest, *greedy], 1) == [*greedy[:4], honest]  # it was here before the last


def test_addresses_of_one_network_are_one_host() -> None:
    one = [Connection((f"2001:db8::{n}", n), n, STRANGER) for n in range(3)]
    other = Connection(("2001:db8:0:1::1", 9), 9, STRANGER)

    assert surplus([other, *one], 3) == [one[0]]


def test_there_is_a_limit_within_what_the_process_may_open() -> None:
    assert 64 <= limit() <= 2048


@pytest.mark.parametrize("host", ["127.0.0.1", "[::]"])
def test_surplus_connections_of_strangers_are_closed_and_those_of_operators_stay(
    host: str,
) -> None:
    async def scenario() -> None:
        connections = Connections(most=20)

        async def call(_requests: object, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
            connections.show(context.peer(), OPERATOR)
            await context.write(b"")

        async def refuse(context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "no")

        server = make_server(refuse)
        handlers: Any = {"Call": grpc.stream_stream_rpc_method_handler(call)}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("s", handlers),))
        server.add_registered_method_handlers("s", handlers)
        port = server.add_insecure_port(f"{host}:0")
        await server.start()
        connections.start(port)
        try:
            await asyncio.wait_for(asyncio.to_thread(attack, f"127.0.0.1:{port}"), 60)
        finally:
            await connections.stop()
            await connections.stop()
            await server.stop(0)

    def attack(address: str) -> None:
        with ExitStack() as held:
            operator = held.enter_context(RawConnection(address))
            operator.answer(operator.call(b"/s/Call"))
            strangers = [held.enter_context(RawConnection(address)) for _ in range(100)]

            def left() -> list[RawConnection]:
                return [each for each in strangers if not each.closed(0.01)]

            # Not by their place: those that are seen at one look may be older or newer, as
            # descriptors of some that were closed go to others.
            wait_until(lambda: len(left()) == 19, 30.0, "strangers and the operator are 20")

            operator.answer(operator.call(b"/s/Call"))
            for stranger in left():
                stranger.answer(stranger.call(b"/s/Call"))

    asyncio.run(scenario())
