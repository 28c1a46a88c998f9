"""The server that another queue is on, and the order in which its places are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import redis

from queuepool.errors import ConfigurationError, ScriptError
from queuepool.servers import wire
from queuepool.servers.sync import Server, exchange
from queuepool.verbs import Argument

PAGE = 100  # entries that are read, and moved, at once
_TIMEOUT_S = 30.0
_FARTHEST = 2.0**63  # a score beyond it, also an infinite one, is as good as this
_SCANS, _SCANNED = 100, 1000


class Source:
    """Runs plain commands on the other queue's server. For one thread."""

    def __init__(self, url: str) -> None:
        if wire.check_url(url)[1]:
            raise ConfigurationError(
                "jobs are imported from a single server: use the redis:// URL of the node that "
                "has the queue"
            )
        self._server = Server(url, timeout_s=_TIMEOUT_S)
        self.name = self._server.name

    def do(self, commands: Sequence[Sequence[Argument]]) -> list[Any]:
        """Run commands in one round trip; return their replies.

        Raises UnavailableError, or ScriptError when one is refused.
        """
        if not commands:
            return []
        link = self._server.borrow()
        try:
            replies = exchange(link, [wire.pack_words(words) for words in commands])
        except (redis.RedisError, OSError) as error:
            link.drop()
            raise wire.translate(self.name, error) from error
        except BaseException:
            link.drop()
            raise
        self._server.connections.give_back(link)
        for reply in replies:
            if isinstance(reply, Exception):
                raise wire.translate(self.name, reply)
        return replies

    def one(self, *words: Argument) -> Any:
        """Run one command."""
        return self.do([words])[0]

    def size(self, place: bytes) -> int:
        """Return how many entries a list, set or sorted set has; 0 if it is nothing of these."""
        count = {b"list": "LLEN", b"zset": "ZCARD", b"set": "SCARD", b"hash": "HLEN"}
        kind = self.one("TYPE", place)
        known = count.get(kind if isinstance(kind, bytes) else str(kind).encode())
        return int(self.one(known, place)) if known else 0

    def names(self, pattern: bytes) -> list[str]:
        """Return what stands for the star in keys of this pattern, in part of a large database.

        Nothing if the user may not look for keys.
        """
        before, after = pattern.split(b"*")
        cursor, found = b"0", set[bytes]()
        with suppress(ScriptError):
            for _ in range(_SCANS):
                cursor, keys = self.one("SCAN", cursor, "MATCH", pattern, "COUNT", _SCANNED)
                found.update(key.removeprefix(before).removesuffix(after) for key in keys)
                if cursor == b"0":
                    break
        return sorted(name.decode("utf-8", "replace") for name in found)

    def close(self) -> None:
        """Close the connection."""
        self._server.close()


class Walk:
    """The pages of one list or sorted set, the next job first. What is removed makes room.

    left: entries that were read and stay, which are skipped from then on. from_tail: of a list
    whose next job is the last one. direction: 1 or -1 in a list, from its head or tail; else 0.
    """

    def __init__(self, source: Source, place: bytes, *, kind: str, from_tail: bool = False) -> None:
        self._source, self.place, self._from_tail = source, place, from_tail
        self.is_list, self.left = kind == "list", 0
        self.direction = (-1 if from_tail else 1) if self.is_list else 0

    def pages(self) -> Iterator[list[tuple[bytes, int]]]:
        """Yield members, each with its score, 0 in a list. Raises ScriptError for another type."""
        while True:
            page = self._page()
            if not page:
                return
            yield page

    def _page(self) -> list[tuple[bytes, int]]:
        first, last = self.left, self.left + PAGE - 1
        if not self.is_list:
            found = self._source.one("ZRANGE", self.place, first, last, "WITHSCORES")
            pairs = zip(found[::2], found[1::2], strict=True)
            return [(bytes(member), _whole(score)) for member, score in pairs]
        if self._from_tail:
            first, last = -1 - last, -1 - first
        found = self._source.one("LRANGE", self.place, first, last)
        return [(bytes(member), 0) for member in (found[::-1] if self._from_tail else found)]


def _whole(score: bytes) -> int:
    return int(max(-_FARTHEST, min(float(score), _FARTHEST)))


def check_types(source: Source, expected: dict[bytes, str]) -> None:
    """Raise ScriptError if a place holds something else than it should."""
    kinds = source.do([("TYPE", place) for place in expected])
    for (place, kind), found in zip(expected.items(), kinds, strict=True):
        said = found.decode() if isinstance(found, bytes) else str(found)
        if said not in ("none", kind):
            raise ScriptError(
                f"{source.name}: {place.decode('utf-8', 'replace')} is a {said}, not a {kind}; "
                "nothing was moved. Is that the queue, and was it made by this library?"
            )
