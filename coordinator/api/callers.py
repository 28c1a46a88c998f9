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


def address_of(peer: str) -> tuple[str, int] | None:
    """Return the IP address and port of a peer as grpc names it; None for peers that have none."""
    kind, _, rest = unquote(peer).partition(":")
    host, _, port = rest.rpartition(":")
    if kind not in ("ipv4", "ipv6") or not port.isdecimal():
        return None
    plain = plain_address(host.strip("[]"))
    return None if plain is None else (plain, int(port))


def plain_address(host: str) -> str | None:
    """Return an IP address without a zone, an IPv4 one within an IPv6 one as itself."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def host_of(peer: str) -> str:
    """Return what bounds of one address count by; all peers without an address are one."""
    found = address_of(peer)
    return "" if found is None else network_of(found[0])


def network_of(address: str) -> str:
    """Return an IPv4 address itself, of an IPv6 one its /64: whoever has one has all of that."""
    if ":" not in address:
        return address
    return str(ipaddress.IPv6Network((address, 64), strict=False))
