"""Failed connections that are this machine's fault rather than the server's.

"The server does not respond" makes people check the server. But if this process has no descriptor
left, or a certificate file is gone, the server was never asked.
"""

from __future__ import annotations

import errno
import os
import socket
from contextlib import suppress

from redis.exceptions import MaxConnectionsError

from queuepool.errors import LocalError

_REMEDIES = {
    errno.EMFILE: "this process has too many open files{limit}: raise the limit (`ulimit -n`, "
    "LimitNOFILE= of systemd), or find what keeps files open",
    errno.ENFILE: "this machine has too many open files: raise fs.file-max, or find what keeps "
    "files open",
    errno.ENOMEM: "this machine has no memory left for a connection: add memory, or run fewer "
    "processes",
    errno.ENOBUFS: "this machine has no memory left for a connection: add memory, or run fewer "
    "processes",
    errno.EADDRNOTAVAIL: "this machine has no local port left for a connection: find out which "
    "process opens so many, or raise net.ipv4.ip_local_port_range",
}
_FILE_GONE = (
    "a file that its URL or QUEUEPOOL_TLS_CA, QUEUEPOOL_TLS_CERT or QUEUEPOOL_TLS_KEY names "
    "does not exist: restore it, or fix the setting"
)


def local_error(name: str, error: BaseException) -> LocalError | None:
    """Return the error that names what is missing here; None if it is not this machine's fault.

    name: of the server, as `display_name` makes it; that of a socket file begins with unix:.
    """
    if isinstance(error, MaxConnectionsError):
        return LocalError(name, f"{error}: use fewer threads at a time, or more pools")
    cause: BaseException | None = error
    for _ in range(4):
        if isinstance(cause, OSError):
            found = _remedy(name, cause)
            return None if found is None else LocalError(name, found)
        cause = None if cause is None else cause.__cause__ or cause.__context__
    return None


def _remedy(name: str, error: OSError) -> str | None:
    number = error.errno
    if isinstance(error, socket.gaierror):  # without a descriptor the resolver also fails
        number = _lacking()
    if number == errno.ENOENT and not name.startswith("unix:"):
        return _FILE_GONE
    remedy = None if number is None else _REMEDIES.get(number)
    return None if remedy is None else remedy.format(limit=_limit())


def _lacking() -> int | None:
    """Return why this process cannot open another file; None if it can."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno
    return None


def _limit() -> str:
    with suppress(ImportError, OSError, ValueError):
        import resource

        return f" (its limit is {resource.getrlimit(resource.RLIMIT_NOFILE)[0]:,})"
    return ""
