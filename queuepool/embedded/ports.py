"""Ports for embedded servers: a free one, and who answers on it."""

import contextlib
import random
import socket

from queuepool.embedded.errors import EmbeddedServerError

HOST = "127.0.0.1"
# Below the range the kernel takes client ports from, for two reasons: nobody's outgoing
# connection can occupy the port while the server restarts, and a client that reconnects to a
# dead server cannot be connected to itself. Cluster buses (port + 10000) fit below it as well.
PORTS = range(10_300, 22_700)


def pick_port() -> int:
    """Return a port that was free a moment ago; the caller must expect to lose it to another."""
    for _ in range(200):
        port = random.choice(PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
            probe.bind((HOST, port))
            return port
    raise EmbeddedServerError(
        f"no free port between {PORTS.start} and {PORTS.stop - 1}; give the server a port"
    )


def ask(port: int) -> bytes:
    """Return what a server on `port` says about itself, or nothing when there is none.

    It is asked for its process id because on a port that was taken from us someone else answers.
    """
    answer = b""
    with (
        contextlib.suppress(OSError),
        socket.create_connection((HOST, port), timeout=1.0) as connection,
    ):
        connection.sendall(b"INFO server\r\nPING\r\nQUIT\r\n")
        while len(answer) < 64_000 and (chunk := connection.recv(16_384)):
            answer += chunk
    return answer
