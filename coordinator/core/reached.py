"""Which machines can reach a listening address, and under which name. Pure."""

from __future__ import annotations

from ipaddress import ip_address

_WILDCARDS = ("", "*", "0")  # besides the unspecified addresses of IPv4 and IPv6


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach this listening address."""
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
    """Return the HOST:PORT to advertise for a bound address.

    A wildcard is not usable: on another machine it means that machine. hostname: this machine's.
    """
    host, _, port = bound.rpartition(":")
    return f"{hostname}:{port}" if is_wildcard(host) else bound
