"""A reply has its timeout as a whole: over a link on which it trickles, no call hangs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from time import monotonic

import pytest

from queuepool.errors import UnavailableError
from queuepool.servers.sync import Server

_TIMEOUT_S = 0.4
_WORDS = (b"PING",)


@contextmanager
def server(pieces: Sequence[bytes], pause_s: float) -> Iterator[str]:
    """Yield the URL of a server that replies with these pieces, slowly, to PING.

    An empty one ends the connection.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_serve, args=(listener, pieces, pause_s), daemon=True)
        thread.start()
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"
    thread.join(10)


def _serve(listener: socket.socket, pieces: Sequence[bytes], pause_s: float) -> None:
    client, _ = listener.accept()
    pause = threading.Event()
    with client:
        while words := client.recv(4096):
            if b"PING" not in words:  # of the client, as it connects
                client.sendall(b"+OK\r\n" * words.count(b"*"))
                continue
            for piece in pieces:
                if not piece:
                    return
                try:
                    client.sendall(piece)
                except OSError:
                    return
                pause.wait(pause_s)


def test_a_reply_that_trickles_is_given_up() -> None:
    with (
        server([bytes((byte,)) for byte in b"+" + b"x" * 40 + b"\r\n"], 0.1) as url,
        closing(Server(url, timeout_s=_TIMEOUT_S)) as asked,
        pytest.raises(UnavailableError, match="Timeout reading"),
    ):
        asked.ask(*_WORDS)  # each byte comes in time


def test_a_large_reply_may_take_longer() -> None:
    piece, timeout_s = b"x" * 4096, 2.0  # one in 0.1 s: more than the slowest that is waited for
    with (
        server([b"$98304\r\n", *[piece] * 24, b"\r\n"], 0.1) as url,
        closing(Server(url, timeout_s=timeout_s)) as asked,
    ):
        began_s = monotonic()
        assert asked.ask(*_WORDS) == piece * 24
        assert monotonic() - began_s > timeout_s


def test_an_end_within_a_reply_is_told() -> None:
    with (
        server([b"$32768\r\n", b"x", b""], 0.05) as url,
        closing(Server(url, timeout_s=_TIMEOUT_S)) as asked,
        pytest.raises(UnavailableError, match="closed by server"),
    ):
        asked.ask(*_WORDS)
