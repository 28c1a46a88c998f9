"""How load is spread over partitions and servers, and what to change: frozen data. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class AdviceKind(StrEnum):
    """What is out of proportion."""

    HOT_GROUP = "hot-group"
    HOT_SLOTS = "hot-slots"
    HOT_SERVER = "hot-server"
    MORE_PARTITIONS = "more-partitions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Something to change, and why. subject: what it is about, such as a partition or a group.

    what: the facts; effect: what follows from them, or from the command; command: what to type.
    figures: the numbers in `what`, by name. since_ms: for how long it has been so, by a server's
    clock. slots, partition: which slots are to go where, if that is the command.
    """

    kind: AdviceKind
    subject: str
    what: str
    effect: str
    command: str
    figures: Mapping[str, float] = field(default_factory=dict)
    since_ms: int | None = None
    slots: tuple[int, ...] = ()
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """The share of a partition's worker time that the jobs of a group took of late, from 0 to 1."""

    slot: int
    group: bytes
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceLoad:
    """What a partition had to do of late, on average.

    busy: workers with a job, of `workers`. wanted: workers that its jobs would keep busy. came,
    ended: jobs per second. wait_s, backlog: what waits now. growth: bytes per second. parts: the
    groups that took the most worker time. stuck: more workers were tried, and did not help.
    """

    partition: int
    server: str
    workers: int
    busy: float
    wanted: float
    came: float
    ended: float
    wait_s: float
    backlog: int
    bytes: int
    growth: float
    parts: tuple[Part, ...] = ()
    stuck: bool = False

    @property
    def slots(self) -> dict[int, float]:
        """Return the workers that the jobs of each known slot would keep busy."""
        found: dict[int, float] = {}
        for part in self.parts:
            found[part.slot] = found.get(part.slot, 0.0) + part.share * self.wanted
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLoad:
    """What a server had to do of late, on average.

    cpu: of the one thread that runs scripts, from 0 to 1; None: unknown. calls: commands per
    second. used, limit: bytes of memory, limit 0: none; growth: bytes per second. partitions: those
    that it has.
    """

    name: str
    cpu: float | None
    calls: float
    used: int
    limit: int
    growth: float
    partitions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """What was seen of a queue within over_s seconds. spare: servers that have no partition.

    silent: servers that did not answer at the last look, by name, and why.
    """

    over_s: float
    places: tuple[PlaceLoad, ...] = ()
    servers: tuple[ServerLoad, ...] = ()
    spare: tuple[str, ...] = ()
    silent: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advised:
    """What to change, and the loads that this follows from. at_ms: by a server's clock."""

    at_ms: int
    loads: Loads
    advice: tuple[Advice, ...] = ()
