"""A TCP proxy of our own between processes and a server: a network that can be made bad.

    process --> Proxy (127.0.0.1:port) --> server

    healthy()            bytes pass
    cut()                every connection is closed, new ones are refused
    reset()              every connection ends with a RST; new ones pass
    half_open()          connections open, and stay open, and everything sent is swallowed
    one_way(TO_SERVER)   what goes this way is held up, and arrives when the network heals, as
                         a retransmission would; the other way passes
    slow(...)            each chunk arrives later, by a latency with jitter; some stall for longer,
                         as a lost packet does until it is sent again. The order is kept
    narrow(bytes_per_s)  all connections share a link of that rate in each direction; what does not
                         fit yet stays with its sender

What was swallowed is lost for its connection, so the next other weather resets such a connection:
a server must never see a stream with a hole. An end that is sent while nothing passes is not seen
by the other side, either. One thread runs the event loop; the methods are for any other thread and
return when the change is in force.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Self

from queuepool.process.embedded.ports import HOST

TO_SERVER, TO_CLIENT = "to server", "to client"
_CHUNK = 65_536
_QUEUED = 256  # chunks on their way in one direction
_PACKET, _PACKET_S = 1460, 0.01  # a narrow link carries packets, or as much as in this time


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """What becomes of bytes. swallowed and held: the directions; stall_share: 0 to 1."""

    refuses: bool = False
    swallowed: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()
    latency_s: float = 0.0
    jitter_s: float = 0.0
    stall_share: float = 0.0
    stall_s: float = 0.0
    bytes_per_s: float | None = None


@dataclass(slots=True, eq=False)
class _Link:
    """One connection: its two sockets and the tasks that carry bytes."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    tainted: bool = False  # bytes were swallowed
    tasks: list[asyncio.Task[None]] = field(default_factory=list)


