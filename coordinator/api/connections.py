"""Closes surplus connections to the API, unauthenticated ones first, so that operators get in.

grpc has a single limit, first come, first served: unauthenticated clients could open that many, and
no one else would get in. So that limit is only a second line of defence, for the descriptors of
this process. Well below it, surplus connections are closed here: those without a token before
viewers', viewers' before operators', those of the address with the most first, the oldest first.

A connection without a token is also closed once it has sent 2 MiB, which is thousands of probes:
until a client has agreed to the limits of HTTP/2, grpc keeps 16 MiB of headers for each.

grpc neither lists its connections nor lets one be closed. They are sockets of this process with its
port, and a socket that is shut down looks to grpc as if the peer had hung up.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import os
import resource
import socket
import stat
import sys
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coordinator.api.callers import address_of, network_of, plain_address

STRANGER, VIEWER, OPERATOR = range(3)
_MOST, _LEAST = 2048, 64
_MOST_BYTES = 2 * 1024 * 1024
_PAUSE_S = 0.1
_RECEIVED_AT = 128  # where Linux has tcpi_bytes_received in tcp_info
_DESCRIPTORS = next(
    (folder for folder in ("/proc/self/fd", "/dev/fd") if Path(folder).is_dir()), None
)


Address = tuple[str, int]  # IP address and port of the caller


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection: its origin, and the role that its caller has proved."""

    address: Address
    descriptor: int
    rank: int

    @property
    def host(self) -> str:
        """The key for limits."""
        return network_of(self.address[0])


def limit() -> int:
    """Return how many connections grpc may take: half of the process's limit, or 2,048."""
    return max(_LEAST, min(_MOST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2))


def surplus(connections: Sequence[Connection], most: int) -> list[Connection]:
    """Return which connections, ordered from old to new, to close so that `most` remain."""
    too_many = len(connections) - most
    chosen: list[Connection] = []
    for rank in (STRANGER, VIEWER, OPERATOR):
        held = defaultdict[str, deque[Connection]](deque)
        for connection in connections:
            if connection.rank == rank:
                held[connection.host].append(connection)
        greatest = [(-len(each), host) for host, each in held.items()]
        heapq.heapify(greatest)
        while greatest and len(chosen) < too_many:
            host = greatest[0][1]
            chosen.append(held[host].popleft())
            if held[host]:
                heapq.heapreplace(greatest, (-len(held[host]), host))
            else:
                heapq.heappop(greatest)
    return chosen


class Connections:
    """Keeps the connections to a port at `most`. Lives on one event loop."""

    def __init__(self, most: int) -> None:
        self._port, self._most = 0, most
        # Descriptor and inode -> caller, oldest first; None: not a connection to the port.
        self._seen: dict[tuple[int, int], Address | None] = {}
        self._ranks: dict[Address, int] = {}
        self._task: asyncio.Task[None] | None = None

    def show(self, peer: str, rank: int) -> None:
        """Record the role that the caller of a connection has proved."""
        address = address_of(peer) if self._task is not None else None
        if address is not None:
            self._ranks[address] = max(rank, self._ranks.get(address, STRANGER))

    def start(self, port: int) -> None:
        """Start checking; does nothing if a process cannot list its descriptors."""
        self._port = port
        if _DESCRIPTORS is not None:
            self._task = asyncio.create_task(self._keep(_DESCRIPTORS))

    async def stop(self) -> None:
        """Stop checking. Idempotent, legal before `start`."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _keep(self, folder: str) -> None:
        pause_s = _PAUSE_S
        while True:
            await asyncio.sleep(pause_s)
            began = time.monotonic()
            with contextlib.suppress(OSError):  # no descriptor to check with: next time
                self._look(folder)
            # With many connections, this takes at most a tenth of the time.
            pause_s = max(_PAUSE_S, 10 * (time.monotonic() - began))

    def _look(self, folder: str) -> None:
        seen: dict[tuple[int, int], Address | None] = {}
        for descriptor in [int(entry.name) for entry in Path(folder).iterdir()]:
            with contextlib.suppress(OSError):
                found = os.fstat(descriptor)
                if not stat.S_ISSOCK(found.st_mode):
                    continue
                key = (descriptor, found.st_ino)
                seen[key] = self._seen[key] if key in self._seen else self._caller(descriptor)
        # Known connections are older than new ones.
        old = {key: seen[key] for key in self._seen if key in seen}
        self._seen = old | {key: address for key, address in seen.items() if key not in old}
        connections = [
            Connection(address, key[0], self._ranks.get(address, STRANGER))
            for key, address in self._seen.items()
            if address is not None
        ]
        # Only for these: a later connection from the same address and port has proved nothing.
        self._ranks = {c.address: c.rank for c in connections if c.rank != STRANGER}
        for connection in surplus(connections, self._most):
            self._hang_up(connection)
        for connection in connections:
            if connection.rank == STRANGER:
                self._hang_up(connection, unless_within=_MOST_BYTES)

    def _caller(self, descriptor: int) -> Address | None:
        with _duplicate(descriptor) as found:
            return self._caller_of(found)

    def _caller_of(self, found: socket.socket) -> Address | None:
        if found.family not in (socket.AF_INET, socket.AF_INET6):
            return None
        if found.getsockname()[1] != self._port:
            return None
        host, port = found.getpeername()[:2]
        plain = plain_address(host)
        return None if plain is None else (plain, port)

    def _hang_up(self, connection: Connection, *, unless_within: int = -1) -> None:
        """Close a connection, unless it has received no more than this many bytes."""
        with contextlib.suppress(OSError), _duplicate(connection.descriptor) as found:
            if self._caller_of(found) != connection.address:  # the descriptor has been reused
                return
            if _received_bytes(found) > unless_within:
                found.shutdown(socket.SHUT_RDWR)


def _duplicate(descriptor: int) -> socket.socket:
    """Return a separate socket object. Raises OSError if the descriptor is not a socket."""
    copy = os.dup(descriptor)
    try:
        return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        raise


def _received_bytes(connection: socket.socket) -> int:
    """Return how many bytes a connection has received; 0 if the system does not tell."""
    if not hasattr(socket, "TCP_INFO"):
        return 0
    facts = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED_AT + 8)
    if len(facts) < _RECEIVED_AT + 8:  # an old kernel
        return 0
    return int.from_bytes(facts[_RECEIVED_AT:], sys.byteorder)
