"""One connection of a client, and the table of all.

    accepted -> READING --header complete, or invalid--> WRITING --sent--> LINGERING -> over
                any state --reset, end of the client, deadline, evicted--> over

- Each connection has one deadline for everything, set when it is accepted. Trickling bytes do not
  extend it.
- One reply per connection: no keep-alive.
- LINGERING waits for the client to close and discards what it still sends: closing a socket with
  unread bytes resets it, and the client would lose the reply.
- A connection that we end is reset: what the client has not read is lost. If the client closed its
  half first, the kernel delivers the rest, within bounds set by `server`.
- A connection holds at most MAX_HEAD_BYTES and one read of received data, and one reply.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from email.utils import formatdate
from enum import StrEnum, auto

from queuepool.servers import forking
from queuepool.telemetry.http.messages import Reply, Request, encode, read_head

_READ_BYTES = 8192
_RESET = struct.pack("ii", 1, 0)  # struct linger: on, 0 seconds

Answer = Callable[[Request], Reply]


class State(StrEnum):
    """What a connection waits for."""

    READING = auto()
    WRITING = auto()
    LINGERING = auto()
    OVER = auto()  # the client closed it


class Connection:
    """A client's connection. Every method returns at once and none raises OSError."""

    def __init__(
        self, accepted: socket.socket, address: str, *, now_s: float, deadline_s: float
    ) -> None:
        self.socket, self.address = accepted, address
        self.since_s, self.until_s = now_s, now_s + deadline_s
        self.state = State.READING
        self._received = bytearray()
        self._unsent: list[memoryview] = []
        accepted.setblocking(False)  # whatever socket.setdefaulttimeout() says

    def advance(self, answer: Answer) -> None:
        """Continue as far as possible without waiting."""
        try:
            if self.state is State.READING:
                self._read(answer)
            if self.state is State.WRITING:
                self._write()
            elif self.state is State.LINGERING and not self.socket.recv(_READ_BYTES):
                self.state = State.OVER
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:  # reset, or broken otherwise: that is the client's problem
            self.state = State.OVER

    def close(self) -> None:
        """End it. Idempotent."""
        with contextlib.suppress(OSError):
            if self.state is not State.OVER:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self.socket.shutdown(socket.SHUT_RDWR)  # also where a forked child has a copy
        self.state = State.OVER
        with contextlib.suppress(OSError):
            self.socket.close()

    def _read(self, answer: Answer) -> None:
        arrived = self.socket.recv(_READ_BYTES)
        if not arrived:
            self.state = State.OVER
            return
        self._received += arrived
        head = read_head(self._received)
        if head is None:
            return
        self._received.clear()
        wants_body = not isinstance(head, Request) or head.wants_body
        reply = answer(head) if isinstance(head, Request) else head
        parts = encode(reply, date=formatdate(usegmt=True), with_body=wants_body)
        self._unsent = [memoryview(part) for part in parts]
        self.state = State.WRITING

    def _write(self) -> None:
        while self._unsent:
            sent = self.socket.send(self._unsent[0])
            self._unsent[0] = self._unsent[0][sent:]
            if not self._unsent[0]:
                del self._unsent[0]
        self.socket.shutdown(socket.SHUT_WR)
        self.state = State.LINGERING


def to_close(connections: Iterable[Connection]) -> Connection:
    """Return the connection to evict for a new one; there must be one.

    The address with the most connections loses its oldest: a client with many cannot close those of
    others, and a client that asks at once is answered, being the newest.
    """
    held = list(connections)
    count = Counter(each.address for each in held)
    return min(held, key=lambda each: (-count[each.address], each.since_s))


class Table:
    """The open connections, oldest first: never more than `most`, which may change."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._open: list[Connection] = []

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Connection]:
        return iter(tuple(self._open))

    def add(self, connection: Connection) -> None:
        """Add a connection; others are evicted if there are too many."""
        self.shrink(self.most - 1)
        self._open.append(connection)

    def shrink(self, most: int) -> None:
        """Close connections until there are no more than `most`."""
        while len(self._open) > max(0, most):
            self._drop(to_close(self._open))

    def drop_ended(self, now_s: float) -> None:
        """Close connections that are over or past their deadline."""
        for each in self:
            if each.state is State.OVER or now_s >= each.until_s:
                self._drop(each)

    def next_deadline_s(self) -> float | None:
        """Return when `drop_ended` is due, or None when nothing is open."""
        return min((each.until_s for each in self._open), default=None)

    def after_fork(self) -> None:
        """Close a forked child's copies; the parent's connections continue."""
        for each in self:
            forking.close_inherited(each.socket)
        self._open.clear()

    def _drop(self, connection: Connection) -> None:
        self._open.remove(connection)
        connection.close()
