"""URLs of servers: a problem is reported in one line, without the password. Nothing is connected.

    check_url(url) --> the URL for the client, and whether it names a cluster
    display_name   --> a readable name: no user, no password, no options
    make_pool      --> the client's connections, whose options are tried first

Problems that the client would only report at the first connection, with its own exceptions, are
found here: unresolvable hosts, invalid ports, options that would break what we rely on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from ipaddress import IPv6Address
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from redis.exceptions import RedisError

from queuepool.errors import ConfigurationError
from queuepool.errors.escaping import visible
from queuepool.servers.sentinels import following, is_watched, read_sentinels

SETTINGS = "QUEUEPOOL_URL or QUEUEPOOL_SERVERS"  # either names the servers
_SETTINGS = "(settings QUEUEPOOL_URL, QUEUEPOOL_SERVERS)"
_QUOTING = "In a password write / ? # @ and : as %2F %3F %23 %40 and %3A"
_SCHEMES = {
    "redis": "redis", "valkey": "redis", "rediss": "rediss", "valkeys": "rediss", "unix": "unix",
}  # fmt: skip
_SCHEME = re.compile(r"[a-z][a-z0-9]{0,15}")  # of others: it may be shown, being no password
_DATABASE = re.compile(r"/?[0-9]{0,9}")
_LONGEST_HOST, _LONGEST_SOCKET = 253, 107  # of names, in characters, and of socket files, in bytes
# Options that do not affect what the library relies on: no retries, RESP2, bytes, bounded waits.
_OPTIONS = frozenset((
    "db", "username", "password", "client_name", "socket_timeout", "socket_connect_timeout",
    "socket_keepalive", "health_check_interval", "timeout", "max_connections",
))  # fmt: skip
_NUMBERS = frozenset(("db", "health_check_interval", "max_connections"))
_WAITS = frozenset(("socket_timeout", "socket_connect_timeout", "timeout"))
_TLS_OPTION = re.compile(r"ssl_[a-z_]{1,40}")
# Others that the client knows: their names are not part of a password, so they may be shown.
_KNOWN = frozenset((
    "retry_on_timeout", "retry_on_error", "retry", "protocol", "decode_responses", "encoding",
    "encoding_errors", "host", "port", "path", "parser_class", "connection_class", "socket_type",
    "socket_read_size", "lib_name", "lib_version", "credential_provider", "command_packer",
))  # fmt: skip
_TCP_ONLY = ("socket_keepalive",)


def check_url(url: str) -> tuple[str, bool]:
    """Return (URL for the client, whether it names a cluster). Raises ConfigurationError."""
    if not isinstance(url, str):
        raise ConfigurationError(f"the URL of a server is text, not {type(url).__name__}")
    scheme, separator, rest = url.partition("://")
    if scheme.lower().partition("+")[0] in _SCHEMES:
        scheme = scheme.lower()
    url = f"{scheme}{separator}{rest}"
    if is_watched(url):
        return _check_sentinels(url), False
    cluster = scheme.endswith("+cluster")
    scheme = scheme.removesuffix("+cluster")
    if cluster and scheme == "unix":
        raise ConfigurationError("a cluster is reached over TCP: use redis+cluster://HOST:PORT")
    if not separator or scheme not in _SCHEMES:
        named = f", not with {scheme}://" if separator and _SCHEME.fullmatch(scheme) else ""
        raise ConfigurationError(
            "a Redis URL starts with redis://, rediss://, unix://, redis+cluster:// or "
            f"redis+sentinel://{named} {_SETTINGS}"
        )
    scheme = _SCHEMES[scheme]
    plain = f"{scheme}://{rest}"
    problem = _problem(plain, cluster=cluster)
    if problem:
        raise ConfigurationError(f"{scheme}://...: {problem} {_SETTINGS}")
    return plain, cluster


def _check_sentinels(url: str) -> str:
    try:
        found = read_sentinels(url)
    except ConfigurationError as error:
        raise ConfigurationError(f"redis+sentinel://...: {error.args[0]} {_SETTINGS}") from None
    scheme, _, rest = found.plain.partition("://")
    if scheme not in _SCHEMES or scheme == "unix":
        problem = "sentinels are reached over TCP: use redis+sentinel:// or rediss+sentinel://"
    else:
        scheme = _SCHEMES[scheme]
        hosts = (host for host, _port in found.addresses)
        problem = _problem(f"{scheme}://{rest}", cluster=False) or next(
            filter(None, map(_host_problem, hosts)), ""
        )
    if problem:
        raise ConfigurationError(f"redis+sentinel://...: {problem} {_SETTINGS}")
    return f"{scheme}+sentinel://{url.partition('+sentinel://')[2]}"


def display_name(url: str) -> str:
    """Return any URL without its secrets."""
    if is_watched(url):
        try:
            return visible(read_sentinels(url).name)
        except ConfigurationError:
            return "a server whose URL cannot be read"
    try:
        parts = urlsplit(url)
        if parts.scheme == "unix":
            return visible(f"unix:{parts.path}")
        return visible(f"{parts.hostname or 'localhost'}:{parts.port or 6379}")
    except ValueError:
        return "a server whose URL cannot be read"


def make_pool(kind: Callable[..., Any], url: str, options: Mapping[str, Any]) -> Any:
    """Return a connection pool for a URL; its options are tried without connecting.

    Raises ConfigurationError.
    """
    given = dict(options)
    watched = read_sentinels(url) if is_watched(url) else None
    if watched is not None:
        url = watched.plain
    if url.startswith("unix://"):
        for name in _TCP_ONLY:
            given.pop(name, None)
    try:
        pool = kind.from_url(url, **given)  # type: ignore[attr-defined]
        pool.connection_class(**pool.connection_kwargs)
    except (TypeError, ValueError, RedisError) as error:
        text = "" if isinstance(error, RedisError) else str(error)  # it may quote a value
        option = text.split("'")[1] if text.count("'") == 2 else ""
        raise ConfigurationError(
            f"{display_name(url)}: {_bad_option(option)} {_SETTINGS}"
        ) from None
    if watched is not None:
        kwargs = pool.connection_kwargs
        pool.connection_class = following(pool.connection_class, watched, kwargs)
    return pool


def _problem(plain: str, *, cluster: bool) -> str:
    """Return what is wrong with a URL of a valid scheme, without any part of a password."""
    try:
        plain.encode()
        parts = urlsplit(plain)
        port = parts.port
        options = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=100)
    except UnicodeEncodeError:
        return "it contains bytes that are not UTF-8; write them as %HH"
    except ValueError as error:  # its text quotes the URL, and an apparent port may be a password
        if "IPv6" in str(error) or "bracket" in str(error):
            return f"the text between [ and ] is not an IPv6 address. {_QUOTING}"
        return f"the port is not a number from 1 to 65535. {_QUOTING}"
    if any(c < " " or "\x7f" <= c <= "\x9f" for c in plain):
        return "it contains a control character; in a password, write it as %HH"
    if plain != plain.strip():
        return "it ends with a blank: remove it; in a password, write it as %20"
    if parts.fragment or "#" in plain:
        return f"it contains a #. {_QUOTING}"
    where = _socket_problem(parts) if parts.scheme == "unix" else _tcp_problem(parts, port, cluster)
    return where or _option_problem(options)


def _tcp_problem(parts: SplitResult, port: int | None, cluster: bool) -> str:
    if port == 0:
        return f"the port is not a number from 1 to 65535. {_QUOTING}"
    if not _DATABASE.fullmatch(parts.path):
        return (
            f"{display_name(parts.geturl())}: the port may be followed only by a database "
            "number, such as /0"
        )
    if cluster and parts.path.strip("/").strip("0"):
        return "a cluster has only database 0"
    host = unquote(parts.hostname or "")
    if not host:
        is_named = cluster or "@" in parts.netloc
        return f"it has no host. {_QUOTING}" if is_named else ""  # redis:// is this machine
    return _host_problem(host)


def _host_problem(host: str) -> str:
    if ":" in host:
        try:
            IPv6Address(host)
        except ValueError:
            return f"the text between [ and ] is not an IPv6 address. {_QUOTING}"
        return ""
    remedy = f"the host is not a name or address that can be resolved. {_QUOTING}"
    if len(host) > _LONGEST_HOST or not host.isprintable() or set(host) & set(" /?#@[]%"):
        return remedy
    try:
        looked_up = host.encode("idna")  # like the resolver
    except UnicodeError:
        return remedy
    return remedy if len(looked_up) > _LONGEST_HOST else ""


def _socket_problem(parts: SplitResult) -> str:
    path = unquote(parts.path)
    if parts.hostname or not path.strip("/"):
        return "it has no path: write unix:///PATH/OF/THE/SOCKET with the full path"
    if "\0" in path or len(path.encode()) > _LONGEST_SOCKET:
        return f"the path of a socket has at most {_LONGEST_SOCKET} bytes, none of them a NUL"
    return ""


def _option_problem(options: list[tuple[str, str]]) -> str:
    for name, value in options:
        if name not in _OPTIONS and not _TLS_OPTION.fullmatch(name):
            return _bad_option(name)
        if name in _WAITS and not _is_wait(value):
            return _bad_option(name)
        if name in _NUMBERS and not re.fullmatch("[0-9]{1,9}", value):
            return _bad_option(name)
    return ""


def _is_wait(text: str) -> bool:
    try:
        return 0 < float(text) <= 3600
    except ValueError:
        return False


def _bad_option(name: str) -> str:
    known = name in _OPTIONS or name in _KNOWN or _TLS_OPTION.fullmatch(name)
    return (
        "the URL of a server has an unsupported option or an invalid value: "
        f"{name if known else '(not shown, since it may be part of a password)'}"
    )
