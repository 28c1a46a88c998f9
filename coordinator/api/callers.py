"""Who calls: certificate and address, for permissions, limits and the log.

Callers' text reaches logs and status messages only through `cleaned`. Pure.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

AuthContext = Mapping[str, Iterable[bytes]] | None

_MOST_CHARACTERS = 200  # of one name; a common name has at most 64 where the rules are kept
_MOST_NAMES = 8
# What a CA certifies as the name of the key's holder. The other kinds mean something else: an
# address is its location, a URI or mail address its name in another system.
_NAMING = ("x509_common_name", "peer_dns")
_SHOWN = (*_NAMING, "peer_uri", "peer_email", "peer_ip")


def cleaned(text: str, most: int = _MOST_CHARACTERS) -> str:
    """Return text as one printable word: other characters are escaped, a long end becomes dots."""
    kept = text if len(text) <= most else text[:most] + "..."
    return "".join(
        c if c.isprintable() and not c.isspace() and c != "\\" else _escaped(c) for c in kept
    )


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode() if character != " " else "\\x20"


def names_of(known: AuthContext) -> tuple[str, ...]:
    """Return the names for permissions: the certificate's common name, then its DNS names."""
    return _names(known, _NAMING)


def _names(known: AuthContext, kinds: Iterable[str]) -> tuple[str, ...]:
    found = known or {}
    return tuple(n.decode("utf-8", "backslashreplace") for k in kinds for n in found.get(k, ()))


def described(known: AuthContext, peer: str) -> str:
    """Return who calls, for the log: the names in its certificate, if any, and its address.

    Each is one word, and names of kinds without permissions state their kind, so that none can be
    mistaken for another.
    """
    words = [cleaned(name) for name in names_of(known)]
    for kind in _SHOWN[len(_NAMING) :]:
        words += [f"{kind.removeprefix('peer_')}={cleaned(n)}" for n in _names(known, (kind,))]
    if len(words) > _MOST_NAMES:
        words[_MOST_NAMES:] = [f"({len(words) - _MOST_NAMES}-more-names)"]
    return " ".join([*words, cleaned(peer)])


def address_of(peer: str) -> tuple[str, int] | None:
    """Return the IP address and port of a peer as named by grpc; None if it has none."""
    kind, _, rest = unquote(peer).partition(":")
    host, _, port = rest.rpartition(":")
    if kind not in ("ipv4", "ipv6") or not port.isdecimal():
        return None
    plain = plain_address(host.strip("[]"))
    return None if plain is None else (plain, int(port))


def plain_address(host: str) -> str | None:
    """Return an IP address without a zone; an IPv4-mapped IPv6 address as IPv4."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def host_of(peer: str) -> str:
    """Return the key for limits per address; all peers without an address share one."""
    found = address_of(peer)
    return "" if found is None else network_of(found[0])


def network_of(address: str) -> str:
    """Return an IPv4 address, or the /64 of an IPv6 address, which one holder usually controls."""
    if ":" not in address:
        return address
    return str(ipaddress.IPv6Network((address, 64), strict=False))
