"""Ports for embedded servers: picking a free one, and checking who answers on it."""

import contextlib
import os
import random
import socket
from collections.abc import Iterator
from pathlib import Path

from queuepool.process.embedded.errors import EmbeddedServerError

HOST = "127.0.0.1"
# Below the kernel's range of client ports, for two reasons: no outgoing connection can occupy the
# port while the server restarts, and a client that reconnects to a dead server cannot connect to
# itself. Cluster buses (port + 10000) also fit below it.
PORTS = range(10_300, 22_700)


def pick_port() -> int:
    """Return a port that was just free; the caller must expect to lose it to another process."""
    for _ in range(200):
        port = random.choice(PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
            probe.bind((HOST, port))
            return port
    raise EmbeddedServerError(
        f"no free port between {PORTS.start} and {PORTS.stop - 1}; give the server a port"
    )


def ask(port: int, password: str = "") -> bytes:
    """Return the INFO of a server on `port`, or nothing if there is none.

    It contains the process id, since another server may have taken the port.
    """
    answer = b""
    words = f"AUTH {password}\r\n" if password else ""
    with (
        contextlib.suppress(OSError),
        socket.create_connection((HOST, port), timeout=1.0) as connection,
    ):
        connection.sendall(f"{words}INFO server\r\nPING\r\nQUIT\r\n".encode())
        while len(answer) < 64_000 and (chunk := connection.recv(16_384)):
            answer += chunk
    return answer


def may_be_of(port: int, pid: int) -> bool:
    """Return False if the listener on `port` is certainly not the process `pid`.

    A foreign process may claim any pid; the kernel knows. True if no one listens yet, and on
    systems without /proc.
    """
    listening = set(_listening(port))
    if not listening:
        return True
    try:
        entries = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return True
    return not listening.isdisjoint(filter(None, map(_target, entries)))


def _target(link: Path) -> str:
    with contextlib.suppress(OSError):  # closed meanwhile
        return os.readlink(link)  # noqa: PTH115 - "socket:[1]" is no path
    return ""


def _listening(port: int) -> Iterator[str]:
    """Yield the sockets that listen on a port, as links of /proc name them."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                words = line.split()
                if words[3] == "0A" and int(words[1].rpartition(":")[2], 16) == port:
                    yield f"socket:[{words[9]}]"
