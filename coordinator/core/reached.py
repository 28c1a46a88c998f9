"""Which machines reach a host that is listened on, and under which name. Pure."""

from __future__ import annotations

from ipaddress import ip_address

_WILDCARDS = ("", "*", "0")  # beside the unspecified addresses of IPv4 and IPv6


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches what listens on a host."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def is_wildcard(host: str) -> bool:
    """Return whether listening on a host means every address of this machine."""
    try:
        return ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return host in _WILDCARDS


def advertised(bound: str, hostname: str) -> str:
    """Return the HOST:PORT that others are told, for what is bound.

    A wildcard is no address: on another machine it means that machine. hostname: this machine's.
    """
    host, _, port = bound.rpartition(":")
    return f"{hostname}:{port}" if is_wildcard(host) else bound
