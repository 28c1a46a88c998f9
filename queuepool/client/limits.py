"""Limits as people see and change them: `pool.limits`, sync and asyncio, over the same steps."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar

from queuepool.client.effects import Steps
from queuepool.client.network import AsyncNetwork, Network
from queuepool.client.parked import parked_anywhere
from queuepool.client.questions import ask, ask_each
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models import Limit, LimitStatus
from queuepool.models.limits import check_limit_name
from queuepool.settings.config import PoolConfig
from queuepool.verbs import Verb
from queuepool.verbs.limits import verbs as homes

T = TypeVar("T")
_PAGE, MAX_PAGE = 100, 200
_AHEAD = 50  # partitions asked at once
_TOKEN = re.compile(r"([0-9]{1,9})\.((?:[0-9a-f]{2}){0,512})")
Page = tuple[list[LimitStatus], str]


class UnknownLimitError(InvalidInputError):
    """No operator has set this limit, and no job has needed it recently."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"limit {name!r} is unknown: no operator has set it, and no job has needed it within "
            "the last day. `queuepool limit list` shows known limits"
        )


def page_of_limits(config: PoolConfig, token: str, size: int) -> Steps[Page]:
    """Return up to `size` limits (1 to 200), and the token of the next page, "" at the end.

    They come by home, then by name. Raises InvalidInputError for a token of another origin.
    """
    if not 1 <= size <= MAX_PAGE:
        raise InvalidInputError(f"page size {size}: use 1 to {MAX_PAGE}")
    places, found = config.topology.view.homes, list[LimitStatus]()
    partitions = len(places)
    number, after = _read_token(token)
    while number < partitions:
        ahead = range(number, min(number + _AHEAD, partitions))
        starts = {n: after if n == number else b"" for n in ahead}
        calls = [(places[n], _numbered(n, start, size)) for n, start in starts.items()]
        pages = dict((yield from ask_each(config, calls)))
        number, after = ahead.stop, b""
        for n in ahead:
            following, limits = pages[n]
            taken = limits[: size - len(found)]
            found += taken
            if len(taken) < len(limits):
                return found, _token(n, taken[-1].name.encode() if taken else starts[n])
            if following:
                number, after = n, following
                break
        if len(found) == size:
            break
    return found, _token(number, after) if number < partitions else ""


def _numbered(
    number: int, after: bytes, size: int
) -> Verb[tuple[int, tuple[bytes, list[LimitStatus]]]]:
    verb = homes.limits(after, size)
    return Verb(verb.script, verb.args, lambda reply: (number, verb.parse(reply)))


def _token(number: int, after: bytes) -> str:
    return f"{number}.{after.hex()}"


def _read_token(token: str) -> tuple[int, bytes]:
    match = _TOKEN.fullmatch(token or "0.")
    if match is None:
        raise InvalidInputError(
            "page_token: pass the next_page_token of the previous page, unchanged"
        )
    return int(match[1]), bytes.fromhex(match[2])


class _Limits:
    """What the limits of both pools share."""

    __slots__ = ("_network",)

    def __init__(self, network: Any) -> None:
        self._network = network

    def _ask(self, name: str, verb: Verb[T]) -> Steps[T]:
        config: PoolConfig = self._network.config
        return ask(config, config.topology.view.home_of(name), verb)

    def _set(self, limit: Limit) -> Steps[bool]:
        given: object = limit
        if not isinstance(given, Limit):
            raise InvalidInputError(f"{shown(given)} is not a Limit: use Limit(name, rate=20)")
        return self._ask(limit.name, homes.set_limit(limit))

    def _pause(self, name: str, *, on: bool) -> Steps[bool]:
        return self._known(name, homes.pause_limit(check_limit_name(name), on=on))

    def _remove(self, name: str) -> Steps[bool]:
        return self._known(name, homes.remove_limit(check_limit_name(name)))

    def _get(self, name: str) -> Steps[LimitStatus | None]:
        found = yield from self._ask(name, homes.find_limit(check_limit_name(name)))
        if found is None:
            return None
        return (yield from parked_anywhere(self._network.config)).on(found)

    def _page(self, token: str, size: int) -> Steps[Page]:
        config: PoolConfig = self._network.config
        found, following = yield from page_of_limits(config, token, size)
        if found:
            found = list(map((yield from parked_anywhere(config)).on, found))
        return found, following

    def _known(self, name: str, verb: Verb[bool | None]) -> Steps[bool]:
        changed = yield from self._ask(name, verb)
        if changed is None:
            raise UnknownLimitError(name)
        return changed