class Proxy:
    """A context manager; `url` is what processes connect to. See the module's docstring."""

    def __init__(self, server_port: int, seed: int = 0) -> None:
        self._server_port, self._random = server_port, random.Random(seed)
        self._weather = Weather()
        self._links: set[_Link] = set()
        self._accepting: set[asyncio.Task[Any]] = set()
        self._clear = asyncio.Event()  # set whenever the weather changed, then made again
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._listener: asyncio.Server | None = None
        self.port = 0
        self._free_s = {TO_SERVER: 0.0, TO_CLIENT: 0.0}  # when a narrow link has sent what it took
        self.connects_s: list[float] = []  # monotonic, of each connection that was tried
        self.open = self.peak = 0  # connections that the client holds open; the most at once

    @property
    def url(self) -> str:
        """The URL of the server as seen through the proxy."""
        return f"redis://{HOST}:{self.port}/0"

    def __enter__(self) -> Self:
        self._thread.start()
        self._do(self._listen)
        return self

    def __exit__(self, *_exc: object) -> None:
        self._do(self._end)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    # -- weather ---------------------------------------------------------------------------------

    def healthy(self) -> None:
        """Let everything pass, also what was held."""
        self._change(Weather())

    def cut(self) -> None:
        """Close every connection; refuse new ones."""
        self._change(Weather(refuses=True), lambda link: link.client.close())

    def reset(self) -> None:
        """End every connection with a RST; later ones pass."""
        self._change(Weather(), _abort)

    def half_open(self) -> None:
        """Accept and swallow everything, both ways."""
        self._change(Weather(swallowed=frozenset((TO_SERVER, TO_CLIENT))))

    def one_way(self, held: str) -> None:
        """Hold up what goes this way until the weather changes."""
        self._change(Weather(held=frozenset((held,))))

    def slow(
        self, latency_s: float, jitter_s: float = 0.0, stall_share: float = 0.0, stall_s: float = 0
    ) -> None:
        """Delay each chunk by latency +- jitter one way, and a share of them by stall_s more."""
        self._change(
            Weather(
                latency_s=latency_s, jitter_s=jitter_s, stall_share=stall_share, stall_s=stall_s
            )
        )

    def narrow(self, bytes_per_s: float) -> None:
        """Carry so many bytes a second in each direction, over all connections together."""
        self._change(Weather(bytes_per_s=bytes_per_s))

    def _change(self, weather: Weather, harm: Callable[[_Link], None] | None = None) -> None:
        async def change() -> None:
            self._weather = weather
            for link in tuple(self._links):
                if link.tainted and not weather.swallowed:
                    _abort(link)
                elif harm is not None:
                    harm(link)
            self._clear.set()
            self._clear = asyncio.Event()

        self._do(change)

    # -- inside the loop -------------------------------------------------------------------------

    def _do(self, make: Callable[[], Coroutine[Any, Any, None]]) -> None:
        asyncio.run_coroutine_threadsafe(make(), self._loop).result(60)

    async def _listen(self) -> None:
        self._listener = await asyncio.start_server(self._accept, HOST, 0)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def _end(self) -> None:
        if self._listener is not None:
            self._listener.close()
        for link in tuple(self._links):
            _abort(link)
            for task in link.tasks:
                task.cancel()
        if self._accepting:  # each ends by itself when its connection has ended
            await asyncio.wait(self._accepting, timeout=5)

    def _refuses(self) -> bool:
        return self._weather.refuses

    async def _accept(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        accepting = asyncio.current_task()
        assert accepting is not None
        self._accepting.add(accepting)
        accepting.add_done_callback(self._accepting.discard)
        self.connects_s.append(monotonic())
        if self._refuses():
            client.transport.abort()
            return
        try:
            back, server = await asyncio.open_connection(HOST, self._server_port)
        except OSError:  # the server is down: so it is through us
            client.transport.abort()
            return
        if self._refuses():  # it was cut while this one was being made
            client.transport.abort()
            server.transport.abort()
            return
        link = _Link(client, server)
        self._links.add(link)
        self.open += 1
        self.peak = max(self.peak, self.open)
        try:
            link.tasks = [
                asyncio.create_task(self._carry(link, TO_SERVER, reader, server)),
                asyncio.create_task(self._carry(link, TO_CLIENT, back, client)),
            ]
            await asyncio.wait(link.tasks)
        finally:
            self._links.discard(link)
            for writer in (client, server):
                writer.close()

    async def _carry(
        self, link: _Link, way: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_QUEUED)
        sending = asyncio.create_task(self._deliver(link, way, queue, writer))
        try:
            while True:
                try:
                    chunk = await reader.read(_CHUNK)
                except OSError:
                    chunk = b""
                if not chunk and way == TO_SERVER:
                    self.open -= 1
                if way in self._weather.swallowed:
                    link.tainted = True
                else:
                    await queue.put((monotonic() + self._delay_s(), chunk))
                    if self._weather.bytes_per_s is not None:
                        await queue.join()
                if not chunk:
                    break
            if not link.tainted:
                await sending
        finally:
            sending.cancel()
        while link.tainted and way in self._weather.swallowed:
            await self._clear.wait()  # no one learns of this end before the weather changes

    async def _deliver(
        self,
        link: _Link,
        way: str,
        queue: asyncio.Queue[tuple[float, bytes]],
        writer: asyncio.StreamWriter,
    ) -> None:
        while True:
            due_s, chunk = await queue.get()
            if (wait_s := due_s - monotonic()) > 0:
                await asyncio.sleep(wait_s)
            while way in self._weather.held:
                await self._clear.wait()
            if way in self._weather.swallowed:  # it was on its way when that began
                link.tainted = True
                queue.task_done()
                continue
            with contextlib.suppress(OSError):
                if not chunk:
                    writer.close()
                    queue.task_done()
                    return
                await self._send(way, chunk, writer)
            queue.task_done()

    async def _send(self, way: str, chunk: bytes, writer: asyncio.StreamWriter) -> None:
        sent = 0
        while sent < len(chunk):
            rate = self._weather.bytes_per_s
            size = len(chunk) if rate is None else max(_PACKET, int(rate * _PACKET_S))
            packet = chunk[sent : sent + size]
            if rate is not None:
                self._free_s[way] = max(monotonic(), self._free_s[way]) + len(packet) / rate
                await asyncio.sleep(self._free_s[way] - monotonic())
            writer.write(packet)
            await writer.drain()
            sent += size

    def _delay_s(self) -> float:
        weather = self._weather
        delay_s = weather.latency_s + weather.jitter_s * (2 * self._random.random() - 1)
        if self._random.random() < weather.stall_share:
            delay_s += weather.stall_s
        return max(0.0, delay_s)


def _abort(link: _Link) -> None:
    for writer in (link.client, link.server):
        raw = writer.get_extra_info("socket")
        if raw is not None:  # zero linger makes the close a RST
            with contextlib.suppress(OSError):
                raw.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00"
                )
        writer.transport.abort()
