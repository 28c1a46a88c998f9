"""Who calls: what its certificate and its address say, for rights, for bounds and for the log.

Text of callers reaches logs and status messages only through `cleaned`. Pure.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

AuthContext = Mapping[str, Iterable[bytes]] | None

_MOST_CHARACTERS = 200  # of one name; a common name has at most 64 where the rules are kept
_MOST_NAMES = 8
# What an authority vouches for as the name of whoever holds the key. The other kinds say something
# else: an address where it is, a URI or mail address what another system calls it.
_NAMING = ("x509_common_name", "peer_dns")
_SHOWN = (*_NAMING, "peer_uri", "peer_email", "peer_ip")


def cleaned(text: str, most: int = _MOST_CHARACTERS) -> str:
    """Return text as one word of printable characters: others become escapes, a long end dots."""
    kept = text if len(text) <= most else text[:most] + "..."
    return "".join(
        c if c.isprintable() and not c.isspace() and c != "\\" else _escaped(c) for c in kept
    )


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode() if character != " " else "\\x20"


def names_of(known: AuthContext) -> tuple[str, ...]:
    """Return the names that rights go by: the certificate's common name, then its DNS names."""
    return _names(known, _NAMING)


def _names(known: AuthContext, kinds: Iterable[str]) -> tuple[str, ...]:
    found = known or {}
    return tuple(n.decode("utf-8", "backslashreplace") for k in kinds for n in found.get(k, ()))


def described(known: AuthContext, peer: str) -> str:
    """Return who calls, for the log: the names in its certificate, if any, and its address.

    Each is one word, and names of kinds that carry no rights say their kind, so none of them can
    pass for another.
    """
    words = [cleaned(name) for name in names_of(known)]
    for kind in _SHOWN[len(_NAMING) :]:
        words += [f"{kind.removeprefix('peer_')}={cleaned(n)}" for n in _names(known, (kind,))]
    if len(words) > _MOST_NAMES:
        words[_MOST_NAMES:] = [f"({len(words) - _MOST_NAMES}-more-names)"]
    return " ".join([*words, cleaned(peer)])


def host_of(peer: str) -> str:
    """Return what bounds of one address count by: the IPv4 address, the /64 of an IPv6 one.

    Whoever has one IPv6 address has all of its /64. Peers without an address are one host.
    """
    kind, _, rest = unquote(peer).partition(":")
    if kind not in ("ipv4", "ipv6"):
        return kind
    host = rest.rpartition(":")[0].strip("[]").partition("%")[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return kind
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((address, 64), strict=False))
