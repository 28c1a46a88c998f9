"""TLS to servers: adds the files from settings to URLs, and translates failures into remedies.

Every kind of connection (threads, asyncio, doorbells, cluster nodes, `queuepool check`) gets a URL,
so the files are part of it, as the client's own options. A certificate must be signed by a known
authority and name the host of the URL; only a URL can relax that, with
`ssl_cert_reqs=none` or `ssl_check_hostname=false`.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

_OTHER_PORT = "it does not use TLS on this port: use its TLS port, or redis:// if it has none"
_OTHER_NAME = "its certificate is for another host name: use that name in the URL"
_WANTS_OURS = (
    "it closed the TLS connection, as servers do that require a client certificate from a CA "
    "they trust: set QUEUEPOOL_TLS_CERT and QUEUEPOOL_TLS_KEY"
)
_STRICT = "Python 3.13 and later check certificates strictly: issue another one with this extension"
# OpenSSL's message, in capitals -> what to do. The first match counts.
_REMEDIES = {
    "HOSTNAME MISMATCH": _OTHER_NAME,
    "IP ADDRESS MISMATCH": _OTHER_NAME,
    "CERTIFICATE HAS EXPIRED": "its certificate has expired: renew it",
    "DOES NOT INCLUDE KEY USAGE": _STRICT,
    "MISSING AUTHORITY KEY IDENTIFIER": _STRICT,
    "MISSING SUBJECT KEY IDENTIFIER": _STRICT,
    "CERTIFICATE_VERIFY_FAILED": "its certificate is not signed by a CA that is trusted here: "
    "set QUEUEPOOL_TLS_CA",
    "WRONG_VERSION_NUMBER": _OTHER_PORT,
    "RECORD_LAYER_FAILURE": _OTHER_PORT,
    "HANDSHAKE OPERATION TIMED OUT": "it does not respond to the TLS handshake: check that this "
    "is its TLS port",
    "CERTIFICATE_REQUIRED": _WANTS_OURS,
    "UNKNOWN_CA": _WANTS_OURS,
    "EOF OCCURRED IN VIOLATION": _WANTS_OURS,
}


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files: the CA of servers, and our certificate for servers that require one."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    key_password: str | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        """Return whether any file is named."""
        return any((self.ca, self.cert, self.key))

    def problems(self) -> list[str]:
        """Return why the files cannot be used, with their variables; reads them."""
        found = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if self.ca is not None:
            try:
                context.load_verify_locations(self.ca)
            except OSError as error:  # ssl.SSLError is one
                found.append(f"QUEUEPOOL_TLS_CA={self.ca}: {_reason(error)}")
        if self.cert is None:
            if self.key is not None:
                found.append("QUEUEPOOL_TLS_KEY needs QUEUEPOOL_TLS_CERT, its certificate")
            return found
        try:
            # An empty password rather than None: OpenSSL would prompt for one on the terminal.
            context.load_cert_chain(self.cert, self.key, self.key_password or "")
        except (OSError, ValueError) as error:
            remedy = (
                "; check that QUEUEPOOL_TLS_KEY is its key and QUEUEPOOL_TLS_KEY_PASSWORD "
                "is correct"
            )
            found.append(f"QUEUEPOOL_TLS_CERT={self.cert}: {_reason(error)}{remedy}")
        return found

    def added_to(self, url: str) -> str:
        """Return the URL with the files added, unless it has its own or is not for TLS."""
        try:
            parts = urlsplit(url)
        except ValueError:  # check_url reports what is wrong with it
            return url
        if parts.scheme.partition("+")[0] not in ("rediss", "valkeys"):
            return url
        options = {
            "ssl_ca_certs": self.ca,
            "ssl_certfile": self.cert,
            "ssl_keyfile": self.key,
            "ssl_password": self.key_password,
        }
        given = parse_qs(parts.query)
        if "ssl_certfile" in given:  # certificate and key must come from one place
            del options["ssl_certfile"], options["ssl_keyfile"], options["ssl_password"]
        added = urlencode({k: str(v) for k, v in options.items() if v and k not in given})
        query = "&".join(filter(None, (parts.query, added)))
        return parts._replace(query=query).geturl()


def tls_problems(tls: Tls, servers: Mapping[str, str]) -> list[str]:
    """Return why these settings do not fit these URLs; reads the files."""
    found = tls.problems()
    if tls and servers and all(tls.added_to(url) == url for url in servers.values()):
        found.append(
            "QUEUEPOOL_TLS_* is set, but the connection is unencrypted: the URL must start with "
            "rediss://, rediss+cluster:// or rediss+sentinel://"
        )
    return found


def remedy(error: BaseException) -> str:
    """Return the remedy for a TLS failure, from its message and those of its causes; or ""."""
    words, cause = "", error.__context__
    for _ in range(4):
        words += f" {error} {getattr(error, 'reason', '')}".upper()
        if cause is None:
            break
        error, cause = cause, cause.__context__
    return next((r for known, r in _REMEDIES.items() if known in words), "")


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    if isinstance(error, ssl.SSLError):
        return f"{(error.reason or 'no PEM file').lower().replace('_', ' ')}"
    return getattr(error, "strerror", None) or str(error)
