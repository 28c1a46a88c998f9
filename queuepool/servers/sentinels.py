"""A server that Redis Sentinel watches: every new connection goes to whoever is primary now.

    redis+sentinel://USER:PASSWORD@SENTINEL:26379,SENTINEL:26379/NAME/0?sentinel_password=...

A connection asks the sentinels in turn, the one that answered last first, then connects to the
address that it got. After a failover the old connections break, or reply READONLY, which drops
them; the next ones find the new primary. So nothing else has to know of failovers. User and
password are those of the server; sentinels have their own, if any. TLS, with `rediss+sentinel://`,
is for both, with the same files.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from queuepool.errors import ConfigurationError
from queuepool.servers.patience import PatientParser

PORT = 26379
_MOST = 16  # sentinels
_SERVICE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_MARK = "+sentinel://"
_WAIT_S = 1.0  # for one sentinel
_CREDENTIALS = ("sentinel_username", "sentinel_password")
_FORM = "redis+sentinel://HOST:26379,HOST:26379/NAME, with the name that the sentinels know"


@dataclass(frozen=True)
class Sentinels:
    """Who knows the primary. plain: a URL with all that the connection to a server needs."""

    addresses: tuple[tuple[str, int], ...]
    service: str
    plain: str
    username: str | None = None
    password: str | None = None

    @property
    def name(self) -> str:
        """Return a name without secrets."""
        host, port = self.addresses[0]
        return f"{self.service} of sentinel {host}:{port}"


def is_watched(url: str) -> bool:
    """Return whether a URL names sentinels."""
    return _MARK in url[:24]


def read_sentinels(url: str) -> Sentinels:
    """Return what such a URL says. Raises ConfigurationError, without any part of a password."""
    scheme, _, rest = url.partition(_MARK)
    rest, _, query = rest.partition("?")
    where, *path = rest.split("/")
    login, at, hosts = where.rpartition("@")
    if not path or len(path) > 2 or not _SERVICE.fullmatch(path[0]):
        raise ConfigurationError(f"a URL of sentinels is {_FORM} and then perhaps /DATABASE")
    addresses = tuple(_address(text) for text in hosts.split(","))
    if len(addresses) > _MOST:
        raise ConfigurationError(f"a URL names at most {_MOST} sentinels, not {len(addresses)}")
    options = parse_qsl(query, keep_blank_values=True, max_num_fields=100)
    own = {name: value for name, value in options if name in _CREDENTIALS}
    others = urlencode([(name, value) for name, value in options if name not in _CREDENTIALS])
    host, port = addresses[0]
    shown = f"[{host}]" if ":" in host else host
    database = "/".join(["", *path[1:]])
    plain = f"{scheme}://{login}{at}{shown}:{port}{database}{'?' if others else ''}{others}"
    return Sentinels(
        addresses, path[0], plain, own.get("sentinel_username"), own.get("sentinel_password")
    )


def following(kind: type, sentinels: Sentinels, options: Mapping[str, Any]) -> type:
    """Return a class of connections like `kind` that connect to the primary."""
    finder = _Finder(sentinels, options)

    def connect(self: Any) -> Any:
        self.host, self.port = finder.find()
        return kind._connect(self)  # type: ignore[attr-defined] # noqa: SLF001 - has no public name

    async def connect_async(self: Any) -> Any:
        self.host, self.port = await asyncio.to_thread(finder.find)
        return await kind._connect(self)  # type: ignore[attr-defined] # noqa: SLF001

    is_sync = issubclass(kind, redis.connection.AbstractConnection)
    made: Callable[..., Any] = connect if is_sync else connect_async
    return type(f"Following{kind.__name__}", (kind,), {"_connect": made})


class _Finder:
    """Asks sentinels for the address of the primary. Safe to share between threads."""

    def __init__(self, sentinels: Sentinels, options: Mapping[str, Any]) -> None:
        self._service, self._addresses = sentinels.service, list(sentinels.addresses)
        tls = {name: value for name, value in options.items() if name.startswith("ssl_")}
        self._kind = redis.SSLConnection if _is_tls(sentinels.plain) else redis.Connection
        wait_s = min(_WAIT_S, options.get("socket_connect_timeout") or _WAIT_S)
        self._options: dict[str, Any] = tls | {
            "username": sentinels.username,
            "password": sentinels.password,
            "retry": Retry(NoBackoff(), 0),
            "socket_timeout": wait_s,
            "socket_connect_timeout": wait_s,
            "protocol": 2,
            "parser_class": PatientParser,
        }

    def find(self) -> tuple[str, int]:
        """Return the address of the primary. Raises redis.ConnectionError if none knows it."""
        problems = []
        for address in list(self._addresses):
            try:
                found = self._ask(address)
            except (redis.RedisError, OSError) as error:
                problems.append(f"{address[0]}:{address[1]}: {type(error).__name__}: {error}")
                continue
            if found is not None:
                if self._addresses[0] != address:
                    self._addresses = [address, *(a for a in self._addresses if a != address)]
                return found
            problems.append(f"{address[0]}:{address[1]} does not know {self._service!r}")
        raise redis.ConnectionError(
            f"no sentinel knows the primary of {self._service!r} ({'; '.join(problems)[:400]})"
        )

    def _ask(self, address: tuple[str, int]) -> tuple[str, int] | None:
        connection: Any = self._kind(host=address[0], port=address[1], **self._options)
        try:
            connection.connect()
            connection.send_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._service)
            reply: Any = connection.read_response()
        finally:
            connection.disconnect()
        return (reply[0].decode(), int(reply[1])) if reply else None


def _is_tls(plain: str) -> bool:
    return plain.startswith("rediss")


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(PORT)
    host = unquote(host.removeprefix("[").removesuffix("]"))
    if not host or not re.fullmatch("[0-9]{1,5}", port) or not 0 < int(port) < 2**16:
        raise ConfigurationError(f"an address of a sentinel is HOST:PORT; a URL of them is {_FORM}")
    return host, int(port)
