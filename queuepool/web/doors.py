"""The connections of the page's own process: how many there are, and which makes way for a new one.

    accepted --a request of a user--> known
    no room: the oldest one of the address with the most is shut, those of nobody known first

So whoever only opens connections, or sends and reads as slowly as he likes, takes the places of
his own and keeps no user out. They are bounded where they are accepted, before any handshake: what
is shut here ends for TLS, HTTP and the page as if its client had closed it.
"""

from __future__ import annotations

import resource
import socket
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from queuepool.errors import ConfigurationError
from queuepool.errors.hindrances import LACKING

BACKLOG = 32  # asyncio accepts so many at once, before it ends those that make way
_MOST = 1000


@dataclass(slots=True, eq=False)
class _Caller:
    connection: socket.socket
    host: str
    known: bool = False


class Doors(socket.socket):
    """A listening socket that never has more than `most` connections. Used by one thread."""

    most: int
    _callers: dict[Any, _Caller]

    @classmethod
    def at(cls, host: str, port: int, most: int = 0) -> Doors:
        """Listen at an address. most: 0: by the file descriptors that the process may open.

        Raises ConfigurationError.
        """
        doors = cls(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        doors.most = most or min(_MOST, max(8, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 3))
        doors._callers = {}
        try:
            doors.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            doors.bind((host, port))
            doors.listen(BACKLOG)
        except OSError as error:
            doors.close()
            raise ConfigurationError(
                f"QUEUEPOOL_WEB_HOST, _PORT: cannot listen at {host}:{port}: "
                f"{error.strerror or error}"
            ) from error
        return doors

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection; one of those that are there makes way, if there are too many."""
        try:
            connection, address = super().accept()
        except OSError as error:
            if error.errno in LACKING and self._make_way():
                raise BlockingIOError from error  # the next one is accepted when that has ended
            raise
        if len(self._callers) >= self.most:
            self._make_way()
        self._callers[address[:2]] = _Caller(connection, address[0])
        return connection, address

    def know(self, address: Any) -> None:
        """Note that a user has sent a request through the connection from this address."""
        caller = self._callers.get(tuple(address or ()))
        if caller is not None:
            caller.known = True

    def _make_way(self) -> bool:
        """Forget those that are closed, or shut one; return whether there was any."""
        open_ones = {a: c for a, c in self._callers.items() if c.connection.fileno() >= 0}
        if len(open_ones) < len(self._callers):
            self._callers = open_ones
            if len(open_ones) < self.most:
                return True
        if not open_ones:
            return False
        among = [a for a, c in open_ones.items() if not c.known] or list(open_ones)
        [(crowd, _)] = Counter(open_ones[a].host for a in among).most_common(1)
        victim = next(a for a in among if open_ones[a].host == crowd)
        with suppress(OSError):  # its client may have been quicker
            self._callers.pop(victim).connection.shutdown(socket.SHUT_RDWR)
        return True
