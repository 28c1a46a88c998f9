"""How an idle owner sleeps: woken by a token from the server, by its own threads, or by time.

    owner:  wait(timeout) = poll(token connection, pipe)        other threads: ring()

A BLPOP on the partition's wake list is always pending on a separate connection; the owner polls it
together with a pipe into which its threads write when it sleeps. So a new job starts without a
second thread in between, and an idle process makes one call per second.

    quiet --wait--> asking --arm--> armed --token, or a second--> answered: token and reply
                       ^              `-- connection lost, disarm --> answered: UnavailableError
                       `-- token, or a second

An armed verb follows the BLPOP on the same connection: the server runs it when it delivers the
token, which saves the round trip between the token and the claim.

Invariants
- A ring after `wait` returned makes the next `wait` return at once. `ring` sets `_rung` before it
  looks at `_sleeping`; `wait` sets `_sleeping` before it looks at `_rung`.
- Every armed verb is answered exactly once: with its reply, or with an error if it may or may not
  have happened.
- The connection is the lifeline of its process: standbys learn from its end that the owner crashed.
  So it is opened when the bell is made, and the first renewal reports it, before any job starts. If
  that fails, the owner starts jobs without one. One that is given up without having ended stays
  open, unused, until they know the next one: over a slow link, that may take longer than they wait.
A failed connection is reopened, with backoff; a lost token costs a second.
"""

from __future__ import annotations

import os
import select
from collections.abc import Sequence
from time import monotonic
from typing import Any

import redis

from queuepool.errors import UnavailableError
from queuepool.servers import Reply, wire
from queuepool.servers.connections import Connections, Link
from queuepool.servers.namespaces import pid_namespace
from queuepool.verbs import Verb
from queuepool.verbs.owner.lifeline import read_lifeline

_BLOCK_S = 1.0
# A single job is often followed by another. For a moment after a token the owner naps instead of
# sleeping, so that its CPU is awake when that comes: waking a sleeping one takes longer than
# everything else about starting a job. It costs about a millisecond of CPU each time.
_AWAKE_S, _NAP_MS = 0.05, 0.5
_MOST_FORMER = 2  # one that standbys know, and one that they may know
_ERRORS = (redis.RedisError, OSError)


