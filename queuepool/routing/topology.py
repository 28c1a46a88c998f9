"""Which server holds which partition. Pure.

    QUEUEPOOL_SERVERS   {"main": "redis://a:6379/0", "big": "redis://b:6379/0"}
    QUEUEPOOL_PLACEMENT 0-5=main,6-7=big

That is how it begins. Once the route record was changed, the record says where what is: see
queuepool.routing.views.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from queuepool.errors import ConfigurationError
from queuepool.models import RouteRecord
from queuepool.models.places import FIRST_PLACE, LEGACY, NEW_PLACE, partition_at
from queuepool.routing.former import read_former
from queuepool.routing.ranges import read_slots
from queuepool.routing.views import ALL_SLOTS, OPEN, TABLE, View, read_table

_RULE = re.compile(r"\s*(\d+)(?:-(\d+))?\s*=\s*([A-Za-z0-9_.-]+)\s*")
MAX_PARTITIONS = 4096
_SETTING = "QUEUEPOOL_PLACEMENT"


class NoPartitionError(ConfigurationError):
    """There is no such partition, or no more: what was asked for may be older than the view."""


@dataclass(frozen=True, slots=True)
class Topology:
    """Server names and URLs, and the server of each partition. Its repr holds no URL.

    placement: as configured. partitioned: false for a queue that begins without partitions. view:
    the newest route that is known, which `follow` replaces: the one thing that changes here, at
    once for all who share this topology.
    """

    servers: Mapping[str, str] = field(repr=False)
    placement: tuple[str, ...]
    partitioned: bool = True
    view: View = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        legacy = frozenset[int]() if self.partitioned else ALL_SLOTS
        view = View(self.placement, legacy=legacy, is_open=bool(legacy))
        object.__setattr__(self, "view", view)

    @property
    def partitions(self) -> int:
        """Return how many partitions there are."""
        return len(self.view.placement)

    @property
    def system(self) -> str:
        """Return the server that holds the coordinators' shared keys.

        That is where partition 0 was when the keyspace began, wherever the partition went since.
        """
        return self.placement[0]

    def apart(self) -> Topology:
        """Return the same, for a process or a pool that follows the route by itself."""
        return replace(self)

    def follow(self, record: RouteRecord) -> None:
        """Route by this record from now on, if it is newer than what is known.

        Raises ConfigurationError when it is damaged, or names a server without a URL here.
        """
        known = self.view
        if record.version < known.version + (known.record is not None):
            return
        try:
            view = self._view_of(record)
        except ConfigurationError as error:
            raise ConfigurationError(
                f"version {record.version} of the route record cannot be followed: {error}"
            ) from None
        object.__setattr__(self, "view", view)

    def _view_of(self, record: RouteRecord) -> View:
        count = record.partitions
        if not 1 <= count <= MAX_PARTITIONS:
            raise ConfigurationError(f"it has {count} partitions; there are 1 to {MAX_PARTITIONS}")
        if not 0 <= record.homes <= MAX_PARTITIONS:
            raise ConfigurationError(f"it has {record.homes} homes; at most {MAX_PARTITIONS}")
        placement, places = self.placement, max(count, record.homes)
        if record.servers or places != len(placement):
            placement = _complete(self.servers, places, record.servers, "its placement")
        table = read_table(record.slots, count) if record.layout == TABLE else None
        is_open = record.migration == OPEN
        return View(
            placement[:count],
            record.version,
            table,
            read_slots(record.moving),
            record,
            read_slots(record.legacy) if is_open else frozenset(),
            is_open,
            placement[count:],
            _named(self.servers, record.leaving, count, "its list of leaving partitions"),
            read_slots(record.arrived),
            _named(self.servers, record.firsts, places, "its list of first places"),
            read_former(record.former, self.servers),
        )

    def server_of(self, partition: int) -> str:
        """Return the name of the server that holds a partition. Raises NoPartitionError."""
        placement, retired = self.view.placement, self.view.retired
        if partition == LEGACY and self.view.has_legacy:
            return self.system
        if partition in self.view.former.servers:
            return self.view.former.servers[partition]
        if partition >= FIRST_PLACE and partition_at(partition) in self.view.firsts:
            return self.view.firsts[partition_at(partition)]
        if FIRST_PLACE > partition >= NEW_PLACE:  # once the move has ended: where that is by now
            partition = partition_at(partition)
            placement = tuple(self.view.leaving.get(n, at) for n, at in enumerate(placement))
        if 0 <= partition - len(placement) < len(retired):
            return retired[partition - len(placement)]
        if not 0 <= partition < len(placement):
            followed = self.view.record is not None and self.view.version > 1
            source = "of the route record" if followed else "(setting QUEUEPOOL_PARTITIONS)"
            raise NoPartitionError(
                f"there is no partition {partition}: use 0 to {len(placement) - 1} {source}"
            )
        return placement[partition]


def single(url: str, partitions: int) -> Topology:
    """Return the topology of a single server that holds everything."""
    return build({"main": url}, partitions, "")


def build(
    servers: Mapping[str, str], partitions: int, placement: str, *, partitioned: bool = True
) -> Topology:
    """Return the topology; every partition must be placed. Raises ConfigurationError.

    An empty placement puts all partitions on the only server.
    """
    if type(partitions) is not int or not 1 <= partitions <= MAX_PARTITIONS:
        raise ConfigurationError(
            f"QUEUEPOOL_PARTITIONS={partitions}: use 1 to {MAX_PARTITIONS}, one consumer each"
        )
    return Topology(dict(servers), _complete(servers, partitions, placement), partitioned)


def _complete(
    servers: Mapping[str, str], partitions: int, placement: str, source: str = _SETTING
) -> tuple[str, ...]:
    """Return the server of each partition. source: what says so. Raises ConfigurationError."""
    if not placement.strip():
        if len(servers) != 1:
            raise ConfigurationError(
                f"QUEUEPOOL_SERVERS names {len(servers)} servers ({', '.join(servers)}): assign "
                f"partitions to them with {_SETTING}, such as 0-5=main,6-7=big"
            )
        return (next(iter(servers)),) * partitions
    placed = _placed(servers, placement, source)
    missing = [n for n in range(partitions) if n not in placed]
    if missing:
        raise ConfigurationError(
            f"{source} omits partition {missing[0]}; all of 0 to {partitions - 1} need a server"
        )
    return tuple(placed[n] for n in range(partitions))


def _named(
    servers: Mapping[str, str], placement: str, partitions: int, source: str
) -> Mapping[int, str]:
    """Return the servers of some partitions. Raises ConfigurationError."""
    found = _placed(servers, placement, source) if placement else {}
    if found and max(found) >= partitions:
        raise ConfigurationError(f"{source} names partition {max(found)} of {partitions}")
    return found


def _placed(servers: Mapping[str, str], placement: str, source: str) -> dict[int, str]:
    """Return partition -> server name according to the rules of a placement."""
    placed: dict[int, str] = {}
    for rule in placement.split(","):
        match = _RULE.fullmatch(rule)
        if not match:
            raise ConfigurationError(
                f"{source}: {rule.strip()[:80]!r} is not FIRST-LAST=SERVER, such as 0-5=main"
            )
        first, last, name = int(match[1]), int(match[2] or match[1]), match[3]
        if first > last:
            raise ConfigurationError(
                f"{source}: {rule.strip()!r} ends before it starts; write {last}-{first}"
            )
        if name not in servers:
            raise ConfigurationError(
                f"{source} names server {name!r}, which QUEUEPOOL_SERVERS does not "
                f"({', '.join(servers)}): add it there"
            )
        for number in range(first, min(last, MAX_PARTITIONS) + 1):
            if placed.setdefault(number, name) != name:
                raise ConfigurationError(f"{source} places partition {number} twice")
    return placed
