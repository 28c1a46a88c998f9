"""Streams of updates to browsers, as server-sent events.

Everybody who watches the same thing shares one channel: what changed is found and encoded once, and
read from the servers, where that is needed, once. Of one event loop.

    rendered --an error: the watchers are told, once--> failing --after a pause--> rendered again
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final

Patch = Mapping[str, str]
Render = Callable[[], Awaitable[Patch]]
Failed = Callable[[str, Exception, float | None], Patch]

MOST_WATCHERS: Final = 500
_MOST_CHANNELS: Final = 200
_SHARE: Final = 2  # one user has at most half of either
_ALWAYS: Final = "overview"  # the channel for which there is always room
_QUIET_S: Final = 15.0  # after which an empty line tells that the stream lives
_LONGEST_S: Final = 1800.0  # the browser asks again, with a session that may have ended
_PAUSES_S = (0.5, 1.0, 2.0, 5.0)  # after errors, before the next try


class TooManyWatchersError(Exception):
    """There is no room for one more."""


class _Channel:
    """One thing that is watched: its latest patch, and what the last step changed in it."""

    def __init__(self, render: Render) -> None:
        self.render = render
        self.patch: dict[str, str] = {}
        self.rendered_s: float | None = None
        self.diff = ""
        self.step = 0
        self.users: Counter[str] = Counter()
        self.moved = asyncio.Condition()

    @property
    def watchers(self) -> int:
        """Return how many watch it."""
        return self.users.total()

    def leave(self, who: str) -> None:
        """Forget a watcher; whoever was the last still counts as its user until it ends."""
        self.users[who] -= 1
        if self.watchers:
            self.users = +self.users

    async def advance(self) -> None:
        """Render again, and let the watchers know if anything changed."""
        await self.tell(await self.render())
        self.rendered_s = time.time()

    async def tell(self, found: Patch) -> None:
        """Let the watchers know what of this differs from what they have."""
        changed = {name: text for name, text in found.items() if self.patch.get(name) != text}
        if not changed:
            return
        self.patch |= changed
        self.diff = _event(changed)
        self.step += 1
        async with self.moved:
            self.moved.notify_all()


class Hub:
    """All channels. `changed` may be called by any thread, once `bind` was called.

    failed: called once when a channel cannot be rendered any more, with its name, the error, and
    when it was last (None: never); returns what its watchers are told.
    """

    def __init__(self, failed: Failed = lambda _name, _error, _last_s: {}) -> None:
        self._failed = failed
        self._channels: dict[str, _Channel] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.watchers = 0
        self.closed = False

    def bind(self) -> None:
        """Remember the event loop on which everything here runs."""
        self._loop = asyncio.get_running_loop()

    def changed(self) -> None:
        """Let all channels that follow the board render again."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            with suppress(RuntimeError):  # it is about to close
                loop.call_soon_threadsafe(self._announce)

    def _announce(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def stream(
        self, name: str, render: Render, every_s: float | None = None, who: str = ""
    ) -> AsyncGenerator[str, None]:
        """Return the events of a channel: all of it, then what changes.

        every_s: how often it is rendered; None: when the board changes. who: the user.
        Raises TooManyWatchersError.
        """
        if not self._has_room(name, who):
            raise TooManyWatchersError
        return self._stream(name, render, every_s, who)

    def _has_room(self, name: str, who: str) -> bool:
        his = {n: one.users[who] for n, one in self._channels.items() if who in one.users}
        if self.watchers >= MOST_WATCHERS or sum(his.values()) >= MOST_WATCHERS // _SHARE:
            return False
        if name == _ALWAYS or name in his:
            return True
        is_full = name not in self._channels and len(self._channels) >= _MOST_CHANNELS
        return not is_full and len(his) < _MOST_CHANNELS // _SHARE

    async def _stream(
        self, name: str, render: Render, every_s: float | None, who: str
    ) -> AsyncGenerator[str, None]:
        channel = self._channels.get(name)
        if channel is None:
            channel = self._channels[name] = _Channel(render)
            task = asyncio.create_task(self._drive(name, channel, every_s))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        channel.users[who] += 1
        self.watchers += 1
        try:
            async for event in self._events(channel):
                yield event
        finally:
            channel.leave(who)
            self.watchers -= 1

    async def _events(self, channel: _Channel) -> AsyncGenerator[str, None]:
        end_s, step = time.monotonic() + _LONGEST_S, 0
        yield "retry: 2000\n\n"
        if channel.patch:
            step = channel.step
            yield _event(channel.patch)
        while time.monotonic() < end_s and not self.closed:
            if channel.step == step:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_QUIET_S), channel.moved:
                        await channel.moved.wait()
            if channel.step == step:
                yield ": \n\n"
                continue
            yield channel.diff if channel.step == step + 1 else _event(channel.patch)
            step = channel.step

    async def _drive(self, name: str, channel: _Channel, every_s: float | None) -> None:
        failures = 0
        try:
            while not self.closed:
                news = self._news
                try:
                    await channel.advance()
                    failures = 0
                except Exception as error:  # whatever it is: the next try may succeed
                    if failures == 0:
                        await channel.tell(self._failed(name, error, channel.rendered_s))
                    failures += 1
                await self._pause(news, every_s, failures)
                if channel.watchers <= 0:
                    return
        finally:
            if self._channels.get(name) is channel:
                del self._channels[name]

    async def _pause(self, news: asyncio.Event, every_s: float | None, failures: int) -> None:
        if failures:
            pause_s = _PAUSES_S[min(failures, len(_PAUSES_S)) - 1]
            await asyncio.sleep(max(pause_s, every_s or 0.0))
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(every_s or _QUIET_S):
                await (news.wait() if every_s is None else asyncio.Event().wait())

    def close(self) -> None:
        """End all streams soon."""
        self.closed = True
        for task in self._tasks:
            task.cancel()


def _event(patch: Patch) -> str:
    return f"data: {json.dumps(patch, ensure_ascii=False, separators=(',', ':'))}\n\n"
