"""Clients who hold connections: silent, trickling, or deaf to the reply. And honest ones."""

from __future__ import annotations

import contextlib
import os
import select
import socket
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from time import monotonic

_FIRST_WORDS = (
    b"",
    b"G",
    b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: ",
    b"GET /metrics HTTP/1.1\r\n\r\n",
)
_LISTENS = "0A"  # as the kernel writes that state


def connect(port: int, *, source: str = "127.0.0.1", timeout_s: float = 30.0) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout_s, (source, 0))


def ask(port: int, path: str = "/healthz", *, source: str = "127.0.0.1") -> tuple[str, float]:
    """Return the status line of an honest request, and the seconds it took; "" when refused."""
    began_s = monotonic()
    with contextlib.suppress(OSError), connect(port, source=source) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        return read_all(client).split(b"\r\n", 1)[0].decode(), monotonic() - began_s
    return "", monotonic() - began_s


def read_all(client: socket.socket) -> bytes:
    """Return what arrives until the server ends the connection; b"" and no more after a reset."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := client.recv(1 << 20):
            parts.append(part)
    return b"".join(parts)


class Strangers:
    """So many connections, each replaced when the server ends it. Closed with the block.

    addresses: from how many they come.
    """

    def __init__(self, port: int, count: int, *, addresses: int = 1) -> None:
        self._address = ("127.0.0.1", port)
        self._sources = cycle(f"127.0.{n // 200}.{n % 200 + 1}" for n in range(addresses))
        self._words: Iterator[bytes] = cycle(_FIRST_WORDS)
        self._held = [self._come() for _ in range(count)]

    def __enter__(self) -> Strangers:
        return self

    def __exit__(self, *ended: object) -> None:
        for client, _ in self._held:
            client.close()

    def annoy(self) -> None:
        """Have every one send a little more; who was thrown out comes again."""
        for place, (client, words) in enumerate(self._held):
            if self._goes_on(client, words):
                self._held[place] = (client, b"x")
            else:
                client.close()
                self._held[place] = self._come()

    def _come(self) -> tuple[socket.socket, bytes]:
        client = socket.socket()
        client.setblocking(False)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.bind((next(self._sources), 0))
        with contextlib.suppress(BlockingIOError):
            client.connect(self._address)
        return client, next(self._words)

    @staticmethod
    def _goes_on(client: socket.socket, words: bytes) -> bool:
        with contextlib.suppress(BlockingIOError):
            try:
                client.send(words)
                readable = select.select([client], [], [], 0)[0]
                return not readable or bool(client.recv(1))
            except BlockingIOError:
                raise
            except OSError:
                return False
        return True


def descriptors(pid: int) -> int:
    """Return how many descriptors a process has."""
    return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - names alone: they come and go


def accepted(pid: int, port: int) -> set[str]:
    """Return the connections at a port that a process holds, by inode; its listener is none."""
    rows = (row.split() for row in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:])
    at_port = {row[9] for row in rows if row[1].endswith(f":{port:04X}") and row[3] != _LISTENS}
    held = set[str]()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            held.add(str(each.readlink()).removeprefix("socket:[").removesuffix("]"))
    return at_port & held


def cpu_s(pid: int) -> float:
    """Return the processor's time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def threads(pid: int) -> Iterator[str]:
    """Return the names of a process's threads, as far as the system knows them."""
    for each in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            yield (each / "comm").read_text().strip()