class Doorbell:
    """Made and waited on by one thread; `ring` is for any thread.

    lifeline: of the connection, else of the last one that is still open; "" if there is none, or
    the server does not tell.
    """

    def __init__(self, connections: Connections, key: bytes, timeout_s: float) -> None:
        self._connections, self._key, self._timeout_s = connections, key, timeout_s
        self._link: Link | None = None
        self._own_lifeline = ""
        self._former: dict[int, tuple[str, Link]] = {}  # by descriptor, the newest last
        self._asked_s = self._awake_until_s = 0.0
        self._retry_s, self._pause_s = 0.0, 0.05
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._poller = select.poll()
        self._poller.register(self._read, select.POLLIN)
        self._socket = -1
        self._asking = self._armed = self._rung = self._sleeping = False
        self._reply: Reply = None
        self._open()

    @property
    def lifeline(self) -> str:
        if self._own_lifeline or not self._former:
            return self._own_lifeline
        return self._former[next(reversed(self._former))][0]

    def settle(self) -> None:
        """Report that standbys know the current lifeline: older connections may end."""
        if self._own_lifeline:
            self._drop_all_former()

    def ring(self) -> None:
        """Make the current or the next wait return."""
        if not self._rung:
            self._rung = True
            if self._sleeping:
                try:
                    os.write(self._write, b"!")
                except OSError:  # full (it will wake anyway) or closed (no one sleeps)
                    return

    def wait(self, timeout_s: float) -> bytes | None:
        """Sleep until a token, a ring, or the timeout; return the token if there is one."""
        now = monotonic()
        self._sleeping = True
        try:
            if not self._asking and now >= self._retry_s:
                self._ask(now)
            pause = 0.0 if self._rung else max(0.0, timeout_s)
            if self._asking:
                pause = min(pause, self._asked_s + _BLOCK_S + self._timeout_s - now)
            ready = self._poll(now, pause)
        finally:
            self._sleeping = False
            self._rung = False
        token = None
        for descriptor, _ in ready:
            if descriptor == self._read:
                os.read(self._read, 4096)
            elif descriptor in self._former:
                if not self._former[descriptor][1].is_open():
                    self._drop_former(descriptor)
            else:
                token = self._answer()
                if token is not None:
                    self._awake_until_s = monotonic() + _AWAKE_S
        if self._asking and monotonic() > self._asked_s + _BLOCK_S + self._timeout_s:
            self._give_up()  # half-open or slow: the server has not answered
        return token

    def arm(self, verb: Verb[Any]) -> bool:
        """Have the server run a verb right behind the next token, or within a second without one.

        At most one at a time. Returns False, and the verb is not sent, while there is no way to the
        server or an answer has not been fetched.
        """
        now = monotonic()
        if self._armed or self._reply is not None:
            return False
        if not self._asking and now >= self._retry_s:
            self._ask(now)
        if not self._asking:
            return False
        self._armed = True
        try:
            self._asked().send(wire.pack(self._key, verb))
        except _ERRORS:
            self._drop()
        return True

    def answer(self) -> Reply:
        """Return the reply to the armed verb, once; None while it is pending."""
        reply, self._reply = self._reply, None
        return reply

    def disarm(self) -> None:
        """Give up the connection: the armed verb may or may not have happened."""
        if self._armed:
            self._give_up()

    def _poll(self, now: float, pause: float) -> list[tuple[int, int]]:
        ready: list[tuple[int, int]] = []
        drowsy_s = now + min(pause, self._awake_until_s - now)
        while not ready and (left := drowsy_s - monotonic()) > 0:
            ready = self._poller.poll(min(_NAP_MS, left * 1000))
        return ready or self._poller.poll(max(0.0, now + pause - monotonic()) * 1000)

    def close(self) -> None:
        """Release everything. Idempotent; ring stays legal."""
        self._drop()
        self._drop_all_former()
        if self._read >= 0:
            os.close(self._read)
            os.close(self._write)
            self._read = self._write = -1

    def _ask(self, now: float) -> None:
        if self._link is None:
            self._open()
        if self._link is None:
            return
        try:
            self._link.send(wire.pack_words([b"BLPOP", self._key + b":wk", _BLOCK_S]))
            self._asking, self._asked_s = True, now
        except _ERRORS:
            self._drop()

    def _open(self) -> None:
        try:
            self._link = self._connections.borrow()
            self._socket = self._link.fileno()
            self._poller.register(self._socket, select.POLLIN)
            self._own_lifeline = read_lifeline(self._ask_link, pid_namespace())
        except _ERRORS:
            self._drop()

    def _ask_link(self, words: Sequence[bytes]) -> Any:
        link = self._asked()
        link.send(wire.pack_words(words))
        return link.read()

    def _answer(self) -> bytes | None:
        try:
            self._asking = False  # the next wait asks again: after a token there is work to do
            reply = self._asked().read()
            if isinstance(reply, Exception):
                raise reply
            if self._armed:
                self._reply, self._armed = self._receive(), False
            self._pause_s = 0.05
        except _ERRORS:
            self._drop()
            return None
        return bytes(reply[1]) if reply else None

    def _receive(self) -> Reply:
        reply = self._asked().read()
        return wire.translate("the server", reply) if isinstance(reply, Exception) else reply

    def _asked(self) -> Link:
        if self._link is None:
            raise redis.ConnectionError("the connection was closed")
        return self._link

    def _give_up(self) -> None:
        if self._link is not None and self._own_lifeline and len(self._former) < _MOST_FORMER:
            self._former[self._socket] = self._own_lifeline, self._link  # it stays in the poller
            self._link, self._socket = None, -1
        self._drop()

    def _drop_all_former(self) -> None:
        for descriptor in tuple(self._former):
            self._drop_former(descriptor)

    def _drop_former(self, descriptor: int) -> None:
        _, link = self._former.pop(descriptor)
        self._poller.unregister(descriptor)
        link.drop()

    def _drop(self) -> None:
        link, self._link = self._link, None
        self._own_lifeline = ""
        if self._armed:
            self._reply = UnavailableError(
                "the connection was lost; the call may or may not have been executed"
            )
        self._asking = self._armed = False
        if self._socket >= 0:
            self._poller.unregister(self._socket)
            self._socket = -1
        if link is not None:
            link.drop()
        self._retry_s = monotonic() + self._pause_s
        self._pause_s = min(1.0, self._pause_s * 2)
