"""A server that answers as Redis 6.2 does, as far as a client notices: none is installed."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import hiredis

from queuepool.process.embedded import EmbeddedServer

_INFO = (
    b"# Server\r\nredis_version:6.2.14\r\nredis_mode:standalone\r\nrole:master\r\n"
    b"aof_enabled:1\r\nmaxmemory_policy:noeviction\r\ncluster_enabled:0\r\n"
)
_COMPILE = (
    b"-ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'\r\n"
)


def answer(words: list[bytes]) -> bytes | None:
    """Return what Redis 6.2 says to a command, where that is not what a newer server says."""
    name, rest = words[0].upper(), words[1:]
    if name == b"INFO":
        return b"$%d\r\n%s\r\n" % (len(_INFO), _INFO)
    if name == b"SCRIPT" and rest[1].startswith(b"#!"):
        return _COMPILE
    if name == b"EVALSHA":
        return b"-NOSCRIPT No matching script. Please use EVAL.\r\n"
    if name == b"PEXPIREAT" and len(rest) > 2:
        return b"-ERR wrong number of arguments for 'pexpireat' command\r\n"
    if name == b"CLIENT" and rest[0].upper() == b"SETINFO":
        return b"-ERR Unknown subcommand or wrong number of arguments for 'SETINFO'\r\n"
    return None


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        requests, server = hiredis.Reader(), self.server
        assert isinstance(server, _Server)
        with socket.create_connection(("127.0.0.1", server.newer_port)) as newer:
            while data := self.request.recv(65536):
                requests.feed(data)
                while (words := requests.gets()) is not False:
                    self.request.sendall(answer(words) or _forwarded(newer, words))


def _forwarded(newer: socket.socket, words: list[bytes]) -> bytes:
    packed = b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
    newer.sendall(b"*%d\r\n%s" % (len(words), packed))
    replies, raw = hiredis.Reader(), b""
    while replies.gets() is False:
        part = newer.recv(65536)
        replies.feed(part)
        raw += part
    return raw


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads, allow_reuse_address = True, True
    newer_port = 0


@contextmanager
def old_server(newer: EmbeddedServer) -> Iterator[str]:
    """Run one before a newer server, which answers the rest; yields its URL."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.newer_port = newer.port
        address: Any = server.server_address
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"redis://127.0.0.1:{address[1]}/0"
        finally:
            server.shutdown()
