"""Connections to the API that are too many: strangers' go first, so that operators find a place.

grpc bounds connections by one number, and whoever is there first has them: strangers could open
that many, and nobody else would get in. So that number is a second line, for the descriptors of
this process. Well below it the surplus is closed here: of callers who have shown no token before
viewers, of those before operators, of the address with most, the oldest first.

grpc tells neither which connections it has nor lets one be closed. They are sockets of this process
with its port, and a socket that is shut down looks to it as if its peer had hung up.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import os
import resource
import socket
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from coordinator.callers import address_of, network_of, plain_address

STRANGER, VIEWER, OPERATOR = range(3)
_MOST, _LEAST = 4096, 64
_PAUSE_S = 0.1
_DESCRIPTORS = next(
    (folder for folder in ("/proc/self/fd", "/dev/fd") if Path(folder).is_dir()), None
)


Address = tuple[str, int]  # IP address and port of the caller


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection: whence it comes, and what its caller has shown."""

    address: Address
    descriptor: int
    rank: int

    @property
    def host(self) -> str:
        """What bounds count by."""
        return network_of(self.address[0])


def limit() -> int:
    """Return how many connections grpc may take: half of what this process may open, or 4,096."""
    return max(_LEAST, min(_MOST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2))


def surplus(connections: Sequence[Connection], most: int) -> list[Connection]:
    """Return which of the connections to close, given from old to new, so that `most` are left."""
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
        # Descriptor and inode -> caller, old ones first; None: it is no connection to the port.
        self._seen: dict[tuple[int, int], Address | None] = {}
        self._ranks: dict[Address, int] = {}
        self._task: asyncio.Task[None] | None = None

    def show(self, peer: str, rank: int) -> None:
        """Remember what the caller of a connection has shown."""
        address = address_of(peer)
        if address is None:
            return
        self._ranks[address] = max(rank, self._ranks.get(address, STRANGER))
        if len(self._ranks) > 2 * _MOST:  # connections that came and went unseen
            self._ranks = dict(list(self._ranks.items())[_MOST:])

    def start(self, port: int) -> None:
        """Begin to look; does nothing where a process cannot list its descriptors."""
        self._port = port
        if _DESCRIPTORS is not None:
            self._task = asyncio.create_task(self._keep(_DESCRIPTORS))

    async def stop(self) -> None:
        """Look no more. Idempotent, legal before `start`."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _keep(self, folder: str) -> None:
        while True:
            await asyncio.sleep(_PAUSE_S)
            with contextlib.suppress(OSError):  # no descriptor to look with: the next time
                self._look(folder)

    def _look(self, folder: str) -> None:
        descriptors = [int(found.name) for found in Path(folder).iterdir()]
        if len(descriptors) > self._most:
            self._close_surplus(descriptors)

    def _close_surplus(self, descriptors: Iterable[int]) -> None:
        seen: dict[tuple[int, int], Address | None] = {}
        for descriptor in descriptors:
            with contextlib.suppress(OSError):
                key = (descriptor, os.fstat(descriptor).st_ino)
                seen[key] = self._seen[key] if key in self._seen else self._caller(descriptor)
        # What was seen before is older than what was not.
        old = {key: seen[key] for key in self._seen if key in seen}
        self._seen = old | {key: address for key, address in seen.items() if key not in old}
        connections = [
            Connection(address, key[0], self._ranks.get(address, STRANGER))
            for key, address in self._seen.items()
            if address is not None
        ]
        for connection in surplus(connections, self._most):
            self._hang_up(connection)

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

    def _hang_up(self, connection: Connection) -> None:
        self._ranks.pop(connection.address, None)
        with contextlib.suppress(OSError), _duplicate(connection.descriptor) as found:
            if self._caller_of(found) == connection.address:  # else it is another's by now
                found.shutdown(socket.SHUT_RDWR)


def _duplicate(descriptor: int) -> socket.socket:
    """Return a socket object of its own. Raises OSError when the descriptor is none of a socket."""
    copy = os.dup(descriptor)
    try:
        return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        raise
