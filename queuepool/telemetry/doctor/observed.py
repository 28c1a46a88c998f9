"""Everything that a verdict follows from: frozen data. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from queuepool.models import LimitStatus, PartitionState, ScheduleStatus
from queuepool.models.advice import Loads
from queuepool.models.doctor import Checkup, ServerFigures
from queuepool.models.places import DEFAULT_POOL, place_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A partition, or another pool of it. state, checkup: None if they could not be read.

    finished_per_s, service_s: executions that ended per second of late, and how long one took;
    0 if that is unknown. clamps: what kept the last decision from what the policy wanted.
    """

    partition: int
    server: str
    state: PartitionState | None
    pool: str = DEFAULT_POOL
    checkup: Checkup | None = None
    finished_per_s: float = 0.0
    service_s: float = 0.0
    clamps: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return its name for people: 3, or 3/video."""
        return place_text(self.partition, self.pool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deaths:
    """Jobs that ended and died of late, and before that."""

    died: int
    ended: int
    over_s: float
    died_before: int
    ended_before: int
    before_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What only shows in comparison with earlier observations, which go back over_s seconds.

    takeovers: by place, the ms at which a process took it from one that had crashed or is new.
    evicted: keys that servers evicted within the last hour. missed: times that schedules missed
    within the last day, and when last.
    """

    over_s: float
    deaths: Deaths | None = None
    takeovers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    evicted: Mapping[str, int] = field(default_factory=dict)
    missed: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What was read of a queue. now_ms: by the clock of a server. version: of who judges.

    None stands for what could not be read, or nobody keeps: then its rules are not judged.
    clocks: how many ms each server's clock is ahead of that of who observes. limits: those
    that jobs wait for; limits_partly: why not all of them. clamps_known: whether the places tell
    what held decisions back. spare: servers that have no partition. loads: how load was spread of
    late. route_version: of the route record; 0: there is none.
    """

    now_ms: int
    version: str
    places: tuple[Place, ...] = ()
    servers: tuple[ServerFigures, ...] = ()
    clocks: Mapping[str, int] = field(default_factory=dict)
    leader_lease_ms: int | None = None
    route_version: int | None = None
    limits: tuple[LimitStatus, ...] | None = None
    limits_partly: str = ""
    schedules: tuple[ScheduleStatus, ...] | None = None
    clamps_known: bool = False
    past: Past | None = None
    spare: tuple[str, ...] = ()
    loads: Loads | None = None
