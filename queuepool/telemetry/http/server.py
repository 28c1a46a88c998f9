"""The server's only thread: accepts, reads, answers and closes, and never waits for a client.

Clients' use of resources is bounded, so that the jobs of the same process are not affected:

- Connections: MAX_CONNECTIONS. Another one is accepted, and one in the table is evicted: clients
  that hold all of them cannot lock others out (see `connections.to_close`).
- Time: DEADLINE_S from accept to close, however slowly data trickles.
- CPU: after each pass the thread rests REST times as long as the pass used the CPU. A flood waits
  in the kernel's backlog.
- Memory: see `connections`. The kernel keeps up to twice 256 KiB of a reply, and for at most 10 s
  if the client reads nothing.
- Descriptors: if accept finds none, the table closes half of its connections and is limited to the
  other half for SHORTAGE_S, so that the rest of the process has some. One descriptor is held in
  reserve to answer a probe even if jobs used up all others. If even that does not help, the
  listener is ignored for PAUSE_S. So accept never spins.
- Forked children have no copy of any of this.

It ends with `stop`, or when other code in this process has closed its descriptors; then it logs
that once and closes nothing, since those numbers may have been reused.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import random
import select
import socket
import threading
from time import monotonic, thread_time

from queuepool.errors.hindrances import LACKING, HindranceError, start_thread
from queuepool.servers import forking
from queuepool.telemetry.http.connections import Answer, Connection, State, Table

MAX_CONNECTIONS = 32
DEADLINE_S = 10.0  # Prometheus's scrape timeout
REST = 4
SHORTAGE_S = 30.0
PAUSE_S = 0.2
_GONE = (errno.EBADF, errno.EINVAL, errno.ENOTSOCK)
_BACKLOG = 1024  # a burst waits here; a full backlog delays an honest client by a second
_SEND_BUFFER_BYTES = 262_144  # 5 MB/s if a reply takes 100 ms
_USER_TIMEOUT_MS = 10_000
_ACCEPTS = 16  # per pass: accepted clients are read before others are accepted
_MOST_REST_S = 0.25
_STOP_S = 5.0

_log = logging.getLogger("queuepool.telemetry.http")


class HttpServer:
    """Answers GET and HEAD on one address. port 0 selects a free one. Raises OSError.

    answer gets each request on the server's thread and must neither wait nor raise.
    """

    def __init__(
        self, answer: Answer, *, host: str, port: int, deadline_s: float = DEADLINE_S
    ) -> None:
        self._answer, self._deadline_s = answer, deadline_s
        self._table = Table(MAX_CONNECTIONS)
        self._listener = socket.create_server((host, port), backlog=_BACKLOG)
        try:
            self._listener.setblocking(False)
            _limit_buffers(self._listener)
            self._wake, self._wakes = socket.socketpair()
            self._reserve = _take_reserve()
        except OSError:
            self._listener.close()
            raise
        self.port: int = self._listener.getsockname()[1]
        self._accepts_from_s = 0.0
        self._short_until_s = 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="queuepool-http", daemon=True)
        forking.keep(self)

    def start(self) -> None:
        """Start serving. Raises NoThreadError; then the port is free again."""
        try:
            start_thread(self._thread, "to serve metrics and health")
        except HindranceError:
            self._close()
            raise

    def stop(self) -> None:
        """Close all connections and the port, within 5 s; legal before start, idempotent."""
        self._stopping.set()
        if self._thread.is_alive():
            with contextlib.suppress(OSError):
                self._wakes.send(b"!")
            self._thread.join(timeout=_STOP_S)
        elif self._thread.ident is None:
            self._close()

    def after_fork(self) -> None:
        """Close the copies in a forked child, which would keep the port from the next process."""
        self._table.after_fork()
        for held in (self._listener, self._wake, self._wakes):
            forking.close_inherited(held)
        self._give_reserve()

    def _run(self) -> None:
        failing = False
        while not self._stopping.is_set():
            try:
                rest_s = min(REST * self._pass(), _MOST_REST_S)
                failing = False
            except Exception as error:
                if isinstance(error, OSError) and error.errno in _GONE:
                    self._forget()
                    _log.error("metrics and health are no longer served: %s", error)
                    return
                if not failing:  # for example no memory: it may be temporary
                    _log.exception("a request for metrics or health failed")
                failing, rest_s = True, PAUSE_S
            self._stopping.wait(rest_s)
        self._close()

    def _pass(self) -> float:
        """Wait for something to do, and do it; returns the CPU time in seconds."""
        began_s = thread_time()
        accepts, ready = self._wait()
        now_s = monotonic()
        for connection in ready:
            connection.advance(self._answer)
        self._table.drop_ended(now_s)
        if accepts:
            self._accept(now_s)
            self._table.drop_ended(now_s)
        if self._reserve is None:
            self._reserve = _take_reserve()
        return thread_time() - began_s

    def _wait(self) -> tuple[bool, list[Connection]]:
        """Return whether a client can be accepted, and the connections that can continue."""
        # Rebuilt each time, so that it cannot disagree with the table.
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        now_s = monotonic()
        until_s = self._table.next_deadline_s()
        if now_s >= self._accepts_from_s:
            poll.register(self._listener, select.POLLIN)
        else:
            until_s = min(until_s or self._accepts_from_s, self._accepts_from_s)
        connections = {each.socket.fileno(): each for each in self._table}
        for descriptor, each in connections.items():
            writes = each.state is State.WRITING
            poll.register(descriptor, select.POLLOUT if writes else select.POLLIN)
        wait_ms = None if until_s is None else max(0.0, until_s - now_s) * 1000 + 1
        ready = [descriptor for descriptor, _ in poll.poll(wait_ms)]
        if self._wake.fileno() in ready:
            self._wake.recv(1)
        return (
            self._listener.fileno() in ready,
            [connections[descriptor] for descriptor in ready if descriptor in connections],
        )

    def _accept(self, now_s: float) -> None:
        if now_s >= self._short_until_s:
            self._table.most = MAX_CONNECTIONS
        for _ in range(_ACCEPTS):
            try:
                accepted, address = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _GONE:
                    raise
                if error.errno in LACKING and not self._make_way(now_s):
                    self._accepts_from_s = now_s + PAUSE_S * (0.5 + random.random())
                    return
                continue  # a connection that broke before it was accepted
            self._admit(accepted, str(address[0]), now_s)

    def _admit(self, accepted: socket.socket, address: str, now_s: float) -> None:
        connection = Connection(accepted, address, now_s=now_s, deadline_s=self._deadline_s)
        self._table.add(connection)
        connection.advance(self._answer)  # most have sent their request by now

    def _make_way(self, now_s: float) -> bool:
        """Free descriptors for another accept; returns whether there were any."""
        if len(self._table):
            self._table.most = max(1, len(self._table) // 2)
            self._short_until_s = now_s + SHORTAGE_S
            self._table.shrink(self._table.most - 1)
            return True
        return self._give_reserve()

    def _give_reserve(self) -> bool:
        held, self._reserve = self._reserve, None
        if held is None:
            return False
        with contextlib.suppress(OSError):
            os.close(held)
        return True

    def _close(self) -> None:
        self._table.shrink(0)
        for held in (self._listener, self._wake, self._wakes):
            held.close()
        self._give_reserve()

    def _forget(self) -> None:
        """Forget descriptors that are no longer ours, without closing them."""
        for held in (self._listener, self._wake, self._wakes, *(c.socket for c in self._table)):
            held.detach()
        self._reserve = None


def _limit_buffers(listener: socket.socket) -> None:
    """Bound what the kernel keeps for each accepted connection, which inherits this."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _USER_TIMEOUT_MS)


def _take_reserve() -> int | None:
    """Return a descriptor to hold in reserve, or None if there is none left."""
    with contextlib.suppress(OSError):
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    return None
