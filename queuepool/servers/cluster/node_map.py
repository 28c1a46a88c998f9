"""Which node of a Redis Cluster has which hash slot, as reported by one of them. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from redis.crc import key_slot


@dataclass(frozen=True, slots=True)
class SlotMap:
    """Ranges of slots in ascending order, and the address of the primary of each."""

    firsts: Sequence[int]
    lasts: Sequence[int]
    addresses: Sequence[str]

    def address_of(self, key: bytes) -> str | None:
        """Return host:port of the node that has a key; None when no node has it."""
        slot = key_slot(key)
        place = bisect_right(self.firsts, slot) - 1
        return self.addresses[place] if place >= 0 and slot <= self.lasts[place] else None


def read_slots(reply: Any, address: str) -> SlotMap:
    """Return the map from a CLUSTER SLOTS reply of the node at `address`, a host:port.

    A node that does not know its own name leaves the host empty: it is the one we asked.
    """
    ranges = sorted((entry[0], entry[1], entry[2]) for entry in reply)
    addresses = []
    for _first, _last, (host, port, *_rest) in ranges:
        name = host.decode() if isinstance(host, bytes) else (host or "")
        addresses.append(join_address(name or split_address(address)[0], port))
    return SlotMap([r[0] for r in ranges], [r[1] for r in ranges], addresses)


def join_address(host: str, port: int) -> str:
    """Return host:port, with brackets around an IPv6 host."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split_address(address: str) -> tuple[str, int]:
    """Return the host, without brackets, and the port of an address."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def address_in(url: str) -> str:
    """Return host:port of a URL."""
    parts = urlsplit(url)
    return join_address(parts.hostname or "localhost", parts.port or 6379)


def node_url(url: str, address: str) -> str:
    """Return the URL of one node: credentials and options of the cluster's URL, without a path."""
    parts = urlsplit(url)
    credentials, at, _host = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{credentials}{at}{address}", path="").geturl()
