"""The proxy does to a connection what its name for it says, and nothing else."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from time import monotonic
from typing import Any

import pytest

from tests.chaos.proxy import TO_CLIENT, TO_SERVER, Proxy
from tests.waiting import wait_until

SOON_S = 0.2  # what is swallowed or held has not come by then


class Echo:
    """A server that answers each connection with what it said, and keeps all of it."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.heard, self.ended, self._noting = b"", 0, threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                accepted, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=(accepted,), daemon=True).start()

    def _answer(self, accepted: socket.socket) -> None:
        with closing(accepted), suppress(OSError):
            while chunk := accepted.recv(4096):
                with self._noting:
                    self.heard += chunk
                accepted.sendall(chunk)
        with self._noting:
            self.ended += 1

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def echo() -> Iterator[Echo]:
    with closing(Echo()) as server:
        yield server


@pytest.fixture
def proxy(echo: Echo) -> Iterator[Proxy]:
    with Proxy(echo.port) as made:
        yield made


def connect(proxy: Proxy) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", proxy.port), timeout=60)
    made.settimeout(60)
    return made


def says(client: socket.socket, text: bytes) -> bytes:
    client.sendall(text)
    return client.recv(100)


def hears_nothing(client: socket.socket) -> bool:
    client.settimeout(SOON_S)
    try:
        return client.recv(100) == b"never"
    except TimeoutError:
        return True
    finally:
        client.settimeout(60)


def is_over(client: socket.socket) -> bool:
    try:
        return client.recv(100) == b""
    except ConnectionError:
        return True


def test_bytes_pass_and_connections_are_counted(proxy: Proxy, echo: Echo) -> None:
    with connect(proxy) as one, connect(proxy) as two:
        assert (says(one, b"1"), says(two, b"2")) == (b"1", b"2")
        assert (proxy.open, proxy.peak, len(proxy.connects_s)) == (2, 2, 2)
    wait_until(lambda: proxy.open == 0 and echo.ended == 2)
    assert proxy.peak == 2


def test_a_cut_ends_connections_and_refuses_new_ones_until_it_is_healed(proxy: Proxy) -> None:
    with connect(proxy) as old:
        assert says(old, b"a") == b"a"
        proxy.cut()
        assert is_over(old)
    with suppress(ConnectionError), connect(proxy) as new:
        assert is_over(new)

    proxy.healthy()

    with connect(proxy) as again:
        assert says(again, b"b") == b"b"


def test_a_reset_is_one(proxy: Proxy) -> None:
    with connect(proxy) as old:
        assert says(old, b"a") == b"a"
        proxy.reset()
        with pytest.raises(ConnectionResetError):
            old.recv(1)
    with connect(proxy) as new:
        assert says(new, b"b") == b"b"


def test_half_open_swallows_for_ever_and_resets_when_healed(proxy: Proxy, echo: Echo) -> None:
    with connect(proxy) as old:
        assert says(old, b"before") == b"before"
        proxy.half_open()
        old.sendall(b"swallowed")
        with connect(proxy) as new:
            new.sendall(b"swallowed too")
            assert hears_nothing(old)
            assert hears_nothing(new)
            proxy.healthy()
            assert is_over(old)
            assert is_over(new)
    assert echo.heard == b"before"
    with connect(proxy) as again:
        assert says(again, b"c") == b"c"


def test_a_server_does_not_hear_of_an_end_while_the_network_is_half_open(
    proxy: Proxy, echo: Echo
) -> None:
    with connect(proxy) as client:
        assert says(client, b"a") == b"a"
        proxy.half_open()
    wait_until(lambda: proxy.open == 0)
    assert echo.ended == 0

    proxy.healthy()

    wait_until(lambda: echo.ended == 1)


def test_one_way_to_the_server_is_held_and_arrives_in_order(proxy: Proxy, echo: Echo) -> None:
    with connect(proxy) as client:
        assert says(client, b"a") == b"a"
        proxy.one_way(TO_SERVER)
        client.sendall(b"b")
        assert hears_nothing(client)
        client.sendall(b"c")
        assert echo.heard == b"a"

        proxy.healthy()

        wait_until(lambda: echo.heard == b"abc")


def test_one_way_to_the_client_lets_the_server_hear(proxy: Proxy, echo: Echo) -> None:
    with connect(proxy) as client:
        proxy.one_way(TO_CLIENT)
        client.sendall(b"a")
        wait_until(lambda: echo.heard == b"a")
        assert hears_nothing(client)

        proxy.healthy()

        assert client.recv(10) == b"a"


def test_what_a_client_said_before_it_left_arrives_late(proxy: Proxy, echo: Echo) -> None:
    with connect(proxy) as client:
        assert says(client, b"a") == b"a"
        proxy.one_way(TO_SERVER)
        client.sendall(b"late")
    assert echo.ended == 0

    proxy.healthy()

    wait_until(lambda: echo.ended == 1)
    assert echo.heard == b"alate"


@pytest.mark.parametrize("stall_s", [0.0, 0.2])
def test_slow_delays_both_ways_and_keeps_the_order(proxy: Proxy, stall_s: float) -> None:
    proxy.slow(0.05, jitter_s=0.04, stall_share=0.5 if stall_s else 0.0, stall_s=stall_s)
    with connect(proxy) as client:
        began = monotonic()
        got = b""
        for n in range(20):
            client.sendall(b"%d." % n)
        while got.count(b".") < 20:
            got += client.recv(1000)
        took = monotonic() - began

    assert got == b"".join(b"%d." % n for n in range(20))
    assert took > 0.02 + stall_s


def test_a_narrow_link_is_shared_and_what_is_small_passes_beside_what_is_large(
    proxy: Proxy, echo: Echo
) -> None:
    proxy.narrow(200_000)
    with connect(proxy) as large, connect(proxy) as small:
        began = monotonic()
        threading.Thread(target=large.sendall, args=(b"x" * 100_000,), daemon=True).start()
        assert says(small, b"a") == b"a"
        got = 0
        while got < 100_000:
            got += len(large.recv(65_536))
        took_s = monotonic() - began

    assert not echo.heard.endswith(b"a")  # it came before the end of what is large
    assert took_s >= 0.5
    assert len(echo.heard) == 100_001


def test_a_server_that_is_away_is_away_through_the_proxy(proxy: Proxy, echo: Echo) -> None:
    echo.close()
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        with Proxy(nobody.getsockname()[1]) as to_nobody, connect(to_nobody) as client:
            assert is_over(client)


def test_a_connection_that_is_being_made_is_cut_too(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_go_on = threading.Event(), asyncio.Event()
    plain = asyncio.open_connection

    async def slow(*words: Any) -> Any:
        begun.set()
        await may_go_on.wait()
        return await plain(*words)

    monkeypatch.setattr(asyncio, "open_connection", slow)
    with connect(proxy) as client:
        assert begun.wait(60)
        proxy.cut()
        proxy._loop.call_soon_threadsafe(may_go_on.set)

        with suppress(ConnectionResetError):
            assert client.recv(1) == b""
    assert proxy.peak == 0
