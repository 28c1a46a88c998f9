"""Which server holds which partition. Pure.

    QUEUEPOOL_SERVERS   {"main": "redis://a:6379/0", "big": "redis://b:6379/0"}
    QUEUEPOOL_PLACEMENT 0-5=main,6-7=big

Nothing above the Queue Pool depends on it, so configuration alone moves a partition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from queuepool.errors import ConfigurationError

_RULE = re.compile(r"\s*(\d+)(?:-(\d+))?\s*=\s*([A-Za-z0-9_.-]+)\s*")
MAX_PARTITIONS = 4096


@dataclass(frozen=True, slots=True)
class Topology:
    """Server names and URLs, and the server of each partition. Its repr holds no URL."""

    servers: Mapping[str, str] = field(repr=False)
    placement: tuple[str, ...]

    @property
    def partitions(self) -> int:
        """Return how many partitions there are."""
        return len(self.placement)

    @property
    def system(self) -> str:
        """Return the server that holds the coordinators' shared keys: that of partition 0."""
        return self.placement[0]

    def server_of(self, partition: int) -> str:
        """Return the name of the server that holds a partition. Raises ConfigurationError."""
        if not 0 <= partition < len(self.placement):
            raise ConfigurationError(
                f"there is no partition {partition}: use 0 to {len(self.placement) - 1} "
                "(setting QUEUEPOOL_PARTITIONS)"
            )
        return self.placement[partition]


def single(url: str, partitions: int) -> Topology:
    """Return the topology of a single server that holds everything."""
    return build({"main": url}, partitions, "")


def build(servers: Mapping[str, str], partitions: int, placement: str) -> Topology:
    """Return the topology; every partition must be placed. Raises ConfigurationError.

    An empty placement puts all partitions on the only server.
    """
    if type(partitions) is not int or not 1 <= partitions <= MAX_PARTITIONS:
        raise ConfigurationError(
            f"QUEUEPOOL_PARTITIONS={partitions}: use 1 to {MAX_PARTITIONS}, one consumer each"
        )
    if not placement.strip():
        if len(servers) != 1:
            raise ConfigurationError(
                f"QUEUEPOOL_SERVERS names {len(servers)} servers ({', '.join(servers)}): assign "
                "partitions to them with QUEUEPOOL_PLACEMENT, such as 0-5=main,6-7=big"
            )
        return Topology(dict(servers), (next(iter(servers)),) * partitions)
    placed = _placed(servers, placement)
    missing = [n for n in range(partitions) if n not in placed]
    if missing:
        raise ConfigurationError(
            f"QUEUEPOOL_PLACEMENT omits partition {missing[0]}; all of 0 to {partitions - 1} "
            "need a server"
        )
    return Topology(dict(servers), tuple(placed[n] for n in range(partitions)))


def _placed(servers: Mapping[str, str], placement: str) -> dict[int, str]:
    """Return partition -> server name according to the rules of a placement."""
    placed: dict[int, str] = {}
    for rule in placement.split(","):
        match = _RULE.fullmatch(rule)
        if not match:
            raise ConfigurationError(
                f"QUEUEPOOL_PLACEMENT: {rule.strip()!r} is not FIRST-LAST=SERVER, such as 0-5=main"
            )
        first, last, name = int(match[1]), int(match[2] or match[1]), match[3]
        if first > last:
            raise ConfigurationError(
                f"QUEUEPOOL_PLACEMENT: {rule.strip()!r} ends before it starts; write {last}-{first}"
            )
        if name not in servers:
            raise ConfigurationError(
                f"QUEUEPOOL_PLACEMENT names server {name!r}, which QUEUEPOOL_SERVERS does not "
                f"({', '.join(servers)})"
            )
        for number in range(first, min(last, MAX_PARTITIONS) + 1):
            if placed.setdefault(number, name) != name:
                raise ConfigurationError(f"QUEUEPOOL_PLACEMENT places partition {number} twice")
    return placed