class Limits(_Limits):
    """The limits of a queue. Holds no state: each call asks the limit's home.

    >>> pool.limits.set(Limit("mail", rate=20))
    True
    >>> pool.limits.pause("mail"), pool.limits.resume("mail")
    (True, True)
    >>> [limit.name for limit in pool.limits.list()]
    ['mail']
    >>> pool.limits.remove("mail")
    True
    """

    _network: Network

    def set(self, limit: Limit) -> bool:
        """Define a limit for all partitions, whatever code declares; it holds within 5 s.

        Returns whether that changed anything.
        """
        return self._network.do(self._set(limit))

    def pause(self, name: str) -> bool:
        """Start no more jobs of a limit; returns whether it was not paused. Jobs that run continue.

        It may be one that no job has needed yet: `get(name).unused` tells.
        """
        return self._network.do(self._pause(name, on=True))

    def resume(self, name: str) -> bool:
        """End a pause, or a wait as the downstream said; returns whether there was any.

        Raises UnknownLimitError.
        """
        return self._network.do(self._pause(name, on=False))

    def remove(self, name: str) -> bool:
        """Forget what people set, also a pause: what code declares holds again, if anything.

        Returns whether anything was set. Raises UnknownLimitError.
        """
        return self._network.do(self._remove(name))

    def get(self, name: str) -> LimitStatus | None:
        """Return a limit, None if nobody has set it or needed it for a day."""
        return self._network.do(self._get(name))

    def page(self, token: str = "", size: int = _PAGE) -> Page:
        """Return up to `size` limits (1 to 200), and the token of the next page, "" at the end."""
        return self._network.do(self._page(token, size))

    def list(self) -> Iterator[LimitStatus]:
        """Iterate over all limits, reading them a page at a time: by home, then by name."""
        page, token = self.page()
        yield from page
        while token:
            page, token = self.page(token)
            yield from page


class AsyncLimits(_Limits):
    """The limits of a queue, for asyncio: the methods of Limits, awaited."""

    _network: AsyncNetwork

    async def set(self, limit: Limit) -> bool:
        """Define a limit for all partitions; returns whether that changed anything."""
        return await self._network.do(self._set(limit))

    async def pause(self, name: str) -> bool:
        """Start no more jobs of a limit; returns whether it was not paused."""
        return await self._network.do(self._pause(name, on=True))

    async def resume(self, name: str) -> bool:
        """End a pause; returns whether the limit was paused."""
        return await self._network.do(self._pause(name, on=False))

    async def remove(self, name: str) -> bool:
        """Forget what people set, also a pause; returns whether anything was set."""
        return await self._network.do(self._remove(name))

    async def get(self, name: str) -> LimitStatus | None:
        """Return a limit, None if nobody has set it or needed it for a day."""
        return await self._network.do(self._get(name))

    async def page(self, token: str = "", size: int = _PAGE) -> Page:
        """Return up to `size` limits (1 to 200), and the token of the next page, "" at the end."""
        return await self._network.do(self._page(token, size))

    async def list(self) -> AsyncIterator[LimitStatus]:
        """Iterate over all limits, reading them a page at a time: by home, then by name."""
        page, token = await self.page()
        while True:
            for limit in page:
                yield limit
            if not token:
                return
            page, token = await self.page(token)
