"""Which connection of the page makes way for a new one. Real sockets of this machine."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from queuepool.web.doors import Doors


class Entrance:
    """Doors with room for three, and the clients that came."""

    def __init__(self) -> None:
        self.doors = Doors.at("127.0.0.1", 0, most=3)
        self.clients: list[socket.socket] = []
        self.served: list[socket.socket] = []

    def come(self, host: str = "127.0.0.1", *, known: bool = False) -> socket.socket:
        """Connect from an address of this machine; a known one is a user's."""
        client = socket.create_connection(self.doors.getsockname(), 5, (host, 0))
        self.clients.append(client)
        connection, address = self.doors.accept()
        self.served.append(connection)
        if known:
            self.doors.know(address)
        return client

    def close(self) -> None:
        for each in (*self.clients, *self.served, self.doors):
            each.close()


@pytest.fixture
def entrance() -> Iterator[Entrance]:
    made = Entrance()
    yield made
    made.close()


def is_shut(client: socket.socket) -> bool:
    client.settimeout(0.05)
    try:
        return client.recv(1) == b""
    except TimeoutError:
        return False


def test_the_oldest_connection_of_the_address_with_the_most_makes_way(entrance: Entrance) -> None:
    honest = entrance.come("127.0.0.2")
    crowd = [entrance.come() for _ in range(10)]

    assert not is_shut(honest)
    assert [is_shut(client) for client in crowd] == [True] * 8 + [False] * 2


def test_what_a_user_has_sent_a_request_through_stays_whoever_comes(entrance: Entrance) -> None:
    users = [entrance.come(known=True) for _ in range(2)]
    strangers = [entrance.come() for _ in range(5)]

    assert not any(map(is_shut, users))
    assert [is_shut(client) for client in strangers] == [True] * 4 + [False]


def test_of_users_alone_the_oldest_makes_way(entrance: Entrance) -> None:
    users = [entrance.come(known=True) for _ in range(4)]

    assert [is_shut(client) for client in users] == [True, False, False, False]


def test_connections_that_have_ended_take_no_room(entrance: Entrance) -> None:
    for _ in range(20):
        entrance.come()
        entrance.served[-1].close()
    stays = [entrance.come() for _ in range(3)]

    assert not any(map(is_shut, stays))


def test_without_file_descriptors_connections_make_way_too(
    entrance: Entrance, monkeypatch: pytest.MonkeyPatch
) -> None:
    strangers = [entrance.come() for _ in range(2)]

    def fail(_: object) -> Any:
        raise OSError(errno.EMFILE, "too many open files")

    monkeypatch.setattr(socket.socket, "accept", fail)
    for _ in strangers:
        with pytest.raises(BlockingIOError):
            entrance.doors.accept()
    with pytest.raises(OSError, match="too many open files"):  # nobody is left to make way
        entrance.doors.accept()

    assert all(map(is_shut, strangers))
